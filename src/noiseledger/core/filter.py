"""Read the filter of a query: a safe subset of SQL conditions.

Why privacy holds: a filter is only ever evaluated record by record, so whether a record is counted depends on that record
alone; and equal identifiers only for equal meaning means a noisy answer is never reused for a different question.

Reading takes two steps. First :mod:`noiseledger.core._tokens` refuses every word and sign outside the subset and puts all
column names in quotes, so that no word can mean anything to sqlglot that it does not mean here. Then the tree sqlglot makes
of it is copied into ours, node by known node; a node we do not know is refused.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeAlias

import sqlglot
from sqlglot import exp
from sqlglot.errors import ParseError, SqlglotError

from noiseledger.core._sql import decimal
from noiseledger.core._tokens import plain_sql
from noiseledger.core.canonical import MAX_LENGTH, canonical_text, too_complex
from noiseledger.core.condition import (
    And,
    Comparison,
    Constant,
    Expression,
    IsNull,
    Kind,
    Membership,
    Not,
    Operator,
    Or,
    Row,
    Value,
    column_kinds,
)
from noiseledger.core.numbers import MAX_DIGITS, exact
from noiseledger.errors import InvalidFilter, InvalidInput

_EXPECTED = "expected a column compared with a literal, IN, BETWEEN, IS NULL, AND, OR, NOT, TRUE or FALSE"
_Parsed: TypeAlias = Any  # a node of sqlglot, whose base class has changed its name between releases


@dataclass(frozen=True)
class Filter:
    """A condition on one record. Two filters mean the same if and only if ``canonical`` is the same.

    >>> over_sixty = parse_filter("60 < age AND NOT citizen IN ('yes')")
    >>> over_sixty.canonical
    "age > 60 AND citizen <> 'yes'"
    >>> over_sixty.columns
    {'age': 'number', 'citizen': 'text'}
    """

    expression: Expression

    @property
    def columns(self) -> Mapping[str, Kind | None]:
        """The columns used, each with the kind its literals imply, or ``None`` if it is only tested for NULL."""
        return column_kinds(self.expression)

    @cached_property
    def canonical(self) -> str:
        """The one SQL text that all filters of this meaning share."""
        return canonical_text(self.expression)

    def matches(self, row: Row) -> bool:
        """Tell whether a record is counted: only where SQL says TRUE, not where it says FALSE or NULL.

        >>> from fractions import Fraction
        >>> parse_filter("age <> 60").matches({"age": None})
        False
        """
        return self.expression.truth(row) is True


def parse_filter(text: str) -> Filter:
    """Read a filter.

    Args:
        text: A condition such as ``age > 60 AND citizen = 'yes'``.

    Raises:
        InvalidFilter: The text is no condition, is outside the safe subset, or is too long or too complex.

    >>> parse_filter('"age" BETWEEN 18 AND 65 OR age IS NULL').canonical
    '(age >= 18 AND age <= 65) OR age IS NULL'
    """
    if len(text) > MAX_LENGTH:
        raise InvalidFilter(
            f"The filter has {len(text):,} characters; expected at most {MAX_LENGTH:,}, so shorten it."
        )
    try:
        found = Filter(_parse(text))
        _check_readable(found.canonical)
    except RecursionError:  # only when the caller itself is deep in the stack: our own limits come first
        raise InvalidFilter(
            "The filter is nested too deeply to be read here; write it with fewer levels."
        ) from None
    return found


def _parse(text: str) -> Expression:
    try:
        parsed = sqlglot.parse_one(plain_sql(text), into=exp.Condition)
    except SqlglotError as error:
        raise InvalidFilter(
            f"The filter cannot be read{_place(error)}; {_EXPECTED}, so check it there."
        ) from None
    return _expression(parsed)


def _check_readable(canonical: str) -> None:
    """Refuse a filter whose canonical text would itself be refused, so that every identifier can be checked."""
    try:
        plain_sql(canonical)
    except InvalidFilter:
        raise too_complex("written out in full it has too many nested levels") from None


def _place(error: SqlglotError) -> str:
    where = error.errors[0].get("highlight") if isinstance(error, ParseError) and error.errors else None
    return f" near {where}" if where else ""


def _refused(node: _Parsed) -> InvalidFilter:
    if type(node) is exp.Column:
        return InvalidFilter(
            f"The filter has the column {node.sql()} where a condition or a literal belongs; write for example "
            f"{node.sql()} = TRUE for a boolean column, and text in single quotes."
        )
    text = node.sql()
    shown = text if len(text) <= 60 else text[:57] + "..."
    return InvalidFilter(
        f"The filter contains {shown}, which is outside the safe subset of SQL; {_EXPECTED}."
    )


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
    def read(node: _Parsed) -> Expression:
        left, right = map(_bare, _parts(node, "this", "expression"))
        if type(right) is exp.Column and type(left) is not exp.Column:
            return Comparison(_column(right), mirrored, _literal(left))
        return Comparison(_column(left), written, _literal(right))

    return read


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
        raise InvalidFilter(
            "The filter compares with NULL, which is never true; use IS NULL or IS NOT NULL instead."
        )
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
        raise InvalidFilter(
            f"The filter has a number of more than {MAX_DIGITS} digits; expected a shorter one."
        )
    return -value if negative else value


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
