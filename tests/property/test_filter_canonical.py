"""The canonical text decides meaning: checked against SQLite on every combination of cells.

The vocabulary below is small enough that a table can hold one record for each combination of cells its filters can tell
apart. What SQLite returns from that table for ``WHERE <filter>`` *is* the meaning of the filter, found without any of
our code. Filters are written as text here, by a writer of its own, in many styles.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from itertools import combinations, product
from random import Random
from typing import TypeAlias

import pytest
from hypothesis import given, reject, settings
from hypothesis import strategies as st

from depth import examples
from noiseledger.core.filters.condition import Comparison
from noiseledger.core.filters.filter import Filter, parse_filter
from noiseledger.errors import InvalidFilter

# Two literals per number cut the line into five cells; the middle of each cell stands for all of it.
CELLS: dict[str, list[Fraction | str | bool | None]] = {
    "n": [None, *map(Fraction, ("0", "1", "1.5", "2", "3"))],
    "k": [None, *map(Fraction, ("-8", "-7.5", "0"))],
    "t": [None, "x", "it's", "other"],
    "b": [None, True, False],
    "end": [None, Fraction(1)],
}
LITERALS = {"n": ["1", "2"], "k": ["-7.5"], "t": ["'x'", "'it''s'"], "b": ["TRUE", "FALSE"]}
RECORDS = [dict(zip(CELLS, values, strict=True)) for values in product(*CELLS.values())]


# ---- filters as trees of their own, written in many ways


@dataclass(frozen=True)
class Atom:
    column: str
    operator: str  # = <> < <= > >= IN BETWEEN NULL
    literals: tuple[str, ...] = ()
    negated: bool = False  # NOT IN, NOT BETWEEN, IS NOT NULL


@dataclass(frozen=True)
class Joined:
    word: str  # AND OR NOT
    terms: tuple[Tree, ...]


Tree: TypeAlias = Atom | Joined | bool


class Style:
    """Write a tree with random spacing, case, quotes and superfluous parentheses; with no randomness, plainly."""

    def __init__(self, random: Random | None = None) -> None:
        self.random = random

    def one(self, *options: str) -> str:
        return self.random.choice(options) if self.random else options[0]

    def write(self, tree: Tree, outer: str = "") -> str:
        if isinstance(tree, bool):
            return self.word(str(tree).upper())
        text = self.atom(tree) if isinstance(tree, Atom) else self.joined(tree)
        loose = isinstance(tree, Joined) and (tree.word, outer) in {("OR", "AND"), ("OR", "NOT"), ("AND", "NOT")}
        return f"({text})" if loose or self.one("", "", "", "(") else text

    def joined(self, tree: Joined) -> str:
        parts = [self.write(term, tree.word) for term in tree.terms]
        if tree.word == "NOT":
            return self.word("NOT ") + parts[0]
        return self.word(f" {tree.word} ").join(parts)

    def atom(self, atom: Atom) -> str:
        column, space, no = self.column(atom.column), self.one(" ", "  ", "\n\t"), "NOT " if atom.negated else ""
        if atom.operator == "NULL":
            return column + self.word(f" IS {no}NULL")
        literals = [self.literal(literal) for literal in atom.literals]
        if atom.operator == "IN":
            return column + self.word(f" {no}IN ") + f"({(',' + space).join(literals)})"
        if atom.operator == "BETWEEN":
            return column + self.word(f" {no}BETWEEN ") + literals[0] + self.word(" AND ") + literals[1]
        operator = self.one("<>", "!=") if atom.operator == "<>" else atom.operator
        if self.one("", "", "mirrored"):
            mirrored = operator.translate(str.maketrans("<>", "><")) if operator not in ("<>", "!=") else operator
            return literals[0] + space + mirrored + space + column
        return column + space + operator + space + literals[0]

    def word(self, text: str) -> str:
        return self.one(text, text.lower(), text.title())

    def column(self, name: str) -> str:
        return f'"{name}"' if name == "end" else self.one(name, f'"{name}"', f"({name})")

    def literal(self, literal: str) -> str:
        if literal[0] == "'" or literal in ("TRUE", "FALSE"):
            return literal
        return self.one(literal, literal + ("0" if "." in literal else ".00"), literal + "e0", f"({literal})")


def atoms() -> Iterator[Atom]:
    for column, literals in LITERALS.items():
        ordered = ("<", "<=", ">", ">=") if column in "nk" else ()
        yield from (Atom(column, operator, (one,)) for operator in ("=", "<>", *ordered) for one in literals)
        yield from (Atom(column, "IN", tuple(literals), no) for no in (False, True))
    yield from (Atom("n", "BETWEEN", pair, no) for pair in (("1", "2"), ("2", "1")) for no in (False, True))
    yield from (Atom(column, "NULL", (), no) for column in CELLS for no in (False, True))


ATOMS = list(atoms())


def trees(leaves: int = 8) -> st.SearchStrategy[Tree]:
    def join(inner: st.SearchStrategy[Tree]) -> st.SearchStrategy[Tree]:
        several = st.lists(inner, min_size=2, max_size=4).map(tuple)
        return st.one_of(
            st.builds(Joined, st.sampled_from(["AND", "OR"]), several),
            st.builds(Joined, st.just("NOT"), st.tuples(inner)),
        )

    atom: st.SearchStrategy[Tree] = st.one_of(st.sampled_from(ATOMS), st.sampled_from(ATOMS), st.booleans())
    return st.recursive(atom, join, max_leaves=leaves)


RANDOM = st.integers(0, 2**32).map(Random)


# ---- the meaning according to SQLite


@cache
def table() -> sqlite3.Connection:
    connection = sqlite3.connect(":memory:")
    names = ", ".join(f'"{name}"' for name in CELLS)
    connection.execute(f"CREATE TABLE data ({names})")
    rows = [[float(v) if isinstance(v, Fraction) else v for v in record.values()] for record in RECORDS]
    connection.executemany(f"INSERT INTO data VALUES ({', '.join('?' * len(CELLS))})", rows)
    return connection


def meaning(text: str) -> frozenset[int]:
    return frozenset(row for (row,) in table().execute(f"SELECT rowid - 1 FROM data WHERE {text}"))


def read(text: str) -> Filter:
    try:
        return parse_filter(text)
    except InvalidFilter as error:
        if "nested more than" in str(error):
            reject()
        raise


def counted(text: str) -> frozenset[int]:
    found = read(text)
    return frozenset(index for index, record in enumerate(RECORDS) if found.matches(record))


# ---- the properties


@settings(max_examples=examples(250), deadline=None)
@given(trees(12), RANDOM)
def test_matches_what_sql_matches(tree: Tree, random: Random) -> None:
    text = Style(random).write(tree)
    assert counted(text) == meaning(text)


@settings(max_examples=examples(250), deadline=None)
@given(trees(12))
def test_the_canonical_text_is_canonical_and_means_the_same(tree: Tree) -> None:
    text = Style().write(tree)
    canonical = read(text).canonical
    assert parse_filter(canonical).canonical == canonical
    assert counted(canonical) == counted(text)
    assert meaning(canonical) == meaning(text)  # and it is SQL that others read alike


@settings(max_examples=examples(60), deadline=None)
@given(st.lists(trees(5), min_size=2, max_size=12))
def test_equal_text_if_and_only_if_equal_meaning(several: list[Tree]) -> None:
    texts = [Style().write(tree) for tree in several]
    assert_same_partition(texts)


@pytest.mark.parametrize("columns", ["n", "t", "b", "nt"])
def test_equal_text_if_and_only_if_equal_meaning_for_all_small_filters(columns: str) -> None:
    """Every AND and OR of two conditions: here most meanings occur several times, unlike in random pairs."""
    chosen = [Style().write(atom) for atom in ATOMS if atom.column in columns]
    chosen = chosen if len(columns) == 1 else chosen[::2]
    pairs = [f"{one} {word} {other}" for one, other in combinations(chosen, 2) for word in ("AND", "OR")]
    texts = chosen + pairs + [f"NOT ({pair})" for pair in pairs[::3]]
    assert len({meaning(text) for text in texts}) < len(texts) * 0.9
    assert_same_partition(texts)


def assert_same_partition(texts: list[str]) -> None:
    of_meaning: dict[frozenset[int], str] = {}
    of_canonical: dict[str, frozenset[int]] = {}
    for text in texts:
        canonical, found = read(text).canonical, meaning(text)
        assert of_meaning.setdefault(found, canonical) == canonical
        assert of_canonical.setdefault(canonical, found) == found


def test_only_the_filters_that_match_all_or_nothing_are_constant() -> None:
    assert meaning("TRUE") == frozenset(range(len(RECORDS)))
    assert parse_filter("n > 1 OR n <= 1").canonical != "TRUE"
    assert parse_filter("n > 1 OR n <= 1 OR n IS NULL").canonical == "TRUE"


# ---- rewriting without change of meaning


def rewritten(tree: Tree, random: Random, negate: bool = False) -> Tree:
    """Return another tree for the same condition, or for its negation in SQL's logic."""
    if random.random() < 0.15:
        return Joined("NOT", (rewritten(tree, random, not negate),))
    if isinstance(tree, bool):
        return tree is not negate
    if isinstance(tree, Atom):
        return rewritten_atom(tree, random, negate)
    if tree.word == "NOT":
        return rewritten(tree.terms[0], random, not negate)
    terms = [rewritten(term, random, negate) for term in tree.terms]
    random.shuffle(terms)
    if random.random() < 0.3:
        terms.append(random.choice(terms))
    word = {"AND": "OR", "OR": "AND"}[tree.word] if negate else tree.word  # De Morgan
    if len(terms) > 2 and random.random() < 0.5:
        return Joined(word, (Joined(word, tuple(terms[:2])), *terms[2:]))
    return Joined(word, tuple(terms))


