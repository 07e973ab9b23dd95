"""One query of a ledger on a chain, folded from its events: how far it is bought and revealed, and who sent requests.

The contract stores how far each path is bought and revealed, but not every request: requests are events. In order, the events
determine each request's number, the answers it was built from, and its noisy values. Events are folded, and requests on a chain
are priced and quoted, only in this module; everything that reads a chain uses it.

Why no node can change the meaning of a request: each event must come after the one before, each request must cost what the
requests before it leave to pay, and each reveal must start where the last one ended. An event that is left out, repeated or
moved breaks this, or the sums of the contract.
"""

from __future__ import annotations

from bisect import insort
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from fractions import Fraction
from heapq import heappop, heappush

from noiseledger.chain.contract import checksummed
from noiseledger.chain.pieces import next_digest
from noiseledger.chain.values import PROMISE_UNITS, Event, Piece, Terms, from_units
from noiseledger.core.answer import Answer
from noiseledger.core.budget import Budget
from noiseledger.core.filters.cells import Mask
from noiseledger.core.path import Case, Point, Price, find_price
from noiseledger.core.query import Query
from noiseledger.core.request import Request
from noiseledger.core.sensitivity import Population
from noiseledger.core.zone_budget import ZoneBudget
from noiseledger.errors import ChainMismatch
from noiseledger.ledger.interface import Quote

_LOGS_PER_BLOCK = 2**20


def record_number(event: Event) -> int:
    """Return a number that gives requests the order of the chain, without counting them."""
    return event.block * _LOGS_PER_BLOCK + event.index


def block_of_record(number: int) -> int:
    """Return the block of a record."""
    return number // _LOGS_PER_BLOCK


@dataclass(frozen=True)
class LoggedRequest:
    """One request in the log of the chain, free ones included: what the contract charged, and the records it was built from."""

    number: int
    query: str
    analyst: str
    block: int
    transaction: str
    epsilon: Fraction | None
    delta: Fraction | None
    price: Price
    #: The stretch of the path that answers it: from 0 if answers are reused, otherwise its own.
    stretch: tuple[Fraction, Fraction]
    #: The records of ``price.sources``.
    built_from: tuple[int, ...]
    edition: int = 0

    @property
    def precision(self) -> Fraction:
        """The precision that was asked for."""
        return self.price.precision

    @property
    def case(self) -> Case:
        """The paper's case of the request."""
        return self.price.case

    @property
    def cost(self) -> Fraction:
        """The cost, as a precision."""
        return self.price.cost


class Behind(ChainMismatch):
    """A node's events are incomplete or out of order: some are missing, come twice, or contradict the contract's state."""

    def __init__(self) -> None:
        """Say what to do."""
        super().__init__(
            "The events that the endpoint returns are incomplete or out of order: try again, or use another endpoint."
        )


