"""Sets of days, and how a person would write them.

The days of the calendar are split at the literals of a filter and, if it uses ``month(column)``, by month. Each part is a cell:
the days of one month between two literals, or all days between them. A set of cells is a set of days, and ``terms`` describes
it by the days alone, however finely they were split:

* as ranges of days, if that text can be written (no longer than a filter may be);
* otherwise as months within ranges of days. A range starts where the months of the one before it no longer fit, so there is one
  such list for each set of days.

Ranges come first although months are often shorter, so that filters without months keep their text. For people, the shorter of
both is shown.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from functools import cached_property
from itertools import islice
from typing import NamedTuple, TypeAlias

from noiseledger.core.filters.condition import Comparison, Expression, InMonths, IsNull, Not, Value
from noiseledger.core.filters.date_parts import MONTHS
from noiseledger.core.filters.joins import all_of, any_of, none_of, one_of
from noiseledger.core.filters.sql import write

#: The most characters of a filter, as it was written and in its canonical form.
MAX_LENGTH = 4_000
#: More ranges than this cannot be written: each has at least the characters of one day.
_MAX_RANGES = MAX_LENGTH // len("DATE '2024-02-29'")
_DAY = timedelta(days=1)
_Range: TypeAlias = tuple[date, date]


class Cell(NamedTuple):
    """The days of one month, or of all months, in one interval; ``first`` is the earliest of them."""

    first: date
    interval: int
    month: int | None


@dataclass(frozen=True)
class Days:
    """The days of the calendar in cells, in the order of their first days."""

    starts: tuple[date, ...]  # the first day of each interval
    by_month: bool
    brief: bool = False  # whether the shorter of both descriptions is wanted, for people

    @cached_property
    def intervals(self) -> list[_Range]:
        """The first and last day of each interval."""
        ends = [*(day - _DAY for day in self.starts[1:]), date.max]
        return list(zip(self.starts, ends, strict=True))

    @cached_property
    def cells(self) -> list[Cell]:
        """All cells."""
        if not self.by_month:
            return [Cell(first, number, None) for number, (first, _) in enumerate(self.intervals)]
        return sorted(
            Cell(first, number, first.month)
            for number, interval in enumerate(self.intervals)
            for first, _ in islice(_months(interval), len(MONTHS))
        )

    def terms(self, chosen: Sequence[Cell], column: str) -> list[Expression]:
        """Return conditions of which exactly the chosen days meet one."""
        months = self._months_of(chosen)
        plain = self._plain(months, column)
        if plain and not self.brief:
            return plain
        by_month = [_months_as_term(part, known, column) for part, known in self._parts(months) if any(known.values())]
        return min([plain or by_month, by_month], key=lambda terms: len(write(any_of(terms))))

    def _plain(self, months: Sequence[set[int]], column: str) -> list[Expression]:
        """Return ranges of days; none if their text would be too long."""
        ranges = [] if self._is_long(months) else list(islice(self._ranges(months), _MAX_RANGES + 1))
        terms = _ranges_as_terms(ranges, column) if len(ranges) <= _MAX_RANGES else []
        return terms if len(write(any_of(terms))) <= MAX_LENGTH else []

    def _months_of(self, chosen: Sequence[Cell]) -> list[set[int]]:
        """Return the chosen months of each interval."""
        found: list[set[int]] = [set() for _ in self.starts]
        for cell in chosen:
            found[cell.interval] |= set(MONTHS) if cell.month is None else {cell.month}
        return found

    def _is_long(self, chosen: Sequence[set[int]]) -> bool:
        """Return whether some months are chosen for so many years that their ranges need not be counted."""
        return any(
            0 < len(months) < len(MONTHS) and last.year - first.year > _MAX_RANGES + 1
            for (first, last), months in zip(self.intervals, chosen, strict=True)
        )

    def _ranges(self, chosen: Sequence[set[int]]) -> Iterator[_Range]:
        """Yield the ranges of neighbouring days in a set, from the earliest on."""
        first: date | None = None
        last = date.min
        for low, high, is_chosen in self._pieces(chosen):
            if is_chosen and first is None:
                first = low
            elif not is_chosen and first is not None:
                yield first, last
                first = None
            last = high
        if first is not None:
            yield first, last

    def _pieces(self, chosen: Sequence[set[int]]) -> Iterator[tuple[date, date, bool]]:
        for interval, months in zip(self.intervals, chosen, strict=True):
            if len(months) in (0, len(MONTHS)):
                yield *interval, bool(months)
            else:
                yield from ((low, high, low.month in months) for low, high in _months(interval))

    def _parts(self, chosen: Sequence[set[int]]) -> Iterator[tuple[_Range, dict[int, bool]]]:
        """Yield ranges as long as possible, from the earliest day on, in which each month is either chosen or not."""
        start, known = date.min, dict[int, bool]()
        for interval, months in zip(self.intervals, chosen, strict=True):
            # Within an interval a month is always chosen or never: after a new start, one year shows them all.
            for first, _ in islice(_months(interval), 2 * len(MONTHS)):
                is_chosen = first.month in months
                if known.get(first.month, is_chosen) is not is_chosen:
                    yield (start, first - _DAY), known
                    start, known = first, {}
                known[first.month] = is_chosen
        yield (start, date.max), known


def _months(interval: _Range) -> Iterator[_Range]:
    """Yield the first and last day of each month in an interval."""
    first, end = interval
    while True:
        last = _last_of_month(first)
        yield first, min(last, end)
        if last >= end:
            return
        first = last + _DAY


def _last_of_month(day: date) -> date:
    if day.month == MONTHS[-1]:
        return date(day.year, 12, 31)
    return date(day.year, day.month + 1, 1) - _DAY


def _ranges_as_terms(ranges: Sequence[_Range], column: str) -> list[Expression]:
    """Return single days, then ranges from which single days may be missing."""
    points: list[Value] = [first for first, last in ranges if first == last]
    longer: list[tuple[date, date, list[Value]]] = []
    for first, last in ranges:
        if longer and first != last and first - longer[-1][1] == 2 * _DAY:
            low, _, holes = longer.pop()
            longer.append((low, last, [*holes, first - _DAY]))
        elif first != last:
            longer.append((first, last, []))
    return [*one_of(column, points), *(_stretch(column, *one) for one in longer)]


def _stretch(column: str, first: date, last: date, holes: Sequence[Value]) -> Expression:
    terms = [*_between(column, first, last), *none_of(column, holes)]
    return all_of(terms) if terms else Not(IsNull(column))


def _between(column: str, first: date, last: date) -> list[Expression]:
    terms: list[Expression] = [Comparison(column, ">=", first)] if first > date.min else []
    return [*terms, *([Comparison(column, "<=", last)] if last < date.max else [])]


def _months_as_term(part: _Range, known: dict[int, bool], column: str) -> Expression:
    """Return the condition for the chosen months of a range; the range starts and ends with a chosen day, or is open."""
    first, last = part
    if first > date.min:
        first = next(low for low, _ in _months(part) if known[low.month])
    if last < date.max:
        last = next(high for high in _backwards(part) if known[high.month])
    months = {low.month for low, _ in islice(_months((first, last)), len(MONTHS))}
    chosen = sorted(month for month in months if known[month])
    others = sorted(months.difference(chosen))
    terms = _between(column, first, last)
    if others and len(months) == len(MONTHS) and len(others) < len(chosen):
        terms.append(Not(InMonths(column, tuple(others))))
    elif others:
        terms.append(InMonths(column, tuple(chosen)))
    return all_of(terms) if terms else Not(IsNull(column))


def _backwards(part: _Range) -> Iterator[date]:
    """Yield the last day of each month in a range, from the latest on."""
    day = part[1]
    while day >= part[0]:
        yield day
        day = day.replace(day=1) - _DAY
