"""Groups of records by one column: bins of a number or a date, or a list of values.

Groups are declared, never discovered: the list of groups in an answer depends on the query alone. Each record falls
into at most one group. :mod:`noiseledger.core.date_groups` has groups by year and month, and
:mod:`noiseledger.core.group_product` groups by several columns.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import date
from fractions import Fraction
from functools import cached_property
from itertools import pairwise
from typing import Any, TypeAlias

from noiseledger.core.date_groups import Parts, Range, has_no_gap, ranges_of_edges, ranges_of_values
from noiseledger.core.filters.condition import Comparison, InMonths, Kind, Leaf, Membership, Value
from noiseledger.core.filters.date_parts import MONTHS
from noiseledger.core.numbers import Number, exact, held_everywhere
from noiseledger.core.one_column import OneColumn
from noiseledger.errors import InvalidInput

Key: TypeAlias = str | int | bool | date
Edge: TypeAlias = Fraction | date


@dataclass(frozen=True)
class Bins(OneColumn):
    """Half-open intervals ``[edge, next edge)`` of a column of numbers or dates."""

    column: str
    edges: tuple[Edge, ...]

    @classmethod
    def of(cls, column: str, edges: Sequence[Number | date]) -> Bins:
        """Read the edges exactly from any kind of number, or take them as dates."""
        _check_listed(column, edges)
        return cls(column, tuple(edge if type(edge) is date else _number(column, edge) for edge in edges))

    @classmethod
    def years(cls, column: str, edges: Iterable[int]) -> Bins:
        """Group by the year of a date, in bins of years.

        >>> Bins.years("born", [1990, 2000, 2010]).labels
        ('[1990, 2000)', '[2000, 2010)')
        """
        return cls._of_years(column, ranges_of_edges("year", column, edges))

    @staticmethod
    def months(column: str, edges: Iterable[int]) -> Parts:
        """Group by the month of a date, in bins of months; 13 is the edge after December.

        >>> Bins.months("born", [1, 4, 7, 10, 13]).labels
        ('[1, 4)', '[4, 7)', '[7, 10)', '[10, 13)')
        """
        return Parts(column, "month", ranges_of_edges("month", column, edges))

    @classmethod
    def _of_years(cls, column: str, ranges: Sequence[Range]) -> Bins:
        return cls.of(column, [date(year, 1, 1) for year in (ranges[0][0], *(end for _, end in ranges))])

    def __post_init__(self) -> None:
        """Refuse edges that are not in increasing order, or that make a single bin."""
        if len({type(edge) for edge in self.edges}) > 1:
            raise InvalidInput(f"The edges of the bins of {self.column} must be all numbers or all dates.")
        edges: Sequence[Any] = self.edges
        if any(left >= right for left, right in pairwise(edges)):
            raise InvalidInput(f"The edges of the bins of {self.column} must be in increasing order.")
        _check_digits(self.column, [edge for edge in self.edges if isinstance(edge, Fraction)])
        if len(self.edges) < 3:
            raise InvalidInput(f"Give at least three edges for {self.column}: a single bin is a filter, so use one.")

    @cached_property
    def labels(self) -> tuple[str, ...]:
        """A name for each bin; whole years are called by their numbers."""
        if not self.whole_years:
            return tuple(f"[{a}, {b})" for a, b in pairwise(self.edges))
        return tuple(str(a) if b == a + 1 else f"[{a}, {b})" for a, b in pairwise(self.whole_years))

    @cached_property
    def whole_years(self) -> tuple[int, ...]:
        """The years that start at the edges; empty unless all of them do."""
        starts = [edge.year for edge in self.edges if isinstance(edge, date) and (edge.month, edge.day) == (1, 1)]
        return tuple(starts) if len(starts) == len(self.edges) else ()

    @property
    def name(self) -> str:
        """What is grouped by, as it is shown."""
        return f"year({self.column})" if self.whole_years else self.column

    @property
    def kind(self) -> Kind:
        """The kind that the column must have."""
        return "date" if isinstance(self.edges[0], date) else "number"

    def index(self, value: Value | None) -> int | None:
        """Return the number of the value's bin, or None if it lies outside or is of another kind."""
        given: Any = value
        edges: Sequence[Any] = self.edges
        if type(given) is not type(edges[0]) or not edges[0] <= given < edges[-1]:
            return None
        return bisect_right(edges, given) - 1

    @property
    def cuts(self) -> Sequence[Leaf]:
        """The conditions that separate the bins: below each edge, or not."""
        return [Comparison(self.column, "<", edge) for edge in self.edges]

    def allows(self, leaf: Leaf) -> bool:
        """Allow months next to whole years, each of which has them all."""
        return isinstance(leaf, InMonths) and bool(self.whole_years)

    def dump(self) -> dict[str, Any]:
        """Return the definition as plain JSON values."""
        return {"column": self.column, "edges": [str(edge) for edge in self.edges], **_date_mark(self.kind)}


