"""The exact sum of a column as expressions for a SQL engine: each value is checked, clamped and rounded in one step.

Why the promise holds: a record's contribution depends on its own value and on the declarations, by the same arithmetic as
:meth:`noiseledger.core.query.Column.on_grid`; it lies within the bounds, and sums are of integers that cannot overflow.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from fractions import Fraction
from typing import Any

import ibis
import ibis.expr.types as ir

from noiseledger.core.filters.condition import Value
from noiseledger.core.query import Column
from noiseledger.data.engines.kinds import LARGEST_DOUBLE, is_code

_TINY = 1e-290
#: The most that one sum of 64-bit integers can hold.
_LARGEST_SUM = 2**63 - 1
#: Larger sums are taken in two halves.
_HALF_BITS = 26


def exact_sum(table: ir.Table, column: Column, codes: Collection[Value], rows: int) -> dict[str, Any]:
    """Return the sum of the records' contributions, in two halves if 64 bits might not hold it; ``codes`` mean "missing".

    The halves are of the distance from the lower bound, which is never negative: engines differ in how they divide negative
    numbers.
    """
    units = _on_grid(table[column.name], column, codes)
    if not _needs_halves(column, rows):
        return {"low": units.sum()}
    distance = units - int(column.lower / column.grid)
    return {
        "low": (distance & (2**_HALF_BITS - 1)).sum(),
        "high": (distance >> _HALF_BITS).sum(),
        "rows": table.count(),
    }


def whole(found: Mapping[str, Any], column: Column) -> int:
    """Combine the parts of a sum; a sum over no records is null."""
    low = int(found["low"] or 0)
    if "high" not in found:
        return low
    return low + (int(found["high"] or 0) << _HALF_BITS) + int(column.lower / column.grid) * int(found["rows"])


def _needs_halves(column: Column, rows: int) -> bool:
    return rows * max(abs(column.lower), abs(column.upper)) / column.grid > _LARGEST_SUM


def _on_grid(numbers: Any, column: Column, codes: Collection[Value]) -> Any:
    """Clamp to the bounds and round to the grid, as ``Column.on_grid`` does."""
    if numbers.type().is_integer() and column.grid == 1:
        return _contributions(numbers, column, codes, int)
    double = _contributions(numbers, column, codes, float)
    if column.grid.denominator != 1:
        double = double * float(column.grid.denominator)
    if column.grid.numerator != 1:
        # PostgreSQL fails if a quotient underflows; such small values are rounded to zero in any case.
        double = ibis.ifelse(double.abs() < _TINY, 0.0, double) / float(column.grid.numerator)
    return (double + 0.5).floor().cast("int64")


def _contributions(numbers: Any, column: Column, codes: Collection[Value], number: type[int] | type[float]) -> Any:
    """Replace missing values and clamp the others, in the engine's integers or doubles.

    One CASE, with the usual case first: DuckDB needs twice as long for two, one inside the other, and removes cases that the
    file's statistics decide, so that data within its bounds is summed directly. All cases but the codes exclude each other,
    so their order changes no result: a code within the bounds comes first. Only NaN comes before all: the statistics of a
    Parquet file do not count it, so DuckDB would hold it to lie within the bounds as well.
    """
    kind = "int64" if number is int else "float64"
    low, high = (ibis.literal(number(bound), kind) for bound in (column.lower, column.upper))
    other = ibis.null(kind) if column.missing is None else ibis.literal(number(column.missing), kind)
    values = numbers.cast(kind)
    usual = (values.between(low, high), values)
    first = [usual]
    if codes:
        coded = (is_code(numbers, codes), other)
        first = [coded, usual] if any(_within(column, code) for code in codes) else [usual, coded]
    if values.type().is_floating():
        first = [(values.isnan(), other), *first]
    # Infinities are missing.
    above = values > high if number is int else values.between(high, LARGEST_DOUBLE)
    below = values < low if number is int else values.between(-LARGEST_DOUBLE, low)
    return ibis.cases(*first, (above, high), (below, low), else_=other)


def _within(column: Column, code: Value) -> bool:
    """Return whether a code for missing values lies within the bounds, as doubles, which is how engines compare them."""
    return isinstance(code, Fraction) and float(column.lower) <= float(code) <= float(column.upper)
