"""The state that results from a ledger's events: its queries, how far each is bought and revealed, and all requests."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction

from noiseledger.chain.contract import checksummed
from noiseledger.chain.values import Event, from_units
from noiseledger.core.query import Query
from noiseledger.core.sensitivity import Population, sensitivity
from noiseledger.errors import NoiseledgerError
from noiseledger.ledger.query_state import Behind, LoggedRequest, QueryState

#: The events that change the state; every ledger begins with the first of them.
EVENTS = ("Published", "Registered", "Asked", "Revealed", "Allowed", "QueryPaused")


@dataclass(frozen=True)
class Registered:
    """A query as the custodian added it to the catalogue; it may contain anything."""

    identifier: str
    definition: str
    dimension: int
    sensitivity: Fraction
    ceiling: Fraction

    @classmethod
    def of(cls, event: Event) -> Registered:
        """Read the event of a registration."""
        fields = event.fields
        if not fields["denominator"]:
            raise Behind  # no contract of ours has stored this
        unit = Fraction(fields["numerator"], fields["denominator"])
        ceiling = from_units(fields["ceiling"])
        return cls(fields["query"].hex(), fields["definition"], fields["dimension"], unit, ceiling)

    def problem(self, population: Population) -> str:
        """Return why the query cannot be asked, or an empty string."""
        try:
            query = Query.parse(self.definition)
            unit = sensitivity(query, population)
        except NoiseledgerError as error:
            return str(error)
        except RecursionError:
            return "The definition is nested too deeply to be read."
        if (query.dimension, unit) != (self.dimension, self.sensitivity):
            return "The catalogue declares a dimension or sensitivity that differs from the definition's."
        return ""


@dataclass(frozen=True)
class RecordLine:
    """A request, and the totals after it: the amount spent, and what the naive scheme would have spent."""

    request: LoggedRequest
    spent: Fraction
    naive: Fraction


class LedgerState:
    """The state of a ledger, updated one event at a time."""

    def __init__(self, *, reuses: bool) -> None:
        """Start empty."""
        self._reuses = reuses
        #: Whether the ledger's first event was read: if not, other events may be missing too.
        self.has_beginning = False
        self.registered: list[Registered] = []
        #: By identifier.
        self.queries: dict[str, QueryState] = {}
        #: All requests in order, and the positions in this list by query, transaction and analyst.
        self.record: list[RecordLine] = []
        self.places: dict[str, list[int]] = {}
        self.transactions: dict[str, int] = {}
        self.analysts: dict[str, list[int]] = {}
        #: The allowance that the custodian has set, less later purchases: what each analyst may still buy, if one is needed.
        self.allowances: dict[str, Fraction] = {}
        #: The identifiers of the queries whose sales are paused.
        self.paused: set[str] = set()
        #: Changes with every event after the first: the number of events, and the block and index of the last, so that
        #: different histories never have the same value.
        self.version = (0, "", 0)

    @property
    def spent(self) -> Fraction:
        """The total amount spent."""
        return self.record[-1].spent if self.record else Fraction(0)

    @property
    def naive(self) -> Fraction:
        """What the naive scheme would have spent."""
        return self.record[-1].naive if self.record else Fraction(0)

    def take(self, event: Event) -> None:
        """Process the next event."""
        if event.name == "Published":
            self.has_beginning = True
            return
        self.version = (self.version[0] + 1, event.block_hash, event.index)
        if event.name == "Allowed":
            self.allowances[checksummed(event.fields["analyst"])] = from_units(event.fields["allowance"])
            return
        query = event.fields["query"].hex()
        if event.name == "QueryPaused":
            (self.paused.add if event.fields["paused"] else self.paused.discard)(query)
            return
        if event.name == "Registered":
            self.registered.append(Registered.of(event))
            return
        request = self.queries.setdefault(query, QueryState(self._reuses)).take(event)
        if request is not None:
            self._note(request)

    def query(self, identifier: str) -> QueryState:
        """Return how far a query is bought and revealed; this changes nothing, because several threads may read at once."""
        return self.queries.get(identifier) or QueryState(self._reuses)

    def copy(self) -> LedgerState:
        """Return an independent copy."""
        other = LedgerState(reuses=self._reuses)
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
        self.record.append(RecordLine(request, self.spent + request.cost, self.naive + request.precision))
        self.places.setdefault(request.query, []).append(place)
        self.transactions.setdefault(request.transaction, place)
        self.analysts.setdefault(request.analyst, []).append(place)
        if request.analyst in self.allowances:
            self.allowances[request.analyst] -= request.cost


def readable(registered: Iterable[Registered], population: Population) -> dict[Query, Registered]:
    """Return the queries that can be asked, in order."""
    return {Query.parse(entry.definition): entry for entry in registered if not entry.problem(population)}
