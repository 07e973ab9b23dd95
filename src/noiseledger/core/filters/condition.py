"""The tree of a filter: conditions on one record, with SQL's three-valued logic.

There are eight small frozen nodes. Data engines translate them; :mod:`noiseledger.core.filters.filter` parses them from text
and :mod:`noiseledger.core.filters.canonical` decides whether two trees mean the same. A node depends on one record only, and
a comparison with a missing value is neither true nor false: its truth is ``None``.

Each node is validated when it is created, so a tree built in code is as safe as one parsed from text.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import date
from fractions import Fraction
from typing import Any, Literal, TypeAlias

from noiseledger.core.numbers import held_everywhere
from noiseledger.errors import InvalidFilter, InvalidInput

Value: TypeAlias = Fraction | str | bool | date
#: The declared kind of a column; a value of another kind counts as missing, for that record alone.
Kind: TypeAlias = Literal["number", "text", "flag", "date"]
Operator: TypeAlias = Literal["=", "<>", "<", "<=", ">", ">="]
Row: TypeAlias = Mapping[str, Value | None]

#: What each operator compares.
COMPARE: dict[str, Callable[[Any, Any], bool]] = {
    "=": operator.eq,
    "<>": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
_KINDS: dict[type, Kind] = {Fraction: "number", str: "text", bool: "flag", date: "date"}
#: The kinds that every engine orders in the same way.
ORDERED: tuple[Kind, ...] = ("number", "date")


def kind_of(value: Value) -> Kind:
    """Return the kind of a value."""
    return _KINDS[type(value)]


@dataclass(frozen=True)
class Constant:
    """TRUE or FALSE."""

    value: bool

    def truth(self, row: Row) -> bool | None:
        """Return the constant, for every record."""
        return self.value


@dataclass(frozen=True)
class Comparison:
    """``column operator value``; text and flags can only be equal or different.

    >>> Comparison("age", ">", Fraction(60)).truth({"age": Fraction(61)})
    True
    """

    column: str
    operator: Operator
    value: Value
    # Part of equality because True == 1 in Python, but not in SQL.
    kind: Kind = field(init=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "kind", _kind_of_all(self.column, [self.value]))
        if self.kind not in ORDERED and self.operator not in ("=", "<>"):
            raise InvalidFilter(
                f"The column {self.column!r} is compared by order ({self.operator}) with a {self.kind} value, and only "
                f"numbers and dates (DATE '2024-02-29') have the same order everywhere; use =, <> or IN instead."
            )

    def truth(self, row: Row) -> bool | None:
        """Compare exactly; a missing value is neither true nor false."""
        value = _value(row, self.column, self.kind)
        return None if value is None else COMPARE[self.operator](value, self.value)


@dataclass(frozen=True)
class Membership:
    """``column IN (values)``."""

    column: str
    values: tuple[Value, ...]
    kind: Kind = field(init=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "kind", _kind_of_all(self.column, self.values))

    def truth(self, row: Row) -> bool | None:
        """Look the value up; for a missing value the result is unknown."""
        value = _value(row, self.column, self.kind)
        return None if value is None else value in self.values


@dataclass(frozen=True)
class IsNull:
    """``column IS NULL``: the only condition that is true of a missing value."""

    column: str

    def truth(self, row: Row) -> bool | None:
        """Return whether the value is missing; never ``None``."""
        return _value(row, self.column, None) is None


@dataclass(frozen=True)
class InMonths:
    """``month(column) IN (months)``: a day lies in one of these months, in any year.

    There is no such node for years: a year is a range of days, so the reader writes ``year(column)`` as comparisons.
    """

    column: str
    months: tuple[int, ...]
    kind: Kind = field(init=False, repr=False, default="date")

    def __post_init__(self) -> None:
        if not self.months or not set(self.months) <= set(range(1, 13)):
            raise InvalidFilter(f"The months of the column {self.column!r} must be whole numbers from 1 to 12.")

    def truth(self, row: Row) -> bool | None:
        """Look the month up; for a missing value the result is unknown."""
        value = _value(row, self.column, self.kind)
        return value.month in self.months if isinstance(value, date) else None


@dataclass(frozen=True)
class Not:
    """True where the term is false, and the reverse."""

    term: Expression

    def truth(self, row: Row) -> bool | None:
        """Negate; unknown stays unknown."""
        inner = self.term.truth(row)
        return None if inner is None else not inner


@dataclass(frozen=True)
class And:
    """True where every term is true, false where one is false."""

    terms: tuple[Expression, ...]

    def truth(self, row: Row) -> bool | None:
        """Combine the terms; stop at the first false one."""
        return _first(False, self.terms, row)


@dataclass(frozen=True)
class Or:
    """True where one term is true, false where every one is false."""

    terms: tuple[Expression, ...]

    def truth(self, row: Row) -> bool | None:
        """Combine the terms; stop at the first true one."""
        return _first(True, self.terms, row)


Leaf: TypeAlias = Comparison | Membership | InMonths | IsNull
Expression: TypeAlias = Constant | Leaf | Not | And | Or


def leaves(expression: Expression) -> Iterator[Leaf]:
    """Yield the conditions on single columns, from left to right."""
    match expression:
        case Not(term):
            yield from leaves(term)
        case And(terms) | Or(terms):
            for term in terms:
                yield from leaves(term)
        case Comparison() | Membership() | InMonths() | IsNull():
            yield expression


def column_kinds(expression: Expression) -> dict[str, Kind | None]:
    """Return the kind of each column as implied by its literals, sorted by name; refuse two kinds for one column.

    >>> column_kinds(And((Comparison("age", ">", Fraction(60)), IsNull("race"))))
    {'age': 'number', 'race': None}
    """
    kinds: dict[str, Kind | None] = {}
    for leaf in leaves(expression):
        kind = None if isinstance(leaf, IsNull) else leaf.kind
        known = kinds.get(leaf.column)
        if kind and known and kind != known:
            raise _two_kinds(leaf.column, known, kind)
        kinds[leaf.column] = kind or known
    return dict(sorted(kinds.items()))


def _first(decisive: bool, terms: Iterable[Expression], row: Row) -> bool | None:
    """Return ``decisive`` if a term has that truth; else ``None`` if one is unknown; else the opposite."""
    result: bool | None = not decisive
    for term in terms:
        truth = term.truth(row)
        if truth is decisive:
            return decisive
        if truth is None:
            result = None
    return result


def _kind_of_all(column: str, values: Iterable[Value]) -> Kind:
    values = list(values)
    kinds = list(dict.fromkeys(_KINDS.get(type(value)) for value in values))
    if any(isinstance(value, Fraction) and not held_everywhere(value) for value in values):
        raise InvalidFilter(
            f"The column {column!r} is compared with a number with more digits than data engines hold: write at most 15."
        )
    if len(kinds) == 1 and kinds[0] is not None:
        return kinds[0]
    if len(kinds) > 1 and kinds[0] and kinds[1]:
        raise _two_kinds(column, kinds[0], kinds[1])
    raise InvalidFilter(
        f"The column {column!r} is compared with an unsupported value; expected exact numbers (Fraction), text, flags or dates."
    )


def _two_kinds(column: str, first: Kind, second: Kind) -> InvalidFilter:
    return InvalidFilter(
        f"The column {column!r} is compared both with a {first} and with a {second} value; expected one kind of value "
        f"per column, so write them in the same way."
    )


def _value(row: Row, column: str, kind: Kind | None) -> Value | None:
    """Return one value of the record; a value of another kind is missing, because Python would compare 1 equal to True."""
    if column not in row:
        raise InvalidInput(f"The record has no column {column!r}; give every column of the filter (None if missing).")
    value = row[column]
    return value if kind is None or _KINDS.get(type(value)) == kind else None
