"""Parts of dates: ``year(column)`` and ``month(column)``, as conditions on days.

A year is a range of days and becomes comparisons with its first and last day, so ``year(born) = 1990`` and the range from
1990-01-01 to 1990-12-31 are one condition. A month occurs in every year and has a node of its own.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import date
from fractions import Fraction
from typing import Literal, TypeAlias

from noiseledger.core.filters.condition import (
    COMPARE,
    And,
    Comparison,
    Expression,
    InMonths,
    Not,
    Operator,
    Or,
    Value,
)
from noiseledger.errors import InvalidFilter

DatePart: TypeAlias = Literal["year", "month"]
PARTS: tuple[DatePart, ...] = ("year", "month")
MONTHS = range(1, 13)
YEARS = range(date.min.year, date.max.year + 1)


def compare_part(part: DatePart, column: str, operator: Operator, value: Value) -> Expression:
    """Return the condition ``part(column) operator value``; a missing day is neither true nor false.

    >>> from noiseledger.core.filters.sql import write
    >>> write(compare_part("year", "born", "=", Fraction(1990)))
    "born >= DATE '1990-01-01' AND born <= DATE '1990-12-31'"
    """
    number = _whole(part, column, value)
    if part == "month":
        return in_months(column, [month for month in MONTHS if COMPARE[operator](month, number)])
    first, last = Comparison(column, ">=", date(number, 1, 1)), Comparison(column, "<=", date(number, 12, 31))
    match operator:
        case "=":
            return And((first, last))
        case "<>":
            return Not(And((first, last)))
        case ">=":
            return first
        case "<=":
            return last
        case "<":
            return Not(first)
        case ">":
            return Not(last)


def part_among(part: DatePart, column: str, values: Iterable[Value]) -> Expression:
    """Return the condition ``part(column) IN (values)``."""
    if part == "month":
        return in_months(column, [_whole(part, column, value) for value in values])
    return Or(tuple(compare_part(part, column, "=", value) for value in values))


def in_months(column: str, months: Iterable[int]) -> Expression:
    """Return the condition that a day lies in one of these months; of all months and of none, as a comparison."""
    chosen = tuple(sorted(set(months)))
    if len(chosen) in (0, len(MONTHS)):
        return Comparison(column, ">=" if chosen else "<", date.min)
    return InMonths(column, chosen)


def _whole(part: DatePart, column: str, value: Value) -> int:
    limits = MONTHS if part == "month" else YEARS
    if not isinstance(value, Fraction) or value.denominator != 1 or int(value) not in limits:
        raise InvalidFilter(
            f"The filter compares {part}({column}) with something that is not a {part}: "
            f"expected a whole number from {limits[0]} to {limits[-1]}."
        )
    return int(value)
