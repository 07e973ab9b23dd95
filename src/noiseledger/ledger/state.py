"""What a ledger's events add up to: its queries, how far each is bought and revealed, and who asked what."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction

from noiseledger.chain.contract import checksummed
from noiseledger.chain.values import Event, from_units
from noiseledger.core.query import Query
from noiseledger.core.sensitivity import Population, sensitivity
from noiseledger.errors import NoiseledgerError
from noiseledger.ledger.query_state import Purchase, QueryState

#: The events that change the state; the first of them is the beginning of every ledger.
EVENTS = ("Published", "Registered", "Asked", "Revealed", "Allowed")


@dataclass(frozen=True)
class Registered:
    """A query as it was added to the catalogue: by the custodian, who may have written anything."""

    identifier: str
    definition: str
    dimension: int
    sensitivity: Fraction
    ceiling: Fraction

    def problem(self, population: Population) -> str:
        """Return why the query cannot be asked, or nothing."""
        try:
            query = Query.parse(self.definition)
            unit = sensitivity(query, population)
        except NoiseledgerError as error:
            return str(error)
        except RecursionError:
            return "The definition is nested too deeply to be read."
        if (query.dimension, unit) != (self.dimension, self.sensitivity):
            return "The catalogue declares another dimension or sensitivity than follows from the definition."
        return ""


@dataclass(frozen=True)
class RecordLine:
    """A request, and the totals with it: what was spent, and what the naive scheme would have spent."""

    purchase: Purchase
    spent: Fraction
    naive: Fraction


class LedgerState:
    """Everything that happened, taken in one event after the other."""

    def __init__(self, *, reuses: bool) -> None:
        """Begin with nothing."""
        self._reuses = reuses
        #: Whether the ledger's beginning was seen: without it, other events may be missing too.
        self.has_beginning = False
        self.registered: list[Registered] = []
        #: By identifier.
        self.queries: dict[str, QueryState] = {}
        #: All requests in order; and where in this list those of a query, a transaction and an analyst are.
        self.record: list[RecordLine] = []
        self.places: dict[str, list[int]] = {}
        self.transactions: dict[str, int] = {}
        self.analysts: dict[str, list[int]] = {}
        #: What the custodian has allowed, less what was bought since: what each may still buy, if one is required.
        self.allowances: dict[str, Fraction] = {}
        #: Changes with every event after the first: its number, block and place, so that another history never looks the
        #: same.
        self.version = (0, "", 0)

    @property
    def spent(self) -> Fraction:
        """What was spent in all."""
        return self.record[-1].spent if self.record else Fraction(0)

    @property
    def naive(self) -> Fraction:
        """What the naive scheme would have spent."""
        return self.record[-1].naive if self.record else Fraction(0)

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
        if event.name == "Registered":
            self.registered.append(_registered(query, event))
            return
        purchase = self.queries.setdefault(query, QueryState(self._reuses)).take(event)
        if purchase is not None:
            self._note(purchase)

    def query(self, identifier: str) -> QueryState:
        """Return how far a query is bought and revealed; reading changes nothing, since many read at once."""
        return self.queries.get(identifier) or QueryState(self._reuses)

    def copy(self) -> LedgerState:
        """Return another one that goes on from here by itself."""
        other = LedgerState(reuses=self._reuses)
        other.has_beginning = self.has_beginning
        other.registered, other.record = list(self.registered), list(self.record)
        other.queries = {query: state.copy() for query, state in self.queries.items()}
        other.places = {query: list(places) for query, places in self.places.items()}
        other.transactions = dict(self.transactions)
        other.analysts = {analyst: list(places) for analyst, places in self.analysts.items()}
        other.allowances = dict(self.allowances)
        other.version = self.version
        return other

    def _note(self, purchase: Purchase) -> None:
        place = len(self.record)
        self.record.append(RecordLine(purchase, self.spent + purchase.cost, self.naive + purchase.precision))
        self.places.setdefault(purchase.query, []).append(place)
        self.transactions.setdefault(purchase.transaction, place)
        self.analysts.setdefault(purchase.analyst, []).append(place)
        if purchase.analyst in self.allowances:
            self.allowances[purchase.analyst] -= purchase.cost


def readable(registered: Iterable[Registered], population: Population) -> dict[Query, Registered]:
    """Return the queries that can be asked, in order."""
    return {Query.parse(entry.definition): entry for entry in registered if not entry.problem(population)}


def _registered(query: str, event: Event) -> Registered:
    fields = event.fields
    unit = Fraction(fields["numerator"], fields["denominator"])
    return Registered(query, fields["definition"], fields["dimension"], unit, from_units(fields["ceiling"]))
