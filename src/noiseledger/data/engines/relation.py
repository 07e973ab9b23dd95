"""A query as one Ibis expression, run by the SQL engine that holds the data.

Why the promise holds: values are read one by one (:mod:`noiseledger.data.engines.kinds`); each record's contribution is clamped
and rounded to its grid inside the engine before anything is summed (:mod:`noiseledger.data.engines.sums`). Names and literals
are passed as expressions, never as text inserted into a statement.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import date
from fractions import Fraction
from functools import reduce
from operator import and_, or_
from typing import Any, assert_never

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
from noiseledger.core.query import Measure, Query
from noiseledger.data.engines.kinds import ReadTable
from noiseledger.data.engines.sums import exact_sum, whole
from noiseledger.data.fingerprint import fingerprint_of
from noiseledger.data.reading import Value
from noiseledger.data.record import Record
from noiseledger.errors import DataUnavailable

#: Below this, a whole number compares with a literal in the same way as its nearest double.
_EXACT_INTEGERS = 2**53
_BATCH_ROWS = 50_000


class Relation:
    """A table of a SQL engine whose columns are read by the rule: see :func:`read_by_rule`."""

    def __init__(
        self,
        engine: BaseBackend,
        data: ReadTable,
        kinds: Mapping[str, Kind],
        failures: tuple[type[Exception], ...] = (),
    ) -> None:
        """Store the table, and read every value once: unreadable values fail now, not when somebody asks.

        The engine's ``failures`` are converted to our errors: its messages may quote a value.
        """
        self._engine = engine
        self._failures = failures
        self._data = data
        self._table = data.whole()
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
        table = self._data.converted(query.kinds)
        if query.where is not None:
            table = table.filter(_condition(self._data.values(table), query.where.expression))
        parts = self._parts(table, query)
        if query.groups is None:
            (found,) = self._run(table.aggregate(**parts))
            return [_total(query, found)]
        values = self._data.values(table)
        columns = {f"group_{place}": one for place, one in enumerate(by_column(query.groups))}
        keys = {name: _group(values[one.column], one) for name, one in columns.items()}
        totals = [0] * query.dimension
        for found in self._run(table.group_by(**keys).aggregate(**parts)):
            positions = [_position(one, found[name]) for name, one in columns.items()]
            position = query.groups.combine(positions) if isinstance(query.groups, Product) else positions[0]
            if position is not None:
                totals[position] += _total(query, found)
        return totals

    def _parts(self, table: ir.Table, query: Query) -> dict[str, Any]:
        """Return what :func:`_total` combines: the number of records, or the sum of their contributions."""
        match query.measure:
            case Measure.COUNT | Measure.SHARE:
                return {"rows": table.count()}
            case Measure.SUM | Measure.MEAN:
                codes = self._data.unchecked.get(query.summed.name, ())
                return exact_sum(table, query.summed, codes, self.rows)
            case _:
                assert_never(query.measure)

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


def _total(query: Query, found: Mapping[str, Any]) -> int:
    """Return the total of the records that an engine aggregated."""
    match query.measure:
        case Measure.COUNT | Measure.SHARE:
            return int(found["rows"])
        case Measure.SUM | Measure.MEAN:
            return whole(found, query.summed)
        case _:
            assert_never(query.measure)


def _condition(columns: Mapping[str, Any], expression: Expression) -> Any:
    match expression:
        case Constant(value):
            return ibis.literal(value)
        case Not(term):
            return ~_condition(columns, term)
        case And(terms):
            return reduce(and_, [_condition(columns, term) for term in terms])
        case Or(terms):
            return reduce(or_, [_condition(columns, term) for term in terms])
        case IsNull(name):
            return columns[name].isnull()
        case InMonths(name, months):
            return _part(columns[name], "month").isin([f"{month:02}" for month in months])
        case Membership(name, values):
            return _among(columns[name], values)
        case Comparison(name, operator, value):
            return _compare(columns[name], operator, value)


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


def _group(column: Any, groups: ByColumn) -> Any:
    """Return the number of the bin, or the value itself; null outside all groups."""
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
