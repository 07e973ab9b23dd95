"""What all groups by one column have in common: bins, lists of values, and parts of dates."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence

from noiseledger.core.filters.condition import Leaf, Row, Value


class OneColumn(ABC):
    """Groups by one column; :class:`noiseledger.core.group_product.Product` has the same names."""

    column: str

    @property
    @abstractmethod
    def labels(self) -> tuple[str, ...]:
        """A name for each group."""

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

    @abstractmethod
    def index(self, value: Value | None) -> int | None:
        """Return the number of the value's group, or None if it has none."""

    @property
    @abstractmethod
    def cuts(self) -> Sequence[Leaf]:
        """Conditions that separate the groups: values of which all of them have the same truth are in one group or in none."""

    def place(self, record: Row) -> int | None:
        """Return the number of the record's group, or None if it is in none."""
        return self.index(record[self.column])

    def allows(self, leaf: Leaf) -> bool:
        """Return whether a filter may have a condition on the column that is grouped by."""
        return False
