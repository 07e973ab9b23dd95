"""What a ledger's events add up to: its queries, how far each is bought and known, and who asked what."""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass, field
from fractions import Fraction
from heapq import heappop, heappush

from noiseledger.chain.contract import checksummed
from noiseledger.chain.values import Event, from_units
from noiseledger.core.path import Point, Price, QueryPath
from noiseledger.ledger.history import Asked, Replay

#: The events that tell the story; the first of them is the beginning of every ledger.
EVENTS = ("Published", "Registered", "Asked", "Revealed", "Allowed")


@dataclass(frozen=True)
class Registered:
    """A query as it was added to the catalogue: by the custodian, who may have written anything."""

    identifier: str
    definition: str
    dimension: int
    sensitivity: Fraction
    ceiling: Fraction


@dataclass(frozen=True)
class Entry:
    """A request, and the totals with it: what was spent, and what the naive scheme would have spent."""

    asked: Asked
    spent: Fraction
    naive: Fraction


@dataclass
class Track:
    """One query's path, as far as it is bought and known."""

    bought: Fraction = Fraction(0)
    #: What the naive scheme would have spent on it.
    naive: Fraction = Fraction(0)
    #: The known points. Paths are revealed forward only, so these are in the order of precision.
    ends: list[Fraction] = field(default_factory=list)
    points: list[Point] = field(default_factory=list)
    #: The requests, by their place in the record.
    entries: list[int] = field(default_factory=list)
    #: Those that are not revealed yet, as a heap by how far each needs the path: a reveal takes off what it answers, and
    #: does not look at the others, of which there may be very many.
    unanswered: list[tuple[Fraction, int, Asked]] = field(default_factory=list)

    @property
    def revealed(self) -> Fraction:
        """The furthest known precision."""
        return self.ends[-1] if self.ends else Fraction(0)

    @property
    def waiting(self) -> list[Asked]:
        """The requests that are not revealed yet, the oldest first."""
        return sorted((asked for _, _, asked in self.unanswered), key=lambda asked: asked.number)

    def ask(self, asked: Asked, place: int) -> None:
        """Take in a request."""
        self.entries.append(place)
        self.bought += asked.cost
        self.naive += asked.precision
        end = asked.stretch[1]
        if end > self.revealed:
            heappush(self.unanswered, (end, asked.number, asked))

    def reveal(self, end: Fraction, increments: Point) -> None:
        """Take in how the path goes on."""
        before = self.points[-1] if self.points else (0,) * len(increments)
        self.points.append(tuple(a + b for a, b in zip(before, increments, strict=True)))
        self.ends.append(end)
        while self.unanswered and self.unanswered[0][0] <= end:
            heappop(self.unanswered)

    def price(self, precision: Fraction) -> Price:
        """Price a request by what is bought, which may be ahead of what is revealed."""
        place = bisect_left(self.ends, precision)
        # Only the neighbours matter, and there may be very many others.
        known = self.ends[max(place - 1, 0) : place + 1] + ([self.bought] if self.bought else [])
        return QueryPath(1, dict.fromkeys(known, (0,))).price(precision)

    def copy(self) -> Track:
        """Return another one that goes on from here by itself."""
        lists = (list(self.ends), list(self.points), list(self.entries), list(self.unanswered))
        return Track(self.bought, self.naive, *lists)


class Story:
    """Everything that happened, taken in one event after the other."""

    def __init__(self, *, reuses: bool) -> None:
        """Begin with nothing."""
        #: Whether the ledger's beginning was seen: without it, other events may be missing too.
        self.has_beginning = False
        self.registered: list[Registered] = []
        self.tracks: dict[str, Track] = {}
        self.entries: list[Entry] = []
        #: Where the requests of a transaction begin in the record.
        self.transactions: dict[str, int] = {}
        #: The places of each analyst's requests.
        self.analysts: dict[str, list[int]] = {}
        #: What the custodian has allowed, less what was bought since: what each may still buy, if one is required.
        self.allowances: dict[str, Fraction] = {}
        #: Changes with every event after the first: its number, block and place, so that another history never looks the
        #: same.
        self.version = (0, "", 0)
        self._replay = Replay(reuses=reuses)

    @property
    def spent(self) -> Fraction:
        """What was spent in all."""
        return self.entries[-1].spent if self.entries else Fraction(0)

    @property
    def naive(self) -> Fraction:
        """What the naive scheme would have spent."""
        return self.entries[-1].naive if self.entries else Fraction(0)

    def take(self, event: Event) -> None:
        """Take in what happened next."""
        if event.name == "Published":
            self.has_beginning = True
            return
        self.version = (self.version[0] + 1, event.block_hash, event.index)
        if event.name == "Allowed":
            self.allowances[checksummed(event.fields["analyst"])] = from_units(event.fields["allowance"])
            return
        query = event.fields["query"].hex()
        match event.name:
            case "Registered":
                self.registered.append(_registered(query, event))
            case "Asked":
                self._ask(self._replay.take(event))
            case "Revealed":
                self._track(query).reveal(from_units(event.fields["end"]), event.fields["increments"])

    def track(self, query: str) -> Track:
        """Return how far a query is bought and known; reading changes nothing, since many read at once."""
        return self.tracks.get(query) or Track()

    def copy(self) -> Story:
        """Return another one that goes on from here by itself."""
        other = Story(reuses=True)
        other.has_beginning = self.has_beginning
        other.registered, other.entries = list(self.registered), list(self.entries)
        other.tracks = {query: track.copy() for query, track in self.tracks.items()}
        other.transactions = dict(self.transactions)
        other.analysts = {analyst: list(places) for analyst, places in self.analysts.items()}
        other.allowances = dict(self.allowances)
        other.version, other._replay = self.version, self._replay.copy()
        return other

    def _ask(self, asked: Asked) -> None:
        place = len(self.entries)
        self.entries.append(Entry(asked, self.spent + asked.cost, self.naive + asked.precision))
        self.transactions.setdefault(asked.transaction, place)
        self.analysts.setdefault(asked.analyst, []).append(place)
        if asked.analyst in self.allowances:
            self.allowances[asked.analyst] -= asked.cost
        self._track(asked.query).ask(asked, place)

    def _track(self, query: str) -> Track:
        return self.tracks.setdefault(query, Track())


def _registered(query: str, event: Event) -> Registered:
    fields = event.fields
    sensitivity = Fraction(fields["numerator"], fields["denominator"])
    return Registered(query, fields["definition"], fields["dimension"], sensitivity, from_units(fields["ceiling"]))
