"""The rule of :mod:`noiseledger.data.reading` as expressions for a SQL engine, each of which converts one value.

A number becomes a 64-bit integer or a finite double, text and dates become text (a date as its ten characters, which sort in
the order of days), a flag becomes a truth value; everything else is null. No expression fails for any value.

A number is read in two steps: it is converted, then infinities, NaN and codes for missing values become null. A sum combines
the second step with its clamping (:mod:`noiseledger.data.engines.sums`), because an engine needs half of the time for one CASE.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from fractions import Fraction
from functools import reduce
from operator import or_
from typing import Any, Self

import ibis
import ibis.expr.types as ir

from noiseledger.core.filters.condition import Kind, Value
from noiseledger.data.reading import (
    DATE,
    DATE_LENGTH,
    FALSE,
    NUMBER_LENGTH,
    TRUE,
    WHOLE_DIGITS,
    WHOLE_DOUBLES,
    Reading,
)
from noiseledger.data.table import check_columns

LARGEST_DOUBLE = 1.7976931348623157e308
#: Every engine converts a decimal of up to this many digits to the nearest double.
_EXACT_DIGITS = 15
_LARGEST_INTEGER_BYTES = 8


class ReadTable:
    """The declared columns of a table; a query selects only those that it uses."""

    def __init__(
        self, stored: ir.Table, columns: Mapping[str, ir.Column], unchecked: Mapping[str, Collection[Value]]
    ) -> None:
        """Store the columns, and which of them are converted numbers that are not checked yet, with their codes."""
        self._stored = stored
        self._columns = dict(columns)
        self.unchecked = dict(unchecked)

    @classmethod
    def already_read(cls, table: ir.Table, names: Iterable[str]) -> Self:
        """Return the columns of a table whose values were read by the rule when they were stored."""
        return cls(table, {name: table[name] for name in names}, {})

    def converted(self, names: Iterable[str]) -> ir.Table:
        """Return the named columns, of which numbers may not be checked yet."""
        # Not as keywords: a column may be called "self".
        columns = [self._columns[name].name(name) for name in names]
        # A table must have a column, even if none is declared.
        return self._stored.select(*columns) if columns else self._stored.select(one=ibis.literal(1))

    def values(self, converted: ir.Table) -> dict[str, ir.Column]:
        """Return the columns of a converted table, read by the rule."""
        return {name: self._checked(converted[name], name) for name in converted.columns}

    def whole(self) -> ir.Table:
        """Return all declared columns, read by the rule."""
        converted = self.converted(self._columns)
        return converted.select(*(column.name(name) for name, column in self.values(converted).items()))

    def _checked(self, column: ir.Column, name: str) -> ir.Column:
        if name not in self.unchecked:
            return column
        finite = _finite(column) if column.type().is_floating() else column
        return _without_codes(finite, self.unchecked[name])


def read_by_rule(table: ir.Table, reading: Reading, end: str = "$", *, whole_numbers_first: bool = False) -> ReadTable:
    """Return the declared columns of a table, read by the rule; ``end`` is the engine's pattern for the end of a text.

    ``whole_numbers_first`` is for an engine whose conversion of any text to a 64-bit integer never fails.
    """
    check_columns(reading.kinds, table.columns)
    rule = _Rule(reading, end, whole_numbers_first)
    numbers = [name for name, kind in reading.kinds.items() if kind == "number"]
    return ReadTable(
        table,
        {name: rule.of(table[name], name) for name in reading.kinds},
        {name: reading.missing_codes.get(name, frozenset()) for name in numbers},
    )


class _Rule:
    """The expressions for one engine."""

    def __init__(self, reading: Reading, end: str, whole_numbers_first: bool) -> None:
        self._reading = reading
        self._end = end
        self._whole_numbers_first = whole_numbers_first

    def of(self, column: ir.Column, name: str) -> ir.Column:
        """Return the values of the column ``name``, read by the rule; numbers are not checked yet."""
        kind = self._reading.kinds[name]
        if kind == "number":
            return self._number(column)
        rules: dict[Kind, Callable[[ir.Column], ir.Column]] = {
            "text": self._text,
            "flag": self._flag,
            "date": self._date,
        }
        return _without_codes(rules[kind](column), self._reading.missing_codes.get(name, ()))

    def _number(self, column: ir.Column) -> ir.Column:
        kind = column.type()
        if kind.is_string():
            return self._parsed_number(column)
        if _is_whole(kind):
            return column.cast("int64")
        if not kind.is_numeric() or kind.is_boolean():
            return ibis.null("float64")
        return _double(column)

    def _parsed_number(self, column: ir.Column) -> ir.Column:
        # Check the pattern before the conversion: engines accept more than the rule does.
        given, decimal = self._without_missing(column), self._reading.decimal
        digits = given if decimal == "." else given.replace(decimal, ".")
        is_number = self._matches(given, self._reading.number) & (given.length() <= NUMBER_LENGTH)
        double = ibis.ifelse(is_number, digits, ibis.null("string")).try_cast("float64")
        if not self._whole_numbers_first:
            return double
        # Only digits are the text of an integer, after a minus or not: they match the pattern, and its nearest double is
        # theirs. DuckDB needs a fifth less time for this than for the pattern, which it tries on all other texts.
        whole = given.try_cast("int64")
        return ibis.ifelse(whole.cast("string") == given, whole.cast("float64"), double)

    def _text(self, column: ir.Column) -> ir.Column:
        kind = column.type()
        if kind.is_string():
            return ibis.ifelse(column == "", ibis.null("string"), self._without_missing(column))
        if kind.is_integer() or kind.is_uuid():
            return column.cast("string")
        if _is_below_one(kind):
            return ibis.ifelse(column == 0, ibis.literal("0"), ibis.null("string"))
        if kind.is_decimal():
            digits = column.cast("string")
            is_whole_number = self._matches(digits, rf"-?[0-9]{{1,{WHOLE_DIGITS}}}([.]0+)?")
            return ibis.ifelse(is_whole_number, digits.re_extract(r"^(-?[0-9]+)", 1), ibis.null("string"))
        if kind.is_date():
            return self._date(column)
        if not kind.is_numeric() or kind.is_boolean():
            return ibis.null("string")
        double = _double(column)
        is_whole_number = (double.abs() <= WHOLE_DOUBLES) & (double.floor() == double)
        return ibis.ifelse(is_whole_number, double, ibis.null("float64")).cast("int64").cast("string")

    def _flag(self, column: ir.Column) -> ir.Column:
        kind = column.type()
        if kind.is_boolean():
            return column
        if kind.is_string():
            given = self._without_missing(column)
            return _either(self._matches(given, TRUE), self._matches(given, FALSE))
        if _is_below_one(kind):
            return ibis.ifelse(column == 0, ibis.literal(False), ibis.null("boolean"))
        return _either(column == 1, column == 0) if kind.is_numeric() else ibis.null("boolean")

    def _date(self, column: ir.Column) -> ir.Column:
        kind = column.type()
        # Not converted to a date first: DuckDB fails on an infinite time, and rounds times before 1970 up.
        if kind.is_date() or (kind.is_timestamp() and kind.timezone is None):
            given = column.cast("string")
        elif kind.is_string():
            given = self._without_missing(column)
        else:
            return ibis.null("string")
        return ibis.ifelse(self._matches(given, DATE), _stripped(given).left(DATE_LENGTH), ibis.null("string"))

    def _without_missing(self, column: ir.Column) -> ir.Column:
        missing = sorted(self._reading.missing)
        return ibis.ifelse(column.isin(missing), ibis.null("string"), column) if missing else column

    def _matches(self, column: Any, pattern: str) -> Any:
        return column.re_search(f"^({pattern}){self._end}")


def _without_codes(column: ir.Column, codes: Iterable[Value]) -> ir.Column:
    """Return a column that was read by the rule, with its codes for missing values as null."""
    chosen = list(codes)
    return ibis.ifelse(is_code(column, chosen), ibis.null(column.type()), column) if chosen else column


def is_code(column: ir.Column, codes: Collection[Value]) -> Any:
    """Return whether a value is one of the codes, of which there is at least one.

    A code is the shortest decimal of its double, so that comparing doubles is exact. It is compared by ``=`` and not by IN,
    for which an engine may hash the values: 0 and -0.0 are equal, but have different bits.
    """
    return reduce(or_, [_equals(column, code) for code in codes])


def _equals(column: Any, code: Value) -> Any:
    if not isinstance(code, Fraction):
        # A date is its ten characters. A literal, because a column of an unreadable type is only a null.
        return column == ibis.literal(str(code), "string")
    if column.type().is_integer() and code.denominator == 1 and abs(code) < WHOLE_DOUBLES:
        return column == ibis.literal(int(code), "int64")
    return column.cast("float64") == ibis.literal(float(code), "float64")


def _is_whole(kind: Any) -> bool:
    """Return whether all values of a type are whole numbers that fit 64-bit integers."""
    return bool(kind.is_integer() and (kind.is_signed_integer() or kind.nbytes < _LARGEST_INTEGER_BYTES))


def _is_below_one(kind: Any) -> bool:
    """Return whether a decimal has no digits before its mark: engines print no 0 there, and cannot compare it with 1."""
    return bool(kind.is_decimal() and kind.precision is not None and kind.precision == kind.scale)


def _double(column: ir.Column) -> Any:
    kind = column.type()
    if kind.is_decimal() and (kind.precision is None or kind.precision > _EXACT_DIGITS):
        column = column.cast("string")
    return column.cast("float64")


def _finite(double: Any) -> Any:
    return ibis.ifelse(double.abs() <= LARGEST_DOUBLE, double, ibis.null("float64"))


def _either(true: Any, false: Any) -> Any:
    return ibis.cases((true, ibis.literal(True)), (false, ibis.literal(False)), else_=ibis.null("boolean"))


def _stripped(column: Any) -> Any:
    # Once the pattern has matched, only blanks remain to be stripped, and only at the start.
    return column.lstrip()
