"""A query as one Ibis expression, run by the SQL engine that holds the data.

Why the promise holds: each record's contribution is clamped and rounded to its grid inside the engine, by the same
arithmetic as :meth:`noiseledger.core.query.Column.on_grid`, before anything is summed; values are read one by one
(:mod:`noiseledger.data.engines.kinds`); sums are of integers that cannot overflow. Names and literals are passed as
expressions, never as text inserted into a statement.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import date
from fractions import Fraction
from functools import reduce
from operator import and_, or_
from typing import Any

import ibis
import ibis.expr.types as ir
from ibis.backends import BaseBackend

from noiseledger.core.date_groups import Parts
from noiseledger.core.filters.condition import (
    And,
    Comparison,
    Constant,
    Expression,
    InMonths,
    IsNull,
    Kind,
    Membership,
    Not,
    Or,
)
from noiseledger.core.filters.date_parts import DatePart
from noiseledger.core.group_product import ByColumn, Product, by_column
from noiseledger.core.groups import Bins, Key
from noiseledger.core.query import Column, Query
from noiseledger.data.fingerprint import fingerprint_of
from noiseledger.data.reading import Value
from noiseledger.data.record import Record
from noiseledger.errors import DataUnavailable

_TINY = 1e-290
#: The most that one sum of 64-bit integers can hold.
_LARGEST_SUM = 2**63 - 1
#: Larger sums are taken in two halves.
_HALF_BITS = 26
#: Below this, a whole number compares with a literal in the same way as its nearest double.
_EXACT_INTEGERS = 2**53
_BATCH_ROWS = 50_000


class Relation:
    """A table of a SQL engine whose columns were read by the rule: see :func:`read_by_rule`."""

    def __init__(
        self,
        engine: BaseBackend,
        table: ir.Table,
        kinds: Mapping[str, Kind],
        failures: tuple[type[Exception], ...] = (),
    ) -> None:
        """Store the table, and read every value once: unreadable values fail now, not when somebody asks.

        The engine's ``failures`` are converted to our errors: its messages may quote a value.
        """
        self._engine = engine
        self._failures = failures
        self._table = table
        self.kinds = dict(kinds)
        #: The number of records.
        self.rows = self._read_once()

    def _read_once(self) -> int:
        try:
            return self._read(list(self.kinds))
        except self._failures as error:
            for name in self.kinds:
                try:
                    self._read([name])
                except self._failures:
                    raise DataUnavailable(
                        f"The column {name} has a value that the engine cannot read ({type(error).__name__}): correct it "
                        "in the data, or leave the column out."
                    ) from None
            raise

    def _read(self, names: Sequence[str]) -> int:
        read = {f"column_{place}": self._table[name].count() for place, name in enumerate(names)}
        (found,) = self._stream(self._table.aggregate(rows=self._table.count(), **read))
        return int(found["rows"])

    def records(self) -> Iterator[Record]:
        """Yield the records."""
        dates = [name for name, kind in self.kinds.items() if kind == "date"]
        with self._translated():
            for record in self._stream(self._table):
                for name in dates:
                    day = record[name]
                    record[name] = None if day is None else date.fromisoformat(day)
                yield record

    def totals(self, query: Query) -> Sequence[int]:
        """Return the exact total for each coordinate of the answer, in whole units of the query's grid."""
        table = (
            self._table if query.where is None else self._table.filter(_condition(self._table, query.where.expression))
        )
        parts = _count(table) if query.column is None else _sum(table, query.column, self.rows)
        if query.groups is None:
            (found,) = self._run(table.aggregate(**parts))
            return [_whole(found, query.column)]
        columns = {f"group_{place}": one for place, one in enumerate(by_column(query.groups))}
        keys = {name: _group(table, one) for name, one in columns.items()}
        totals = [0] * query.dimension
        for found in self._run(table.group_by(**keys).aggregate(**parts)):
            positions = [_position(one, found[name]) for name, one in columns.items()]
            position = query.groups.combine(positions) if isinstance(query.groups, Product) else positions[0]
            if position is not None:
                totals[position] += _whole(found, query.column)
        return totals

    def fingerprint(self, key: bytes) -> bytes:
        """Return a keyed digest of the records, in any order."""
        return fingerprint_of(self.records(), key)

    def close(self) -> None:
        """Close the engine."""
        self._engine.disconnect()

    def _run(self, expression: ir.Table) -> list[dict[str, Any]]:
        with self._translated():
            return list(self._stream(expression))

    def _stream(self, expression: ir.Table) -> Iterator[dict[str, Any]]:
        for batch in self._engine.to_pyarrow_batches(expression, chunk_size=_BATCH_ROWS):
            yield from batch.to_pylist()

    @contextmanager
    def _translated(self) -> Iterator[None]:
        try:
            yield
        except self._failures as error:
            raise DataUnavailable(f"The data engine failed ({type(error).__name__}): try again.") from None


def _condition(table: ir.Table, expression: Expression) -> Any:
    match expression:
        case Constant(value):
            return ibis.literal(value)
        case Not(term):
            return ~_condition(table, term)
        case And(terms):
            return reduce(and_, [_condition(table, term) for term in terms])
        case Or(terms):
            return reduce(or_, [_condition(table, term) for term in terms])
        case IsNull(name):
            return table[name].isnull()
        case InMonths(name, months):
            return _part(table[name], "month").isin([f"{month:02}" for month in months])
        case Membership(name, values):
            return _among(table[name], values)
        case Comparison(name, operator, value):
            return _compare(table[name], operator, value)


