"""The state that results from a ledger's events: its queries, how far each is bought and revealed, and all requests."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from fractions import Fraction

from noiseledger.chain.contract import checksummed
from noiseledger.chain.values import Event, from_units
from noiseledger.core.filters.cells import Mask
from noiseledger.core.query import Query
from noiseledger.core.sensitivity import Population, sensitivity
from noiseledger.core.zone_budget import zones_of
from noiseledger.core.zones import Zones
from noiseledger.errors import InvalidInput, NoiseledgerError
from noiseledger.ledger.query_state import Behind, LoggedRequest, QueryState

#: The events that change the state; every ledger begins with the first of them.
EVENTS = (
    "Published",
    "Opened",
    "Retired",
    "Registered",
    "Asked",
    "Revealed",
    "RevealedPiece",
    "Allowed",
    "QueryPaused",
)


@dataclass(frozen=True)
class Registered:
    """A query as the custodian added it to the catalogue; it may contain anything."""

    identifier: str
    definition: str
    dimension: int
    sensitivity: Fraction
    ceiling: Fraction
    #: The zones that it reaches, one bit each.
    reach: Mask = 1

    @classmethod
    def of(cls, event: Event) -> Registered:
        """Read the event of a registration."""
        fields = event.fields
        if not fields["denominator"]:
            raise Behind  # no contract of ours has stored this
        unit = Fraction(fields["numerator"], fields["denominator"])
        ceiling = from_units(fields["ceiling"])
        return cls(fields["query"].hex(), fields["definition"], fields["dimension"], unit, ceiling, fields["reach"])

    def problem(self, population: Population, zones: Zones | None) -> str:
        """Return why the query cannot be asked, or an empty string; the zones are None if they cannot be read."""
        if zones is None:
            return "The ledger's list of zones cannot be read."
        try:
            query = Query.parse(self.definition)
            unit = sensitivity(query, population)
            beyond = zones.reach_mask(query) & ~self.reach
        except NoiseledgerError as error:
            return str(error)
        except RecursionError:
            return "The definition is nested too deeply to be read."
        if (query.dimension, unit) != (self.dimension, self.sensitivity):
            return "The catalogue declares a dimension or sensitivity that differs from the definition's."
        return "The catalogue declares fewer zones than the query reaches by its definition." if beyond else ""


@dataclass(frozen=True)
class Edition:
    """One edition of the data: the commitment to it, the number of its records (None if private), and whether it is sold."""

    commitment: bytes
    rows: int | None
    is_open: bool = True


@dataclass(frozen=True)
class RecordLine:
    """A request, and the totals after it: the most that a zone has spent, and what the naive scheme would have spent."""

    request: LoggedRequest
    spent: Fraction
    naive: Fraction


class LedgerState:
    """The state of a ledger, updated one event at a time."""

    def __init__(self, *, reuses: bool, zones: int = 1) -> None:
        """Start empty, with so many zones."""
        self._reuses = reuses
        self._zones = zones
        #: What the zones are; None if it cannot be read.
        self.zones: Zones | None = Zones.ONE if zones == 1 else None
        self.zone_list = ""
        #: The editions that were opened after the first, and what each zone has spent in each edition.
        self.later_editions: list[Edition] = []
        self.spent_in: list[tuple[Fraction, ...]] = [(Fraction(0),) * zones]
        #: The same in the naive scheme.
        self.naive_in: list[tuple[Fraction, ...]] = [(Fraction(0),) * zones]
        self._by_identifier: dict[str, Registered] = {}
        #: Whether the ledger's first event was read: if not, other events may be missing too.
        self.has_beginning = False
        self.registered: list[Registered] = []
        #: By identifier, in the first edition; and by edition and identifier, in the later ones.
        self.queries: dict[str, QueryState] = {}
        self.later: dict[tuple[int, str], QueryState] = {}
        #: All requests in order, and the positions in this list by query, transaction and analyst.
        self.record: list[RecordLine] = []
        self.places: dict[str, list[int]] = {}
        self.transactions: dict[str, int] = {}
        self.analysts: dict[str, list[int]] = {}
        #: The allowance that the custodian has set, less later purchases: what each analyst may still buy, if one is needed.
        self.allowances: dict[str, Fraction] = {}
        #: The identifiers of the queries whose sales are paused.
        self.paused: set[str] = set()
        #: The editions that are not sold any more.
        self.retired: set[int] = set()
        #: Changes with every event after the first: the number of events, and the block and index of the last, so that
        #: different histories never have the same value.
        self.version = (0, "", 0)

    @property
    def spent(self) -> Fraction:
        """The most that a zone has spent in an edition."""
        return self.record[-1].spent if self.record else Fraction(0)

    @property
    def naive(self) -> Fraction:
        """What the naive scheme would have spent."""
        return self.record[-1].naive if self.record else Fraction(0)

    def take(self, event: Event) -> None:
        """Process the next event."""
        if event.name == "Published":
            self.has_beginning = True
            self.zone_list = event.fields["zone_list"]
            with suppress(InvalidInput):
                zones = Zones.parse(self.zone_list)
                self.zones = zones if zones.count == self._zones else None
            return
        self.version = (self.version[0] + 1, event.block_hash, event.index)
        if event.name == "Allowed":
            self.allowances[checksummed(event.fields["analyst"])] = from_units(event.fields["allowance"])
            return
        if event.name in ("Opened", "Retired"):
            self._take_edition(event)
            return
        query = event.fields["query"].hex()
        if event.name == "QueryPaused":
            (self.paused.add if event.fields["paused"] else self.paused.discard)(query)
            return
        if event.name == "Registered":
            entry = Registered.of(event)
            self.registered.append(entry)
            self._by_identifier[entry.identifier] = entry
            return
        request = self._path(query, event.fields["edition"]).take(event)
        if request is not None:
            self._note(request)

    def query(self, identifier: str, edition: int = 0) -> QueryState:
        """Return how far a query is bought and revealed; this changes nothing, because several threads may read at once."""
        found = self.later.get((edition, identifier)) if edition else self.queries.get(identifier)
        return found or QueryState(self._reuses)

    def paths(self) -> Iterator[QueryState]:
        """Yield every query in every edition in which it was asked."""
        yield from self.queries.values()
        yield from self.later.values()

    def _path(self, identifier: str, edition: int) -> QueryState:
        if edition >= len(self.spent_in):
            raise Behind  # its opening is missing
        entry = self._by_identifier.get(identifier)
        new = QueryState(self._reuses, entry.dimension if entry else 1)
        return (
            self.later.setdefault((edition, identifier), new) if edition else self.queries.setdefault(identifier, new)
        )

    def _take_edition(self, event: Event) -> None:
        edition = event.fields["edition"]
        if event.name == "Opened":
            if edition != len(self.spent_in):
                raise Behind
            self.later_editions.append(Edition(event.fields["commitment"], event.fields["rows"] or None))
            self.spent_in.append((Fraction(0),) * self._zones)
            self.naive_in.append((Fraction(0),) * self._zones)
            return
        if not edition < len(self.spent_in):
            raise Behind
        self.retired.add(edition)

    def copy(self) -> LedgerState:
        """Return an independent copy."""
        other = LedgerState(reuses=self._reuses, zones=self._zones)
        other.zones, other.zone_list = self.zones, self.zone_list
        other.later_editions = list(self.later_editions)
        other.spent_in, other.naive_in = list(self.spent_in), list(self.naive_in)
        other.retired, other._by_identifier = set(self.retired), dict(self._by_identifier)
        other.later = {path: state.copy() for path, state in self.later.items()}
        other.has_beginning = self.has_beginning
        other.registered, other.record = list(self.registered), list(self.record)
        other.queries = {query: state.copy() for query, state in self.queries.items()}
        other.places = {query: list(places) for query, places in self.places.items()}
        other.transactions = dict(self.transactions)
        other.analysts = {analyst: list(places) for analyst, places in self.analysts.items()}
        other.allowances = dict(self.allowances)
        other.paused = set(self.paused)
        other.version = self.version
        return other

    def _note(self, request: LoggedRequest) -> None:
        place = len(self.record)
        spent = max(self.spent, self._charge(self.spent_in, request, request.cost))
        naive = max(self.naive, self._charge(self.naive_in, request, request.precision))
        self.record.append(RecordLine(request, spent, naive))
        self.places.setdefault(request.query, []).append(place)
        self.transactions.setdefault(request.transaction, place)
        self.analysts.setdefault(request.analyst, []).append(place)
        if request.analyst in self.allowances:
            self.allowances[request.analyst] -= request.cost

    def _charge(self, by_edition: list[tuple[Fraction, ...]], request: LoggedRequest, cost: Fraction) -> Fraction:
        """Charge a request to the zones that its query reaches; return the most that one of them has spent."""
        if not cost:
            return Fraction(0)
        entry = self._by_identifier.get(request.query)
        zones = range(self._zones) if entry is None else zones_of(entry.reach)
        after = list(by_edition[request.edition])
        for zone in zones:
            after[zone] += cost
        by_edition[request.edition] = tuple(after)
        return max(after)


def readable(registered: Iterable[Registered], population: Population, zones: Zones | None) -> dict[Query, Registered]:
    """Return the queries that can be asked, in order."""
    return {Query.parse(entry.definition): entry for entry in registered if not entry.problem(population, zones)}