def rewritten_atom(atom: Atom, random: Random, negate: bool) -> Tree:
    if random.random() < 0.4:
        return Joined("NOT", (atom,)) if negate else atom
    if atom.operator in ("IN", "BETWEEN", "NULL"):
        negate = negate is not atom.negated
    positive = Atom(atom.column, atom.operator, atom.literals)
    if atom.operator == "NULL":
        return Atom(atom.column, "NULL", (), negate)
    if atom.operator == "IN":
        same = [Atom(atom.column, "<>" if negate else "=", (one,)) for one in atom.literals]
        return rewritten_join("AND" if negate else "OR", same, random)
    if atom.operator == "BETWEEN":
        low, high = atom.literals
        bounds = [
            Atom(atom.column, "<" if negate else ">=", (low,)),
            Atom(atom.column, ">" if negate else "<=", (high,)),
        ]
        return rewritten_join("OR" if negate else "AND", bounds, random)
    if negate:
        opposite = {"=": "<>", "<>": "=", "<": ">=", "<=": ">", ">": "<=", ">=": "<"}
        return Atom(atom.column, opposite[atom.operator], atom.literals)
    return Atom(atom.column, "IN", atom.literals) if atom.operator == "=" else positive


def rewritten_join(word: str, terms: list[Atom], random: Random) -> Tree:
    random.shuffle(terms)
    return Joined(word, tuple(terms))


