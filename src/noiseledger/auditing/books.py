"""What follows from a ledger's event record: its terms, zones, editions, queries, paths, allowances and roles.

Memory holds a few numbers for each query, for each edition in which it was asked, for each zone of an edition and for each
analyst, however many requests and published numbers there are. Of a large answer it holds a hash, not the numbers.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from noiseledger.auditing import wire
from noiseledger.core.query import Query
from noiseledger.core.zones import Zones

ZERO_ADDRESS = wire.address(0)
#: The audit has its own copies of the contract's limits; a test compares them. The largest precision, in units:
MAX_PRECISION = 2**110 - 1
#: The longest definition, and the longest zone list. An altered contract could write one that is too deeply nested to parse.
MAX_DEFINITION = 24576
MAX_ZONES = 256
#: Answers with more numbers than this are large: they are revealed in pieces, and the contract keeps a hash instead of a point.
MAX_STORED = 8


@dataclass
class Listed:
    """What is registered about a query, for all editions."""

    dimension: int
    reach: int
    ceiling: int
    query: Query | None
    paused: bool = False

    @property
    def is_large(self) -> bool:
        """Say whether its answers are revealed in pieces."""
        return self.dimension > MAX_STORED


@dataclass
class Path:
    """What was bought and revealed of a query in one edition."""

    bought: int = 0
    revealed: int = 0
    #: The end of the path of a small answer; empty before anything is revealed.
    point: tuple[int, ...] = ()
    #: The hash over all that was revealed of a large answer; empty before anything is revealed.
    digest: bytes = b""
    #: How many numbers of the next stretch of a large answer were revealed, and where this stretch ends.
    done: int = 0
    end: int = 0


@dataclass
class Edition:
    """An edition of the data, as it was opened."""

    commitment: bytes
    rows: int
    is_open: bool = True


@dataclass
class Books:
    """The state that follows from the event record so far."""

    terms: wire.Terms | None = None
    #: The zones of the published list, None if it cannot be read.
    zones: Zones | None = None
    editions: dict[int, Edition] = field(default_factory=dict)
    queries: dict[str, Listed] = field(default_factory=dict)
    #: By edition and query, since the first purchase or reveal.
    paths: dict[tuple[int, str], Path] = field(default_factory=dict)
    #: What each zone has spent, by edition. It may contain editions that were never opened.
    spent: dict[int, list[int]] = field(default_factory=dict)
    #: The remaining allowance of each analyst who was given one, or who bought something that requires one.
    allowances: dict[str, int] = field(default_factory=dict)
    custodian: str = ZERO_ADDRESS
    worker: str = ZERO_ADDRESS
    heir: str = ZERO_ADDRESS
    paused: bool = False
    closed: bool = False

    @property
    def zone_count(self) -> int:
        """How many zones the terms name; 1 if the number is impossible."""
        count = 1 if self.terms is None else self.terms.zones
        return count if 0 < count <= MAX_ZONES else 1

    @property
    def everything(self) -> int:
        """The reach that contains every zone."""
        return (1 << self.zone_count) - 1

    def zone_name(self, zone: int) -> str:
        """Return what a zone is called."""
        return repr(self.zones.labels[zone]) if self.zones and zone < self.zones.count else str(zone)

    def path(self, edition: int, query: str, *, is_kept: bool = True) -> Path:
        """Return a path. It is kept from its first event on, except free requests, of which there may be any number."""
        known = self.paths.get((edition, query))
        if known is None:
            known = Path()
            if is_kept:
                self.paths[edition, query] = known
        return known

    def charge(self, edition: int, reach: int, cost: int) -> tuple[int, int]:
        """Add a cost to all zones in a reach; return the zone among them that has spent the most, and how much."""
        spent = self.spent.setdefault(edition, [0] * self.zone_count)
        reached = [zone for zone in range(len(spent)) if reach >> zone & 1] or [*range(len(spent))]
        for zone in reached:
            spent[zone] += cost
        most = max(reached, key=spent.__getitem__)
        return most, spent[most]

    def spent_in(self, edition: int) -> list[int]:
        """Return what each zone has spent in an edition."""
        return self.spent.get(edition) or [0] * self.zone_count

    @property
    def most_spent(self) -> int:
        """What the zone and edition that spent most have spent."""
        return max(map(max, self.spent.values()), default=0)

    def unfinished(self) -> Iterator[tuple[int, str, Path]]:
        """Yield the paths of which a stretch is revealed only in part."""
        return ((edition, query, path) for (edition, query), path in self.paths.items() if path.done)