def _among(column: Any, values: Iterable[Value]) -> Any:
    """Compare with several values; as one IN if possible, which DuckDB runs ten times as fast."""
    sides = [_sides(column, value) for value in values]
    if len({literal.type() for _, literal in sides}) == 1:
        return sides[0][0].isin([literal for _, literal in sides])
    return reduce(or_, [side == literal for side, literal in sides])


def _compare(column: Any, operator: str, value: Value) -> Any:
    column, literal = _sides(column, value)
    comparisons = {
        "=": column.__eq__,
        "<>": column.__ne__,
        "<": column.__lt__,
        "<=": column.__le__,
        ">": column.__gt__,
        ">=": column.__ge__,
    }
    return comparisons[operator](literal)


def _sides(column: Any, value: Value) -> tuple[Any, Any]:
    """Return both sides of a comparison: integers if both are, else doubles; days as text, which sorts in their order."""
    if not isinstance(value, Fraction):
        literal = ibis.literal(value.isoformat() if isinstance(value, date) else value)
        return column.cast(literal.type()), literal
    if column.type().is_integer() and value.denominator == 1 and abs(value) < _EXACT_INTEGERS:
        return column, ibis.literal(int(value), "int64")
    return column.cast("float64"), ibis.literal(float(value), "float64")


def _part(column: Any, part: DatePart) -> Any:
    """Return the digits of the year or the month of a date, which :mod:`noiseledger.data.engines.kinds` reads as 2024-02-29."""
    return column.substr(0, 4) if part == "year" else column.substr(5, 2)


def _group(table: ir.Table, groups: ByColumn) -> Any:
    """Return the number of the bin, or the value itself; null outside all groups."""
    column = table[groups.column]
    if isinstance(groups, Parts):
        digits, places = _part(column, groups.part), 4 if groups.part == "year" else 2
        # Numbers with leading zeros sort as texts do.
        ranges = [digits.between(f"{low:0{places}}", f"{high - 1:0{places}}") for low, high in groups.ranges]
        return ibis.cases(
            *((inside, ibis.literal(number, "int64")) for number, inside in enumerate(ranges)), else_=ibis.null("int64")
        )
    if isinstance(groups, Bins):
        first, *others = groups.edges
        bins = [(_compare(column, "<", edge), ibis.literal(i, "int64")) for i, edge in enumerate(others)]
        return ibis.cases((_compare(column, "<", first), ibis.null("int64")), *bins, else_=ibis.null("int64"))
    chosen = _among(column, [_exact(value) for value in groups.values])
    return ibis.ifelse(chosen, _double_of(column), ibis.null(_double_of(column).type()))


def _double_of(column: Any) -> Any:
    """Return whole numbers as doubles, so that one group has one value."""
    return column.cast("float64") if column.type().is_integer() else column


def _exact(value: Key) -> Value:
    return Fraction(value) if isinstance(value, int) and not isinstance(value, bool) else value


def _position(groups: ByColumn, found: Any) -> int | None:
    if found is None:
        return None
    if isinstance(groups, Bins | Parts):
        return int(found)
    # The engine returns one of the declared values: it compared exactly with them before grouping.
    if groups.kind == "date":
        return groups.index(date.fromisoformat(found))
    return groups.index(Fraction(repr(found)) if isinstance(found, float) else found)


def _count(table: ir.Table) -> dict[str, Any]:
    return {"rows": table.count()}


def _sum(table: ir.Table, column: Column, rows: int) -> dict[str, Any]:
    """Return the sum of the records' contributions, in two halves if 64 bits might not hold it.

    The halves are of the distance from the lower bound, which is never negative: engines differ in how they divide negative
    numbers.
    """
    units = _on_grid(table[column.name], column)
    if not _needs_halves(column, rows):
        return {"low": units.sum()}
    distance = units - int(column.lower / column.grid)
    return {
        "low": (distance & (2**_HALF_BITS - 1)).sum(),
        "high": (distance >> _HALF_BITS).sum(),
        "rows": table.count(),
    }


def _needs_halves(column: Column, rows: int) -> bool:
    return rows * max(abs(column.lower), abs(column.upper)) / column.grid > _LARGEST_SUM


def _on_grid(values: Any, column: Column) -> Any:
    """Clamp to the bounds and round to the grid, as ``Column.on_grid`` does."""
    if values.type().is_integer() and column.grid == 1:
        return _clamped(
            values, int(column.lower), int(column.upper), None if column.missing is None else int(column.missing)
        )
    bounds = float(column.lower), float(column.upper), None if column.missing is None else float(column.missing)
    double = _clamped(values.cast("float64"), *bounds)
    if column.grid.denominator != 1:
        double = double * float(column.grid.denominator)
    if column.grid.numerator != 1:
        # PostgreSQL fails if a quotient underflows; such small values are rounded to zero in any case.
        double = ibis.ifelse(double.abs() < _TINY, 0.0, double) / float(column.grid.numerator)
    return (double + 0.5).floor().cast("int64")


def _clamped(values: Any, lower: float, upper: float, missing: float | None) -> Any:
    # Written as cases, with the usual one first: DuckDB removes cases that the file's statistics decide, so data within its
    # bounds is summed directly; and the remaining cases run faster than LEAST and GREATEST.
    kind = values.type()
    low, high, other = (ibis.literal(v, kind) if v is not None else ibis.null(kind) for v in (lower, upper, missing))
    return ibis.cases((values.between(low, high), values), (values > high, high), (values < low, low), else_=other)


def _whole(found: Mapping[str, Any], column: Column | None) -> int:
    """Combine the sums; a sum over no records is null."""
    if column is None:
        return int(found["rows"])
    low = int(found["low"] or 0)
    if "high" not in found:
        return low
    return low + (int(found["high"] or 0) << _HALF_BITS) + int(column.lower / column.grid) * int(found["rows"])