@settings(max_examples=examples(250), deadline=None)
@given(trees(10), RANDOM)
def test_rewriting_does_not_change_the_text(tree: Tree, random: Random) -> None:
    plain, other = Style().write(tree), Style(random).write(rewritten(tree, random))
    assert read(other).canonical == read(plain).canonical


WIDE = st.builds(
    Atom,
    st.sampled_from("abcde"),
    st.sampled_from(["=", "<>", "<", "<=", ">", ">="]),
    st.tuples(st.sampled_from(["1", "2", "3"])),
)


@settings(max_examples=examples(150), deadline=None)
@given(st.lists(st.lists(WIDE, min_size=2, max_size=3), min_size=4, max_size=7), RANDOM, st.booleans())
def test_the_text_does_not_depend_on_the_order_of_building(
    clauses: list[list[Tree]], random: Random, dual: bool
) -> None:
    """Filters large enough to have several descriptions, of which always the same one must be chosen."""
    inner, outer = ("OR", "AND") if dual else ("AND", "OR")
    tree = Joined(outer, tuple(Joined(inner, tuple(clause)) for clause in clauses))
    random.shuffle(clauses)
    other = Joined(outer, tuple(Joined(inner, tuple(clause)) for clause in clauses))
    finer = " OR ".join(f"{column} IN (0, 1.5, 2.5, 4) AND FALSE" for column in "edcba")
    expected = read(Style().write(tree)).canonical
    assert read(Style().write(rewritten(other, random))).canonical == expected
    assert read(f"{finer} OR {Style().write(tree)}").canonical == expected


