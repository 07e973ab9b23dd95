"""Zones: a public list of parts of the data, in one of which each record lies; and which zones a query reaches.

Why the promise holds: a record's zone is a function of that record alone. A zone is outside a query's reach only if every
record that can lie in it contributes exactly 0 to each coordinate of the query's totals. So the totals stay the same if such a
record is added, removed, or replaced by another of its zone, and nothing that is revealed about them costs a record of that
zone any privacy (docs/explanation/mathematics.md, "Editions and zones"). The reach follows from definitions, never from data.
What cannot be decided reaches every zone, so it is charged to all of them.

Missing values, and codes that a catalogue declares as missing, are one and the same here: zones, filters and groups all see
a record as it was read, in which both are None.

>>> regions = Zones.of(Keys.of("region", ["north", "south"]))
>>> regions.place({"region": "south"}), regions.place({"region": None})
(1, 2)
>>> regions.names(regions.reach_mask(Query.count("region = 'north' AND age > 60")))
('north',)
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import date
from fractions import Fraction
from functools import cached_property
from math import isfinite
from typing import Any, ClassVar

from noiseledger.core.date_groups import Parts
from noiseledger.core.filters.cells import Mask
from noiseledger.core.filters.condition import Constant, Value
from noiseledger.core.filters.diagram import Diagram
from noiseledger.core.group_product import ByColumn, by_column, load_groups
from noiseledger.core.groups import Bins, Keys
from noiseledger.core.query import Query
from noiseledger.errors import InvalidFilter, InvalidInput

#: Part of every canonical form: this number changes whenever the meaning of a declaration changes.
FORMAT = 1
#: The largest number of zones, with the last one: a reach is one word of so many bits.
MAX_ZONES = 256
#: The name of the last zone, and of the only one if no zones are declared.
OTHER = "other"
ALL = "all records"


@dataclass(frozen=True)
class Zones:
    """One zone for each group of a column, then one for all other records; a single zone without groups."""

    groups: ByColumn | None = None
    ONE: ClassVar[Zones]

    @classmethod
    def of(cls, groups: ByColumn | None) -> Zones:
        """Return the zones that groups by one column define."""
        return cls(groups)

    def __post_init__(self) -> None:
        """Refuse groups by several columns, too many zones, two zones with one name, and names that are no text."""
        own = self.groups
        if own is None:
            return
        given: object = own  # from any caller, or from a text
        if not isinstance(given, Bins | Keys | Parts):
            raise InvalidInput("Zones are groups of one column: give its values, or edges.")
        name: object = own.column
        if not isinstance(name, str) or not name:
            raise InvalidInput("Zones need the name of a column.")
        if own.size + 1 > MAX_ZONES:
            raise InvalidInput(
                f"There may be {MAX_ZONES} zones at most, and {own.size:,} groups with one more for all other records are "
                f"{own.size + 1:,}: list fewer, or use wider groups."
            )
        if OTHER in own.labels:
            raise InvalidInput(
                f"The last zone is called {OTHER!r} and holds every record that is in no listed one: leave the value {OTHER!r} "
                "out of the list."
            )
        _check_text("".join((own.column, *own.labels)))

    @property
    def count(self) -> int:
        """The number of zones."""
        return len(self.labels)

    @cached_property
    def labels(self) -> tuple[str, ...]:
        """A name for each zone."""
        return (ALL,) if self.groups is None else (*self.groups.labels, OTHER)

    @property
    def everything(self) -> Mask:
        """The reach that contains every zone."""
        return (1 << self.count) - 1

    def place(self, record: Mapping[str, object]) -> int:
        """Return the number of a record's zone; the record is as it was read, by any engine or by the reference."""
        if self.groups is None:
            return 0
        if self.groups.column not in record:
            raise InvalidInput(f"The record has no column {self.groups.column!r}, which decides its zone: give it.")
        return self._zone(self.groups, _exact(record[self.groups.column]))

    def reach_mask(self, query: Query) -> Mask:
        """Return the zones whose records can influence a query's totals, as a number with bit z for zone z.

        It is never 0: a query of which no zone seems to be in reach reaches every zone.
        """
        if self.groups is None or self.groups.column not in query.kinds:
            return self.everything
        if query.kinds[self.groups.column] not in (None, self.groups.kind):
            return self.everything
        try:
            found = sum(1 << zone for zone in set(self._reached(query, self.groups)))
        except InvalidFilter:  # too complex
            return self.everything
        return found or self.everything

    def names(self, mask: Mask) -> tuple[str, ...]:
        """Return the labels of the zones in a reach."""
        return tuple(label for zone, label in enumerate(self.labels) if mask >> zone & 1)

    @cached_property
    def canonical(self) -> str:
        """The canonical form: JSON with sorted keys and exact numbers, one text per meaning; empty for a single zone."""
        if self.groups is None:
            return ""
        return json.dumps({"zones": self.groups.dump(), "noiseledger": FORMAT}, sort_keys=True, separators=(",", ":"))

    @classmethod
    def parse(cls, canonical: str) -> Zones:
        """Parse a canonical form; refuse any other text."""
        if canonical == "":
            return cls()
        try:
            groups: Any = load_groups(json.loads(canonical)["zones"])
            zones = cls(groups)
        except (KeyError, TypeError, AttributeError, ValueError, RecursionError) as error:
            raise InvalidInput(f"This is not the canonical form of zones: {error}") from None
        if zones.canonical != canonical:
            raise InvalidInput("This is not the canonical form of zones: its canonical form is a different text.")
        return zones

    def _zone(self, own: ByColumn, value: Value | None) -> int:
        """Return the zone of a value: records and cells are placed by the same rule."""
        found = own.index(value)
        return self.count - 1 if found is None else found

    def _reached(self, query: Query, own: ByColumn) -> Iterator[int]:
        """Yield the zone of each cell of the column in which a record can be counted, by the filter and in the groups.

        The cells are so fine that filter, groups and zones treat all values of one cell alike, so one value decides. The filter
        must be TRUE: of a missing value, a comparison and its negation are both unknown.
        """
        grouping = [one for one in by_column(query.groups) if one.column == own.column]
        where = Constant(True) if query.where is None else query.where.expression
        diagram = Diagram(where, cuts=[cut for one in (own, *grouping) for cut in one.cuts])
        column, cells = diagram.possible(own.column)
        for bit in _bits(cells):
            value = column.example(bit)
            if all(one.index(value) is not None for one in grouping):
                yield self._zone(own, value)


Zones.ONE = Zones()


def most_reached(reaches: Iterable[Mask]) -> int:
    """Return how many of the reaches contain the zone that most of them contain.

    >>> most_reached([0b011, 0b001, 0b100])
    2
    """
    return max(Counter(zone for mask in reaches for zone in _bits(mask)).values(), default=0)


def _bits(mask: Mask) -> Iterator[int]:
    return (bit for bit, digit in enumerate(reversed(f"{mask:b}")) if digit == "1")


def _exact(value: Any) -> Value | None:
    """Return a value of an engine as the reference has it: a number is its nearest double, as its shortest decimal."""
    if value is None or type(value) in (str, bool, Fraction, date):
        found: Value | None = value
        return found
    if type(value) in (int, float) and isfinite(value):
        return Fraction(repr(float(value)))
    raise InvalidInput(
        f"A record as it was read has no value of type {type(value).__name__}: read it as declared first."
    )


def _check_text(text: str) -> None:
    """Refuse what no data can contain: JSON can express unpaired surrogates, which no encoding allows."""
    try:
        text.encode()
    except UnicodeEncodeError:
        raise InvalidInput("A zone has a name that is not valid Unicode text: correct it.") from None
