"""Read the text of a filter into a tree.

Two steps. First :mod:`noiseledger.core._tokens` refuses every word and sign outside the subset and puts all column
names in quotes, so that no word can mean anything to sqlglot that it does not mean here. Then the tree sqlglot makes of
it is copied into ours, node by known node; a node or a part of a node that we do not know is refused.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any, TypeAlias

import sqlglot
from sqlglot import exp
from sqlglot.errors import ParseError, SqlglotError

from noiseledger.core._sql import decimal
from noiseledger.core._tokens import tokens_of
from noiseledger.core.canonical import MAX_LENGTH
from noiseledger.core.condition import (
    And,
    Comparison,
    Constant,
    Expression,
    IsNull,
    Membership,
    Not,
    Operator,
    Or,
    Value,
)
from noiseledger.core.numbers import MAX_DIGITS, exact
from noiseledger.errors import InvalidFilter, InvalidInput

_EXPECTED = "expected a column compared with a literal, IN, BETWEEN, IS NULL, AND, OR, NOT, TRUE or FALSE"
_Parsed: TypeAlias = Any  # a node of sqlglot, whose base class has changed its name between releases


def read(text: str) -> Expression:
    """Return the tree of a filter as it was written; refuse whatever is outside the subset."""
    if not isinstance(text, str):
        raise InvalidFilter(f"The filter must be text such as age > 60, not {type(text).__name__}.")
    if len(text) > MAX_LENGTH:
        raise InvalidFilter(f"The filter has {len(text):,} characters; expected at most {MAX_LENGTH:,}, so shorten it.")
    tokens = tokens_of(text)
    try:
        parsed = sqlglot.parse_one(" ".join(token.text for token in tokens), into=exp.Condition)
    except SqlglotError as error:
        raise InvalidFilter(f"The filter cannot be read{_place(error)}; {_EXPECTED}, so check it there.") from None
    expression = _expression(parsed)
    _check_complete(parsed, Counter(token.text for token in tokens))
    return expression


def _check_complete(parsed: _Parsed, written: Counter[str]) -> None:
    """Refuse what sqlglot put right in silence, such as ``IN (1,)``, ``BETWEEN 1 2`` or ``age NOT NULL``."""
    nodes = Counter(type(node) for node in parsed.walk())
    commas = sum(len(node.expressions) - 1 for node in parsed.find_all(exp.In))
    found = {word: sum(nodes[kind] for kind in kinds) for word, kinds in _WRITTEN_AS.items()} | {",": commas}
    for word, count in found.items():
        if written[word] != count:
            raise InvalidFilter(f"The filter has too many or too few of {word} to be read; {_EXPECTED}, so check them.")


def _place(error: SqlglotError) -> str:
    where = error.errors[0].get("highlight") if isinstance(error, ParseError) and error.errors else None
    return f" near {_shown(str(where))}" if where else ""


def _refused(node: _Parsed) -> InvalidFilter:
    if type(node) is exp.Column:
        return InvalidFilter(
            f"The filter has the column {_shown(node.sql())} where a condition or a literal belongs; compare it with a "
            f"literal, for example with TRUE, and put text in single quotes."
        )
    shown = _shown(node.sql())
    return InvalidFilter(f"The filter contains {shown}, which is outside the safe subset of SQL; {_EXPECTED}.")


def _shown(text: str) -> str:
    return text if len(text) <= 60 else text[:57] + "..."


def _expression(node: _Parsed) -> Expression:
    """Copy a condition; only known types, and of those only known parts."""
    node = _bare(node)
    reader = _READERS.get(type(node))
    if reader is None:
        raise _refused(node)
    return reader(node)


def _bare(node: _Parsed) -> _Parsed:
    while type(node) is exp.Paren:
        node = node.this
    return node


def _parts(node: _Parsed, *names: str) -> list[_Parsed]:
    """Return the named parts of a node; refuse one that has others, such as BETWEEN SYMMETRIC."""
    used = {name for name, part in node.args.items() if part}
    if not used <= set(names):
        raise _refused(node)
    return [node.args.get(name) for name in names]


def _terms(node: _Parsed) -> tuple[Expression, ...]:
    # A long chain is a tree leaning to the left: walk it in a loop, not by recursion.
    found, rest = [], node
    while type(rest) is type(node):
        rest, last = _parts(rest, "this", "expression")
        found.append(last)
    return tuple(_expression(term) for term in [rest, *reversed(found)])


def _comparison(written: Operator, mirrored: Operator) -> Callable[[_Parsed], Expression]:
    def comparison(node: _Parsed) -> Expression:
        left, right = map(_bare, _parts(node, "this", "expression"))
        if type(right) is exp.Column and type(left) is not exp.Column:
            return Comparison(_column(right), mirrored, _literal(left))
        return Comparison(_column(left), written, _literal(right))

    return comparison


def _membership(node: _Parsed) -> Expression:
    column, values = _parts(node, "this", "expressions")
    if not values:
        raise _refused(node)
    return Membership(_column(column), tuple(_literal(value) for value in values))


def _between(node: _Parsed) -> Expression:
    column, low, high = _parts(node, "this", "low", "high")
    name = _column(column)
    return And((Comparison(name, ">=", _literal(low)), Comparison(name, "<=", _literal(high))))


def _is_null(node: _Parsed) -> Expression:
    column, null = _parts(node, "this", "expression")
    if type(null) is not exp.Null:
        raise _refused(node)
    return IsNull(_column(column))


def _column(node: _Parsed) -> str:
    node = _bare(node)
    if type(node) is not exp.Column:
        raise _refused(node)
    (name,) = _parts(node, "this")
    return str(name.this)


def _literal(node: _Parsed) -> Value:
    node = _bare(node)
    if type(node) is exp.Null:
        raise InvalidFilter("The filter compares with NULL, which is never true; use IS NULL or IS NOT NULL instead.")
    if type(node) is exp.Boolean:
        return bool(node.this)
    if type(node) is exp.Literal and node.is_string:
        return str(node.this)
    return _number(node)


def _number(node: _Parsed) -> Value:
    negative = type(node) is exp.Neg
    digits = node.this if negative else node
    if type(digits) is not exp.Literal or digits.is_string:
        raise _refused(node)
    try:
        value = exact(str(digits.this))
    except InvalidInput as error:
        raise InvalidFilter(f"The filter compares with a number that cannot be used: {error}") from None
    if len(decimal(value)) > MAX_DIGITS:
        raise InvalidFilter(f"The filter has a number of more than {MAX_DIGITS} digits; expected a shorter one.")
    return -value if negative else value


_WRITTEN_AS: dict[str, tuple[type, ...]] = {
    "AND": (exp.And, exp.Between),
    "OR": (exp.Or,),
    "NOT": (exp.Not,),
    "IN": (exp.In,),
    "BETWEEN": (exp.Between,),
    "IS": (exp.Is,),
    "NULL": (exp.Null,),
    "-": (exp.Neg,),
}
_READERS: dict[type, Callable[[_Parsed], Expression]] = {
    exp.Boolean: lambda node: Constant(bool(node.this)),
    exp.Not: lambda node: Not(_expression(*_parts(node, "this"))),
    exp.And: lambda node: And(_terms(node)),
    exp.Or: lambda node: Or(_terms(node)),
    exp.EQ: _comparison("=", "="),
    exp.NEQ: _comparison("<>", "<>"),
    exp.LT: _comparison("<", ">"),
    exp.LTE: _comparison("<=", ">="),
    exp.GT: _comparison(">", "<"),
    exp.GTE: _comparison(">=", "<="),
    exp.In: _membership,
    exp.Between: _between,
    exp.Is: _is_null,
}