@settings(max_examples=examples(50), deadline=None)
@given(trees(6), trees(4), st.sampled_from(["n", "t"]))
def test_cutting_finer_does_not_change_the_text(tree: Tree, other: Tree, column: str) -> None:
    """Literals and columns without effect leave no trace, not even in the order of things."""
    text, extra = Style().write(tree), Style().write(other)
    more = {"n": "n IN (-5, 0.5, 1.25, 1.75, 7)", "t": "t IN ('', 'a', 'w', 'y', 'zz')"}[column]
    nothing = f"(({more}) AND NOT ({more}))"
    always = f"(NOT ({nothing}) OR {column} IS NULL)"
    absorbed = f"(({text}) OR (({text}) AND ({extra})))"
    assert read(f"({absorbed} OR {nothing}) AND {always}").canonical == read(text).canonical


# ---- literals and names


NAMES = st.text(st.characters(exclude_categories=["Cc", "Cs"]), min_size=1, max_size=12)


@settings(deadline=None)
@given(NAMES, NAMES)
def test_any_name_and_any_text_survive(name: str, value: str) -> None:
    quoted, literal = name.replace('"', '""'), value.replace("'", "''")
    found = parse_filter(f"\"{quoted}\" = '{literal}'")
    assert found.expression == Comparison(name, "=", value)
    assert parse_filter(found.canonical).expression == found.expression


@settings(deadline=None)
@given(
    st.floats(allow_nan=False, allow_infinity=False).map(repr)
    | st.integers(-(2**53), 2**53).map(str)
    | st.tuples(st.integers(-(10**15) + 1, 10**15 - 1), st.integers(-280, 280)).map(lambda p: f"{p[0]}e{p[1]}")
)
def test_any_number_that_engines_hold_survives(number: str) -> None:
    found = parse_filter(f"a = {number}")
    assert found.expression == Comparison("a", "=", Fraction(str(number)))
    assert parse_filter(found.canonical).expression == found.expression
    assert "E" not in found.canonical.upper().removeprefix("A = ")


# ---- whatever the text, nothing but our own error


@settings(max_examples=examples(300), deadline=None)
@given(st.text(max_size=60))
def test_any_text_is_read_or_refused(text: str) -> None:
    try:
        parse_filter(parse_filter(text).canonical)
    except InvalidFilter as error:
        assert str(error).endswith(".")  # noqa: PT017


NOISE = ["(", ")", ",", "=", "<>", "<", ">=", "+", "-", "1", "2", "-1", "'x'", "lower", "date", "if"]
WORDS = ["n", "n=1", "k", "t", "b", "IN(1,2)", "TRUE", "FALSE", "NULL", "NOT", "AND", "OR", "IN", "BETWEEN", "IS"]


@settings(max_examples=examples(1500), deadline=None)
@given(st.lists(st.sampled_from(WORDS + NOISE), min_size=1, max_size=9))
def test_whatever_is_accepted_is_sql(words: list[str]) -> None:
    """No slip is put right in silence: SQLite, which is strict here, accepts it too and finds the same records."""
    text = " ".join(words)
    try:
        found = parse_filter(text)
    except InvalidFilter:
        return
    natural = {"n": "number", "k": "number", "t": "text", "b": "flag"}
    if all(column in natural and kind in (None, natural[column]) for column, kind in found.columns.items()):
        assert counted(text) == meaning(text)