@dataclass
class QueryState:
    """How far one query is bought and revealed, and all requests for it."""

    reuses: bool = True
    #: The number of coordinates of its answer.
    dimension: int = 1
    bought: Fraction = Fraction(0)
    #: What the naive scheme would have spent on it.
    naive: Fraction = Fraction(0)
    #: The revealed points. Paths are only revealed forwards, so these are in the order of precision.
    ends: list[Fraction] = field(default_factory=list)
    points: list[Point] = field(default_factory=list)
    #: The requests in order.
    requests: list[LoggedRequest] = field(default_factory=list)
    #: Those that are not revealed yet, as a heap ordered by the precision that each needs: a reveal removes those that it
    #: answers and does not visit the others, of which there may be very many.
    unanswered: list[tuple[Fraction, int, LoggedRequest]] = field(default_factory=list)
    #: The points that requests were built on, in order, and the latest request for each.
    _asked: list[Fraction] = field(default_factory=list)
    _latest: dict[Fraction, int] = field(default_factory=dict)
    #: The number of the latest event.
    _last: int = -1
    #: Of a large answer: the hash over all pieces (empty before the first), the end of the stretch that is revealed in
    #: pieces, and its increments so far.
    digest: bytes = b""
    _piece_end: Fraction = Fraction(0)
    _pieces: tuple[int, ...] = ()

    @property
    def revealed(self) -> Fraction:
        """The highest revealed precision."""
        return self.ends[-1] if self.ends else Fraction(0)

    @property
    def is_ahead(self) -> bool:
        """Whether more is bought than revealed."""
        return self.bought > self.revealed

    @property
    def waiting(self) -> list[LoggedRequest]:
        """The requests that are not revealed yet, the oldest first."""
        return sorted((request for _, _, request in self.unanswered), key=lambda request: request.number)

    def take(self, event: Event) -> LoggedRequest | None:
        """Process the next event of this query, or raise ``Behind``; return the request, if it is one."""
        if record_number(event) <= self._last:
            raise Behind
        self._last = record_number(event)
        if event.name == "Asked":
            return self._ask(event)
        if event.name == "Revealed":
            start, end = (from_units(event.fields[name]) for name in ("start", "end"))
            if start != self.revealed or end <= start or len(event.fields["increments"]) != self.dimension:
                raise Behind
            self._reveal(end, event.fields["increments"])
        if event.name == "RevealedPiece":
            self._reveal_piece(event)
        return None

    def price(self, precision: Fraction, smallest: Fraction = Fraction(0)) -> Price:
        """Price a request by what is bought, which may be more than is revealed; ``smallest`` is the smallest purchase."""
        if not self.reuses:
            return find_price(precision, (), smallest)
        needs_more = self.is_ahead and precision > self.revealed
        return find_price(precision, [*self.ends[-1:], self.bought] if needs_more else self.ends, smallest)

    @property
    def pieces_done(self) -> int:
        """How many numbers of the next stretch are revealed, of a large answer."""
        return len(self._pieces)

    @property
    def begun(self) -> tuple[Fraction, Point] | None:
        """Where the stretch ends of which only the first numbers are revealed, and their increments; None if there is none."""
        return (self._piece_end, self._pieces) if self._pieces else None

    def fits(self, piece: Piece, identifier: str) -> bool:
        """Return whether the contract has the same pieces of the query with this identifier, down to the last number."""
        return (self.pieces_done, self.digest or bytes.fromhex(identifier)) == (piece.done, piece.digest)

    def quote(self, request: Request, budget: ZoneBudget, reach: Mask, terms: Terms) -> Quote:
        """Return the price of a request on its own, with the best public answer if it is accurate enough."""
        is_public = request.precision <= self.revealed
        left = budget.reached(reach)
        known = self.best(request.query, request.sensitivity, left, terms.population) if is_public else None
        price = self.price(request.precision, terms.smallest)
        return Quote(request, price, budget, reach, known, is_bought=request.precision <= self.bought)

    def best(self, query: Query, sensitivity: Fraction, budget: Budget, population: Population) -> Answer | None:
        """Return the most accurate answer that is public; None if nothing is revealed."""
        if not self.ends:
            return None
        return Answer.public(query, sensitivity, self.revealed, self.points[-1], budget, population)

    def copy(self) -> QueryState:
        """Return an independent copy."""
        return replace(
            self,
            ends=list(self.ends),
            points=list(self.points),
            requests=list(self.requests),
            unanswered=list(self.unanswered),
            _asked=list(self._asked),
            _latest=dict(self._latest),
        )

    def _ask(self, event: Event) -> LoggedRequest:
        fields, number = event.fields, record_number(event)
        price = Price(from_units(fields["precision"]), Case.NEW, from_units(fields["cost"]), ())
        if price.cost != (max(price.precision - self.bought, Fraction(0)) if self.reuses else price.precision):
            raise Behind
        if self.reuses:
            # The contract does not store which points were asked for; only the history shows it.
            known = find_price(price.precision, self._asked)
            price = replace(known, cost=price.cost)
        start = Fraction(0) if self.reuses else self.bought
        self.bought += price.cost
        request = LoggedRequest(
            number=number,
            query=fields["query"].hex(),
            analyst=checksummed(fields["analyst"]),
            block=event.block,
            transaction=event.transaction,
            epsilon=_promise(fields["epsilon"]),
            delta=_promise(fields["delta"]),
            price=price,
            stretch=(start, price.precision if self.reuses else self.bought),
            built_from=tuple(self._latest[source] for source in price.sources),
            edition=fields["edition"],
        )
        # Bridges are computed from the bought points around them, never from other bridges: nothing is built on a bridge.
        if price.case is not Case.BRIDGE:
            if price.precision not in self._latest:
                insort(self._asked, price.precision)
            self._latest[price.precision] = number
        self.naive += price.precision
        self.requests.append(request)
        if request.stretch[1] > self.revealed:
            heappush(self.unanswered, (request.stretch[1], number, request))
        return request

    def _reveal_piece(self, event: Event) -> None:
        """Take the next numbers of a stretch; the answer is known when all of them are."""
        fields = event.fields
        start, end = (from_units(fields[name]) for name in ("start", "end"))
        first, increments = fields["first"], tuple(fields["increments"])
        is_next = first == len(self._pieces) and (not first or end == self._piece_end)
        if start != self.revealed or end <= start or not is_next or first + len(increments) > self.dimension:
            raise Behind
        self.digest = next_digest(self.digest or fields["query"], fields["end"], first, increments)
        self._piece_end, self._pieces = end, self._pieces + increments
        if len(self._pieces) == self.dimension:
            self._reveal(end, self._pieces)
            self._pieces = ()

    def _reveal(self, end: Fraction, increments: Point) -> None:
        before = self.points[-1] if self.points else (0,) * len(increments)
        self.points.append(tuple(a + b for a, b in zip(before, increments, strict=True)))
        self.ends.append(end)
        while self.unanswered and self.unanswered[0][0] <= end:
            heappop(self.unanswered)


def in_edition(events: Iterable[Event], identifier: str, edition: int = 0) -> list[Event]:
    """Return the events of one query in one edition, without its registration."""
    return [
        event
        for event in events
        if event.fields.get("edition") == edition and event.fields["query"].hex() == identifier
    ]


def fold(events: Iterable[Event], *, reuses: bool, dimension: int = 1) -> QueryState:
    """Return the state that results from the events of one query in one edition; ``dimension`` matters only for reveals."""
    state = QueryState(reuses, dimension)
    for event in events:
        state.take(event)
    return state


def _promise(units: int) -> Fraction | None:
    return from_units(units, PROMISE_UNITS) if units else None
