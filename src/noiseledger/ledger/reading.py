"""Read selected queries of a ledger on a chain, all at one block, so that the results are consistent.

Why nothing false is shown: the contract's state is requested by the hash of the block, events are requested together with
that block in one exchange, and events count only if they add up to what the contract stores: requests to the amount that is
bought, reveals to the point.
Why nothing is bought by mistake: a query is read only if the custodian has registered it with the dimension and the sensitivity
that follow from its definition, so a price and an error bar mean what they say.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TypeVar

from noiseledger.chain.block import BlockRef
from noiseledger.chain.contract import MAX_STORED, PrivacyLedgerContract
from noiseledger.chain.values import Event, Meter, Piece, Terms
from noiseledger.core.answer import Answer
from noiseledger.core.budget import Budget
from noiseledger.core.filters.cells import Mask
from noiseledger.core.path import Point, Price
from noiseledger.core.query import Query
from noiseledger.core.request import Request
from noiseledger.core.sensitivity import Population
from noiseledger.core.zone_budget import ZoneBudget
from noiseledger.core.zones import Zones
from noiseledger.errors import ChainMismatch, RpcFailed, UnknownQuery
from noiseledger.ledger.interface import Quote, unknown_query
from noiseledger.ledger.public import PublicPath
from noiseledger.ledger.query_state import Behind, QueryState, fold, in_edition
from noiseledger.ledger.state import Registered

_ATTEMPTS = 5
#: A node may show the events of a block a moment after its new state.
_FIRST_PAUSE_SECONDS = 0.02

_T = TypeVar("_T")


@dataclass(frozen=True)
class ChainReading:
    """Some queries of a ledger at one block."""

    block: BlockRef
    #: What each zone has spent, and the zones that each query reaches.
    zone_budget: ZoneBudget
    reaches: dict[Query, Mask]
    states: dict[Query, QueryState]
    terms: Terms

    @property
    def population(self) -> Population:
        """The public facts about the dataset."""
        return self.terms.population

    @property
    def budget(self) -> Budget:
        """The budget of the zone that has spent most."""
        return self.zone_budget.whole

    def budget_of(self, query: Query) -> Budget:
        """The budget of the zone with the least left of those that a query reaches."""
        return self.zone_budget.reached(self.reaches[query])

    def price(self, request: Request) -> Price:
        """Return the price of a request."""
        return self.states[request.query].price(request.precision, self.terms.smallest)

    def quote(self, request: Request) -> Quote:
        """Return the price of a request on its own, with the best public answer if it is accurate enough."""
        return self.states[request.query].quote(request, self.zone_budget, self.reaches[request.query], self.terms)

    def best(self, request: Request) -> Answer | None:
        """Return the best public answer to a request."""
        budget = self.budget_of(request.query)
        return self.states[request.query].best(request.query, request.sensitivity, budget, self.population)


class ChainReader:
    """Reads selected queries of a ledger, all at one block, so that the results are consistent."""

    def __init__(
        self, contract: PrivacyLedgerContract, sensitivity: Callable[[Query], Fraction], first_block: int = 0
    ) -> None:
        """Read a contract whose events begin at ``first_block``; ``sensitivity`` returns that of a query in its population."""
        self.contract = contract
        self.first_block = first_block
        self._sensitivity = sensitivity
        #: The queries whose registration was read and is right, each with what was read.
        self._registered: dict[Query, Registered] = {}
        self._zones: Zones | None = Zones.ONE if contract.first_terms.zones == 1 else None

    @property
    def terms(self) -> Terms:
        """The terms of the ledger, which never change."""
        return self.contract.first_terms

    def read(self, queries: Iterable[Query], names: Sequence[str] = ()) -> ChainReading:
        """Return queries at the newest block, folded from their events with these names."""
        wanted = list(queries)
        return self.at_newest(lambda block: self.read_at(block, wanted, names))

    def at_newest(self, read: Callable[[BlockRef], _T]) -> _T:
        """Return what ``read`` returns at the newest block; read again if a node does not know that block."""
        return self.again(lambda: read(self.contract.newest()))

    def again(self, read: Callable[[], _T]) -> _T:
        """Return what ``read`` returns; retry a few times if a node refuses, because nodes lag and chains reorganise."""
        pause = _FIRST_PAUSE_SECONDS
        for attempt in range(1, _ATTEMPTS + 1):
            try:
                return read()
            except RpcFailed:
                # Whether the block exists now says nothing about the node that was called before, so simply try again.
                if attempt == _ATTEMPTS:
                    raise
            except Behind:
                if attempt == _ATTEMPTS:
                    raise ChainMismatch(
                        f"The events from block {self.first_block} on do not add up to what the contract stores: check the "
                        "first block in the ledger file, and that the endpoint keeps old events."
                    ) from None
                time.sleep(pause)
                pause *= 2
        raise AssertionError("unreachable")

    def read_at(self, block: BlockRef, queries: Sequence[Query], names: Sequence[str]) -> ChainReading:
        """Return queries at a block; raise ``Behind`` if their events do not add up to what the contract stores."""
        identifiers = [query.identifier for query in queries]
        # With other events it costs no exchange of its own, and is read again: it may have changed with a reorganisation.
        is_new = bool(names) or not self._registered.keys() >= set(queries)
        # The contract does not store large answers, so they are read from what was revealed of them.
        large = ["RevealedPiece"] if any(query.dimension > MAX_STORED for query in queries) else []
        wanted = [*(["Registered"] if is_new else []), *names, *large]
        found = self.contract.holding(identifiers, block, wanted, self.first_block)
        pieces: Sequence[Piece | None] = found.pieces or [None] * len(queries)
        entries = {entry.identifier: entry for entry in map(Registered.of, _of(found.events, "Registered"))}
        states = {}
        for query, meter, point, piece in zip(queries, found.meters, found.points, pieces, strict=True):
            if meter.dimension == 0:
                raise unknown_query(query)
            if is_new:
                self._check(query, meter, entries.get(query.identifier))
            state = fold(
                in_edition(found.events, query.identifier), reuses=self.terms.reuses, dimension=meter.dimension
            )
            if piece is not None and meter.dimension > MAX_STORED:
                states[query] = _checked_pieces(state, meter, piece, query, names)
            else:
                states[query] = _checked(state, meter, point, names)
        reaches = {query: self._registered[query].reach for query in queries}
        return ChainReading(block, self.zone_budget(found.spent), reaches, states, self.terms)

    def _check(self, query: Query, meter: Meter, entry: Registered | None) -> None:
        """Refuse a query that the custodian registered as something else than it is."""
        if entry is None or (entry.definition, entry.dimension) != (query.canonical, meter.dimension):
            raise Behind
        if self._registered.get(query) == entry:
            return  # read again, and still the same
        # The definition is this query's own text, so it is not parsed a second time; only a mismatch is looked at more closely.
        is_beyond = self.zones().reach_mask(query) & ~entry.reach
        if is_beyond or (entry.dimension, entry.sensitivity) != (query.dimension, self._sensitivity(query)):
            problem = entry.problem(self.terms.population, self.zones())
            raise UnknownQuery(f"The ledger's entry for '{query}' cannot be used, and nothing was spent: {problem}")
        self._registered[query] = entry

    def zones(self) -> Zones:
        """Return the zones of the ledger, which never change; they are read once."""
        if self._zones is None:
            self._zones = published_zones(self.contract.events(["Published"], first=self.first_block), self.terms)
        return self._zones

    def zone_budget(self, spent: tuple[Fraction, ...]) -> ZoneBudget:
        """Return the budget with these amounts spent, one for each zone."""
        return ZoneBudget(Budget(self.terms.epsilon, self.terms.delta, self.terms.budget), spent)

    def path(self, query: Query, state: QueryState) -> PublicPath:
        """Return the public part of a query's path."""
        return PublicPath.of(self.contract.rpc.chain_id, self.contract.address, query, state)


