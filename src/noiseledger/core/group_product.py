"""Groups by several columns: one cell for each combination of the declared groups of each column.

Why the promise holds: a record has at most one group in each column, so it falls into at most one cell. The totals therefore
change as those of one list of groups do, and the sensitivity is that of a query by one column.

The columns are sorted by name, so that "sex by age" and "age by sex" are one query with one identifier. The cells are listed in
the order of the first column, then of the second, and so on.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from math import prod
from typing import Any, TypeAlias

from noiseledger.core.date_groups import Parts
from noiseledger.core.filters.condition import Row
from noiseledger.core.groups import Bins, Keys, load_bins_or_keys
from noiseledger.errors import InvalidInput

ByColumn: TypeAlias = Bins | Keys | Parts
#: Between the names of a cell's groups, where they are shown as one text.
SEPARATOR = " / "


@dataclass(frozen=True)
class Product:
    """The combinations of the groups of two or more columns."""

    columns: tuple[ByColumn, ...]

    def __post_init__(self) -> None:
        """Sort the columns; refuse a column that occurs twice."""
        columns = tuple(sorted(self.columns, key=_aspect))
        object.__setattr__(self, "columns", columns)
        if len(columns) < 2:
            raise InvalidInput("Groups by several columns need at least two of them.")
        if len({_aspect(one) for one in columns}) < len(columns):
            raise InvalidInput(f"The query groups twice by the same column: {', '.join(one.name for one in columns)}.")

    @property
    def name(self) -> str:
        """What is grouped by, as it is shown."""
        return " and ".join(one.name for one in self.columns)

    @property
    def size(self) -> int:
        """The number of cells."""
        return prod(one.size for one in self.columns)

    @cached_property
    def cells(self) -> tuple[tuple[str, ...], ...]:
        """The names of each cell's groups, one for each column."""
        return tuple(product(*(one.labels for one in self.columns)))

    @cached_property
    def labels(self) -> tuple[str, ...]:
        """A name for each cell."""
        return tuple(SEPARATOR.join(cell) for cell in self.cells)

    def place(self, record: Row) -> int | None:
        """Return the number of the record's cell, or None if a column has no group for it."""
        return self.combine(one.place(record) for one in self.columns)

    def combine(self, places: Iterable[int | None]) -> int | None:
        """Return the number of a cell, given the number of the group in each column."""
        cell = 0
        for one, place in zip(self.columns, places, strict=True):
            if place is None:
                return None
            cell = cell * one.size + place
        return cell

    def dump(self) -> list[dict[str, Any]]:
        """Return the definition as plain JSON values."""
        return [one.dump() for one in self.columns]


Groups: TypeAlias = ByColumn | Product


def groups_of(by: Groups | Iterable[ByColumn] | None) -> Groups | None:
    """Return groups by one column or, of a list, by several."""
    if by is None or isinstance(by, Bins | Keys | Parts | Product):
        return by
    given: object = by
    listed = list(given) if isinstance(given, Iterable) else []
    if not listed or not all(isinstance(one, Bins | Keys | Parts) for one in listed):
        raise InvalidInput(
            'by must be groups, such as Keys.of("sex", ["f", "m"]) or Bins.of("age", [0, 40, 80]), or a list of them.'
        )
    return listed[0] if len(listed) == 1 else Product(tuple(listed))


def by_column(groups: Groups | None) -> tuple[ByColumn, ...]:
    """Return the groups of each column; none if there are no groups."""
    if groups is None:
        return ()
    return groups.columns if isinstance(groups, Product) else (groups,)


def load_groups(state: Any) -> Groups | None:
    """Restore what ``dump`` returned."""
    if state is None:
        return None
    return Product(tuple(map(_load, state))) if isinstance(state, list) else _load(state)


def _load(state: dict[str, Any]) -> ByColumn:
    return Parts.load(**state) if "part" in state else load_bins_or_keys(state)


def _aspect(one: ByColumn) -> tuple[str, bool]:
    """Return what is grouped by: a column, or its months."""
    return one.column, isinstance(one, Parts) and one.part == "month"
