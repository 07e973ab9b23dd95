"""A ledger on a chain at one block, in memory: many can read it at once, without calls to the chain."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from fractions import Fraction
from functools import cached_property

from noiseledger.chain.values import Terms
from noiseledger.core.access import Access
from noiseledger.core.answer import Answer
from noiseledger.core.budget import Budget
from noiseledger.core.filters.cells import Mask
from noiseledger.core.path import Point, natural_values
from noiseledger.core.privacy import MAX_PRECISION
from noiseledger.core.query import Query
from noiseledger.core.request import Request
from noiseledger.core.sensitivity import Population, sensitivity
from noiseledger.core.zone_budget import ZoneBudget
from noiseledger.core.zones import Zones
from noiseledger.ledger.interface import LedgerView, Quote, Record, Standing, check_first_edition, unknown_query
from noiseledger.ledger.public import PublicPath
from noiseledger.ledger.query_state import LoggedRequest, QueryState
from noiseledger.ledger.state import LedgerState, RecordLine, Registered, readable
from noiseledger.ledger.unanswered import Unanswered

#: Why nothing is sold.
CLOSED = "The custodian has closed the ledger for good."
PAUSED = "The custodian has paused sales."
QUERY_PAUSED = "The custodian has paused sales of this query."


@dataclass(frozen=True)
class Facts:
    """Facts that do not come from events, or from events whose history does not matter."""

    chain_id: int
    address: str
    terms: Terms
    custodian: str
    worker: str
    paused: bool
    #: Whether nothing is sold any more, for good.
    closed: bool
    #: The newest block, and the block up to which the chain is final, if there is one.
    block: int
    final: int | None
    #: The address that custody is offered to, if any.
    heir: str | None = None


@dataclass(frozen=True)
class Analyst:
    """An address that may buy or has sent a request."""

    address: str
    #: The precision that they may still buy; None on an open ledger, where it is the remaining budget.
    allowance: Fraction | None
    #: The precision that they have bought, and in how many requests, free ones included.
    spent: Fraction = Fraction(0)
    requests: int = 0
    last_asked: datetime | None = None


class LedgerSnapshot(LedgerView):
    """One state of a ledger. It never changes."""

    is_on_chain = True

    def __init__(self, facts: Facts, state: LedgerState, times: Mapping[int, datetime]) -> None:
        """Use the state folded from the events; ``times`` are those of the blocks that contain requests."""
        self.facts = facts
        self.terms = facts.terms
        self.state = state
        self._times = times

    def then(self, facts: Facts, state: LedgerState, times: Mapping[int, datetime]) -> LedgerSnapshot:
        """Return a later state; the catalogue is not read again if it is the same."""
        other = LedgerSnapshot(facts, state, times)
        if state.registered == self.state.registered and facts.terms == self.terms:
            found = ("unreadable", "_readable", "_by_identifier", "_sensitivities")
            other.__dict__.update({name: self.__dict__[name] for name in found if name in self.__dict__})
        return other

    def at(self, facts: Facts) -> LedgerSnapshot:
        """Return the same state at another block."""
        return self.then(facts, self.state, self._times)

    @property
    def version(self) -> str:
        """A string that changes whenever the visible state changes."""
        count, block_hash, index = self.state.version
        return f"{count}-{block_hash[2:18]}-{index}-{int(self.facts.paused)}{int(self.facts.closed)}"

    @property
    def access(self) -> Access:
        """Who may buy."""
        return Access.of(self.terms.requires_allowance)

    def analyst(self, address: str) -> Analyst:
        """Return what an address may still buy, and what it has bought."""
        asked = [self.state.record[place].request for place in self.state.analysts.get(address, ())]
        # A custodian can set any number; values above every possible budget are equivalent to this one.
        allowance = min(self.state.allowances.get(address, Fraction(0)), MAX_PRECISION)
        return Analyst(
            address,
            allowance if self.terms.requires_allowance else None,
            sum((request.cost for request in asked), Fraction(0)),
            len(asked),
            self.asked_at(asked[-1]) if asked else None,
        )

    def analysts(self) -> list[Analyst]:
        """Return all with an allowance or a request, sorted by what they may buy, then by what they have bought; most first."""
        found = map(self.analyst, dict.fromkeys([*self.state.allowances, *self.state.analysts]))
        return sorted(found, key=lambda analyst: (-(analyst.allowance or 0), -analyst.spent, analyst.address))

    @property
    def population(self) -> Population:
        """The public facts about the dataset."""
        return self.terms.population

    @property
    def reuses(self) -> bool:
        """Whether a request reuses earlier purchases."""
        return self.terms.reuses

    @property
    def smallest_purchase(self) -> Fraction:
        """The least precision that is sold at once."""
        return self.terms.smallest

    def budget(self) -> Budget:
        """Return the privacy guarantee, the amount spent and the amount left."""
        return Budget(self.terms.epsilon, self.terms.delta, self.terms.budget, self.state.spent)

    def zone_budget(self, edition: int = 0) -> ZoneBudget:
        """Return what each zone has spent in an edition."""
        promise = Budget(self.terms.epsilon, self.terms.delta, self.terms.budget)
        return ZoneBudget(promise, self.state.spent_in[edition])

    def budget_of(self, query: Query) -> Budget:
        """Return the budget of the zone with the least left of those that a query reaches."""
        return self.zone_budget().reached(self.registered(query).reach)

    @property
    def zones(self) -> Zones | None:
        """The zones that the ledger was published with."""
        return self.state.zones

    def reaches(self) -> dict[Query, Mask]:
        """Return the zones that each query is charged to."""
        return {query: entry.reach for query, entry in self._readable.items()}

    def queries(self) -> list[Query]:
        """Return the queries that may be asked."""
        return list(self._readable)

    @cached_property
    def unreadable(self) -> dict[str, str]:
        """The entries of the catalogue that cannot be asked here, with the reasons."""
        zones = self.state.zones
        problems = ((registered, registered.problem(self.population, zones)) for registered in self.state.registered)
        return {registered.identifier: problem for registered, problem in problems if problem}

    def registered(self, query: Query) -> Registered:
        """Return a query's entry in the catalogue."""
        return self._readable[self._known(query)]

    def query_state(self, query: Query) -> QueryState:
        """Return how far a query is bought and revealed."""
        return self.state.query(self._known(query).identifier)

    def not_sold(self, query: Query) -> str:
        """Return why nothing more of a query is sold; an empty text if it is."""
        if self.facts.closed:
            return CLOSED
        if self.facts.paused:
            return PAUSED
        return QUERY_PAUSED if query.identifier in self.state.paused else ""

    def path(self, query: Query, edition: int = 0) -> PublicPath:
        """Return the public part of a query's path."""
        state = self.state.query(self._known(query).identifier, edition)
        return PublicPath.of(self.facts.chain_id, self.facts.address, query, state)

    def population_of(self, edition: int) -> Population:
        """Return the public facts about one edition of the data."""
        if not edition:
            return self.population
        return replace(self.population, rows=self.state.later_editions[edition - 1].rows)

    def quote_many(self, requests: Sequence[Request]) -> list[Quote]:
        """Return the price of each request on its own."""
        check_first_edition(requests)
        budget = self.zone_budget()
        return [
            self.query_state(item.query).quote(item, budget, self.registered(item.query).reach, self.terms)
            for item in requests
        ]

    def best(self, query: Query) -> Answer | None:
        """Return the most accurate answer that is public."""
        state = self.query_state(query)
        budget = self.budget_of(query)
        return state.best(query, self.registered(query).sensitivity, budget, self.population)

    def standings(self) -> list[Standing]:
        """Return the state of every query."""
        found = [(query, self.query_state(query)) for query in self._readable]
        return [Standing(query, state.bought, state.revealed) for query, state in found]

    def records(self, after: int = 0) -> Iterator[Record]:
        """Yield the requests in order; those of queries that cannot be read are left out."""
        return self.picked(self.places(after))

    def places(self, after: int = 0, query: Query | None = None) -> Sequence[int]:
        """Return the positions in the history of the requests with numbers above ``after``, of one query or of all."""
        record = self.state.record
        places = range(len(record)) if query is None else self.state.places.get(query.identifier, [])
        return places[bisect_right(places, after, key=lambda place: record[place].request.number) :]

    def picked(self, places: Iterable[int], longest: int | None = None) -> Iterator[Record]:
        """Yield the requests at these positions in the history.

        An answer may take a millisecond per number: answers with more than ``longest`` numbers are left out.
        """
        for place in places:
            line = self.state.record[place]
            query = self._by_identifier.get(line.request.query)
            if query is not None:
                is_wanted = longest is None or query.dimension <= longest
                path = self.path(query, line.request.edition)
                yield self._record(line, query, path.answer(line.request) if is_wanted else None)

    def requests_in(self, transaction: str) -> list[LoggedRequest]:
        """Return the requests of a transaction."""
        record = self.state.record
        first = last = self.state.transactions.get(transaction, len(record))
        while last < len(record) and record[last].request.transaction == transaction:
            last += 1
        return [line.request for line in record[first:last]]

    def is_answered(self, request: LoggedRequest) -> bool:
        """Return whether the path is known as far as a request needs it."""
        return self.state.query(request.query, request.edition).revealed >= request.stretch[1]

    @property
    def waiting(self) -> list[LoggedRequest]:
        """The requests that are bought and not yet revealed, oldest first."""
        found = [request for state in self.state.paths() for request in state.waiting]
        return sorted(found, key=lambda request: request.number)

    def unanswered(self) -> list[Unanswered]:
        """Return the oldest unanswered purchase of each query that has one, oldest first."""
        waiting = [state.unanswered for state in self.state.paths() if state.unanswered]
        first = sorted((min(found, key=lambda item: item[1])[2] for found in waiting), key=lambda p: p.number)
        return [Unanswered(request.query, request.block, self.asked_at(request)) for request in first]

    def asked_at(self, request: LoggedRequest) -> datetime:
        """Return when a request was made."""
        return self._times[request.block]

    @cached_property
    def _readable(self) -> dict[Query, Registered]:
        return readable(self.state.registered, self.population, self.state.zones)

    @cached_property
    def _by_identifier(self) -> dict[str, Query]:
        return {query.identifier: query for query in self._readable}

    def _known(self, query: Query) -> Query:
        if query not in self._readable:
            raise unknown_query(query)
        return query

    def _record(self, line: RecordLine, query: Query, point: Point | None) -> Record:
        asked = line.request
        unit = (
            sensitivity(query, self.population_of(asked.edition))
            if asked.edition
            else self.registered(query).sensitivity
        )
        scale = unit / asked.precision
        return Record(
            number=asked.number,
            query=query,
            analyst=asked.analyst,
            asked_at=self.asked_at(asked),
            epsilon=asked.epsilon,
            delta=asked.delta,
            precision=asked.precision,
            case=asked.case,
            cost=asked.cost,
            values=() if point is None else natural_values(point, scale),
            built_from=asked.built_from,
            spent=line.spent,
            transaction=asked.transaction,
            block=asked.block,
            edition=asked.edition,
        )