def is_stored(contract: PrivacyLedgerContract, query: Query, state: QueryState, block: str) -> bool:
    """Return whether the contract stores what was folded from a query's reveals: the point, or the hash of a large answer."""
    if query.dimension > MAX_STORED:
        (piece,) = contract.pieces([query.identifier], block)
        return state.fits(piece, query.identifier)
    return not state.points or state.points[-1] == contract.point(query.identifier, block)


def published_zones(events: Iterable[Event], terms: Terms) -> Zones:
    """Return the zones of a ledger from its events; raise ``Behind`` if the first of them is missing."""
    text = next((event.fields["zone_list"] for event in _of(events, "Published")), None)
    if text is None or hashlib.sha256(text.encode()).digest() != terms.zone_list:
        raise Behind
    zones = Zones.parse(text)
    if zones.count != terms.zones:
        raise ChainMismatch(
            f"The ledger was published with {terms.zones} zones and a list of {zones.count}, so nothing can be read from it: "
            "tell its custodian."
        )
    return zones


def _of(events: Iterable[Event], name: str) -> Iterator[Event]:
    return (event for event in events if event.name == name)


def _checked(state: QueryState, meter: Meter, point: Point, names: Sequence[str]) -> QueryState:
    """Return a state after checking what was folded against the contract: how far the query is bought, and its last point."""
    if "Revealed" not in names and meter.revealed:
        state.ends, state.points = [meter.revealed], [point]
    if state.revealed != meter.revealed or (state.ends and state.points[-1] != point):
        raise Behind
    return _with_bought(state, meter, names)


def _checked_pieces(state: QueryState, meter: Meter, piece: Piece, query: Query, names: Sequence[str]) -> QueryState:
    """Return the state of a large answer after checking it against the contract, which has a hash over all of it."""
    if state.revealed != meter.revealed or not state.fits(piece, query.identifier):
        raise Behind
    return _with_bought(state, meter, names)


def _with_bought(state: QueryState, meter: Meter, names: Sequence[str]) -> QueryState:
    if "Asked" in names and state.bought != meter.bought:
        raise Behind
    state.bought = meter.bought
    return state
