"""Groups by a part of a date: years or months.

Years without a gap are bins of days, so they are given as those: a query has one canonical form, however it was written.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import date
from functools import cached_property
from itertools import pairwise
from typing import Any, ClassVar, TypeAlias

from noiseledger.core.filters.condition import Comparison, InMonths, Kind, Leaf, Membership, Value
from noiseledger.core.filters.date_parts import PARTS, DatePart
from noiseledger.core.one_column import OneColumn
from noiseledger.errors import InvalidInput

#: A range of years or months: the first, and the one after the last.
Range: TypeAlias = tuple[int, int]
#: The month after December, and the last year that begins with a day of the calendar and ends before another.
_LAST_EDGE: dict[DatePart, int] = {"month": 13, "year": 9999}


@dataclass(frozen=True)
class Parts(OneColumn):
    """Ranges of years or of months of a column of dates, in ascending order; ``Keys`` and ``Bins`` make them."""

    column: str
    part: DatePart
    ranges: tuple[Range, ...]
    kind: ClassVar[Kind] = "date"

    def __post_init__(self) -> None:
        """Refuse ranges that overlap, lie outside the calendar, or have another form."""
        if self.part not in PARTS:
            raise InvalidInput(f"A part of the date {self.column} is year or month, not {self.part!r}.")
        _check_ranges(self.part, self.column, self.ranges)
        if self.part == "year" and has_no_gap(self.ranges):
            raise InvalidInput(f"Years of {self.column} without a gap are bins of dates: use Keys.years or Bins.years.")

    @property
    def name(self) -> str:
        """What is grouped by."""
        return f"{self.part}({self.column})"

    @cached_property
    def labels(self) -> tuple[str, ...]:
        """A name for each group."""
        return tuple(str(low) if high == low + 1 else f"[{low}, {high})" for low, high in self.ranges)

    def index(self, value: Value | None) -> int | None:
        """Return the number of the day's group, or None if it has none."""
        if type(value) is not date:
            return None
        number = value.month if self.part == "month" else value.year
        return next((at for at, (low, high) in enumerate(self.ranges) if low <= number < high), None)

    @property
    def cuts(self) -> Sequence[Leaf]:
        """The conditions that separate the ranges: before each first day of a year, or the month."""
        if self.part == "month":
            return [InMonths(self.column, (low,)) for low, _ in self.ranges]
        return [Comparison(self.column, "<", date(year, 1, 1)) for pair in self.ranges for year in pair]

    def allows(self, leaf: Leaf) -> bool:
        """Allow ranges of days next to months, and months next to years."""
        return isinstance(leaf, Comparison | Membership if self.part == "month" else InMonths)

    def dump(self) -> dict[str, Any]:
        """Return the definition as plain JSON values."""
        return {"column": self.column, "part": self.part, "ranges": [list(pair) for pair in self.ranges]}

    @classmethod
    def load(cls, column: str, part: DatePart, ranges: Iterable[Sequence[int]]) -> Parts:
        """Restore what ``dump`` returned."""
        return cls(column, part, tuple((low, high) for low, high in ranges))


def ranges_of_edges(part: DatePart, column: str, edges: Iterable[int]) -> tuple[Range, ...]:
    """Return the ranges from one edge to before the next."""
    return _checked(part, column, pairwise(_numbers(part, column, edges)))


def ranges_of_values(part: DatePart, column: str, values: Iterable[int]) -> tuple[Range, ...]:
    """Return a range for each single year or month, in order."""
    return _checked(part, column, ((number, number + 1) for number in sorted(_numbers(part, column, values))))


def has_no_gap(ranges: Sequence[Range]) -> bool:
    """Return whether each range starts where the one before it ends."""
    return all(one[1] == other[0] for one, other in pairwise(ranges))


def _numbers(part: DatePart, column: str, given: Iterable[int]) -> list[int]:
    if isinstance(given, str | bytes) or not isinstance(given, Iterable):
        raise InvalidInput(f"The groups or edges of {part}({column}) must be a list, not {type(given).__name__}.")
    numbers = list(given)
    if not all(type(number) is int for number in numbers):
        raise InvalidInput(f"The groups or edges of {part}({column}) must be whole numbers.")
    return numbers


def _checked(part: DatePart, column: str, ranges: Iterable[Range]) -> tuple[Range, ...]:
    found = tuple(ranges)
    _check_ranges(part, column, found)
    return found


def _check_ranges(part: DatePart, column: str, ranges: Sequence[Range]) -> None:
    name, last = f"{part}({column})", _LAST_EDGE[part]
    edges = [edge for pair in ranges for edge in pair]
    if not all(type(edge) is int and 1 <= edge <= last for edge in edges):
        raise InvalidInput(f"The groups of {name} must be whole numbers from 1 to {last - 1}.")
    if any(low >= high for low, high in ranges):
        raise InvalidInput(f"The edges of {name} must be in increasing order.")
    if any(one[1] > other[0] for one, other in pairwise(ranges)):
        raise InvalidInput(f"The groups of {name} contain a {part} twice, or are not in order: list each {part} once.")
    if len(ranges) < 2:
        raise InvalidInput(f"Give at least two groups of {name}: a single group is a filter, so use one.")
