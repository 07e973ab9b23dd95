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

from noiseledger.core.filters.condition import InMonths, Kind, Leaf, Row, Value
from noiseledger.core.numbers import Number, exact, held_everywhere
from noiseledger.errors import InvalidInput

Key: TypeAlias = str | int | bool | date
Edge: TypeAlias = Fraction | date


class OneColumn:
    """What groups by one column share; groups by several columns have the same names."""

    column: str

    @property
    def labels(self) -> tuple[str, ...]:
        """A name for each group."""
        raise NotImplementedError

    @property
    def name(self) -> str:
        """What is grouped by, as it is shown."""
        return self.column

    @property
    def size(self) -> int:
        """The number of groups."""
        return len(self.labels)

    @property
    def cells(self) -> tuple[tuple[str, ...], ...]:
        """The name of each group, in a list of one."""
        return tuple((label,) for label in self.labels)

    def index(self, value: Value | None) -> int | None:
        """Return the number of the value's group, or None if it has none."""
        raise NotImplementedError

    def place(self, record: Row) -> int | None:
        """Return the number of the record's group, or None if it is in none."""
        return self.index(record[self.column])

    def allows(self, leaf: Leaf) -> bool:
        """Return whether a filter may have a condition on the column that is grouped by."""
        return False


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
        """A name for each bin; a calendar year is called by its number."""
        return tuple(_year(a, b) or f"[{a}, {b})" for a, b in pairwise(self.edges))

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

    def allows(self, leaf: Leaf) -> bool:
        """Allow months next to whole years, each of which has them all."""
        return isinstance(leaf, InMonths) and all(isinstance(edge, date) and _is_new_year(edge) for edge in self.edges)

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


def _is_new_year(day: date) -> bool:
    return (day.month, day.day) == (1, 1)


def _year(start: Edge, end: Edge) -> str | None:
    """Return the name of a calendar year, if the bin is one."""
    if not isinstance(start, date) or not isinstance(end, date) or not (_is_new_year(start) and _is_new_year(end)):
        return None
    return str(start.year) if end.year == start.year + 1 else None


def load_bins_or_keys(state: dict[str, Any]) -> Bins | Keys:
    """Restore what ``dump`` returned."""
    given = dict(state)
    if given.pop("kind", None) == "date":
        given = {
            name: value if name == "column" else [date.fromisoformat(day) for day in value]
            for name, value in given.items()
        }
    return Bins.of(**given) if "edges" in given else Keys.of(**given)