@dataclass(frozen=True)
class Keys(OneColumn):
    """Chosen values of a column, in sorted order."""

    column: str
    values: tuple[Key, ...]

    @classmethod
    def of(cls, column: str, values: Iterable[Key]) -> Keys:
        """Sort the values; refuse repeated or mixed ones."""
        _check_listed(column, values)
        listed = list(values)
        if len({type(value) for value in listed}) != 1 or type(listed[0]) not in (str, int, bool, date):
            raise InvalidInput(
                f"The groups of {column} must be all text, all whole numbers, all dates or all true/false."
            )
        if len(set(listed)) != len(listed):
            raise InvalidInput(f"The groups of {column} contain a value twice: list each value once.")
        _check_digits(column, [Fraction(value) for value in listed if isinstance(value, int)])
        if len(listed) < 2:
            raise InvalidInput(f"Give at least two groups of {column}: a single group is a filter, so use one.")
        return cls(column, tuple(sorted(listed)))

    @staticmethod
    def years(column: str, values: Iterable[int]) -> Bins | Parts:
        """Group by the year of a date: chosen years, which are bins of days if none is left out between them.

        >>> Keys.years("born", [1990, 1991]) == Bins.years("born", [1990, 1991, 1992])
        True
        """
        ranges = ranges_of_values("year", column, values)
        return Bins._of_years(column, ranges) if has_no_gap(ranges) else Parts(column, "year", ranges)

    @staticmethod
    def months(column: str, values: Iterable[int] = MONTHS) -> Parts:
        """Group by the month of a date: chosen months, or all twelve."""
        return Parts(column, "month", ranges_of_values("month", column, values))

    @cached_property
    def labels(self) -> tuple[str, ...]:
        """A name for each group."""
        return tuple(str(value) for value in self.values)

    @property
    def kind(self) -> Kind:
        """The kind that the column must have."""
        kinds: dict[type, Kind] = {str: "text", int: "number", bool: "flag", date: "date"}
        return kinds[type(self.values[0])]

    @cached_property
    def _positions(self) -> dict[object, int]:
        return {value: position for position, value in enumerate(self.values)}

    def index(self, value: Value | None) -> int | None:
        """Return the number of the value's group, or None if it has none."""
        # In Python True equals 1, but a flag is not a number here.
        same_kind = isinstance(value, bool) == isinstance(self.values[0], bool)
        return self._positions.get(value) if same_kind else None

    @property
    def cuts(self) -> Sequence[Leaf]:
        """The condition that names each value."""
        # In Python a flag is a whole number too, but not here.
        values: list[Any] = [Fraction(value) if type(value) is int else value for value in self.values]
        return [Membership(self.column, tuple(values))]

    def dump(self) -> dict[str, Any]:
        """Return the definition as plain JSON values."""
        values = [str(value) if isinstance(value, date) else value for value in self.values]
        return {"column": self.column, "values": values, **_date_mark(self.kind)}


def _check_listed(column: str, given: object) -> None:
    if isinstance(given, str | bytes) or not isinstance(given, Iterable):
        raise InvalidInput(f"The groups or edges of {column} must be a list, not {type(given).__name__}.")


def _number(column: str, edge: Any) -> Fraction:
    if isinstance(edge, date):  # in Python, a datetime is a date too
        raise InvalidInput(f"The edges of the bins of {column} must be numbers, or days without a time.")
    return exact(edge, f"edge of {column}")


def _check_digits(column: str, numbers: Iterable[Fraction]) -> None:
    if not all(held_everywhere(number) for number in numbers):
        raise InvalidInput(f"A group of {column} has more digits than data engines hold: write at most 15.")


def _date_mark(kind: Kind) -> dict[str, str]:
    """Mark dates in JSON, which has no dates, so that they are not taken for text."""
    return {"kind": "date"} if kind == "date" else {}


def load_bins_or_keys(state: dict[str, Any]) -> Bins | Keys:
    """Restore what ``dump`` returned."""
    given = dict(state)
    if given.pop("kind", None) == "date":
        given = {
            name: value if name == "column" else [date.fromisoformat(day) for day in value]
            for name, value in given.items()
        }
    return Bins.of(**given) if "edges" in given else Keys.of(**given)
