"""A ledger in a contract: the chain holds the budget and the record, the custodian's worker reveals.

Why the promise holds: this side only reads what is public and buys what the contract sells; it neither sees the data nor
draws noise that enters a path. An answer between revealed points is computed here, from public numbers (ledger/public.py).
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from fractions import Fraction
from functools import cached_property
from typing import TypeVar, Unpack

from noiseledger.chain.block import BlockRef
from noiseledger.chain.contract import MAX_BATCH, PrivacyLedgerContract, checksummed
from noiseledger.chain.sender import Receipt, Watch, ignore
from noiseledger.chain.values import Meter, Terms
from noiseledger.chain.values import Request as ContractRequest
from noiseledger.core.access import Access
from noiseledger.core.answer import Answer
from noiseledger.core.budget import Budget
from noiseledger.core.coins import Coins
from noiseledger.core.path import Case, Point, Price, QueryPath, Reveal, natural_values
from noiseledger.core.query import Query
from noiseledger.core.request import Accuracy, Request, read_request
from noiseledger.core.sensitivity import Population, sensitivity
from noiseledger.errors import AllowanceExceeded, AnswerPending, ChainUnreachable, InvalidInput, RpcFailed, UnknownQuery
from noiseledger.ledger.admission import Admission
from noiseledger.ledger.history import Asked, points_of, replay
from noiseledger.ledger.interface import Ledger, Quote, Record
from noiseledger.ledger.public import PublicPath

ANSWER_SECONDS = 120.0
# A local chain answers at once, a real one after several blocks: look soon, then less and less often.
_FIRST_POLL_SECONDS, _LAST_POLL_SECONDS = 0.02, 0.5
_ATTEMPTS = 5

_T = TypeVar("_T")


@dataclass(frozen=True)
class _State:
    """What was known of a query at one block."""

    meter: Meter
    budget: Budget
    points: dict[Fraction, Point]


@dataclass(frozen=True)
class _Wanted:
    """A request, and what was known when it was made."""

    query: Query
    unit: Fraction
    request: Request
    state: _State

    @property
    def contract_request(self) -> ContractRequest:
        return ContractRequest(self.query.identifier, self.request.precision, self.request.epsilon, self.request.delta)


class ChainLedger(Ledger):
    """A published ledger, as an analyst or its custodian sees it."""

    def __init__(
        self,
        contract: PrivacyLedgerContract,
        *,
        record_free: bool = False,
        first_block: int = 0,
        answer_seconds: float = ANSWER_SECONDS,
        watch: Watch = ignore,
        contact: str = "",
    ) -> None:
        """Use a contract; ``record_free`` sends a transaction also for what is free, so that it is on record.

        ``contact`` is how analysts reach the custodian, as the ledger file says it.
        """
        self.contract = contract
        self.watch = watch
        self.contact = contact
        self._record_free = record_free
        self._first_block = first_block
        self._answer_seconds = answer_seconds

    @cached_property
    def terms(self) -> Terms:
        """What is fixed for good."""
        return self.contract.terms()

    @property
    def population(self) -> Population:
        return self.terms.population

    def budget(self) -> Budget:
        return self._budget(self.contract.spent())

    def admission(self) -> Admission:
        """Return who may ask, what this key may still buy, and whom to ask for more."""
        access, analyst = Access.of(self.terms.requires_allowance), self.contract.signer
        needs = access is Access.INVITATION and analyst is not None
        allowance = self.contract.allowance(str(analyst)) if needs else None
        return Admission(access, checksummed(self.contract.custodian()), self.contact, analyst, allowance)

    def queries(self) -> list[Query]:
        """Return the queries that may be asked; what a custodian wrote and nobody can read is none."""
        return self._queries(None)

    def _queries(self, last: BlockRef | None) -> list[Query]:
        events = self.contract.events(["Registered"], first=self._first_block, last=last)
        found = (_readable(event.fields["definition"], self.population) for event in events)
        return [query for query in found if query is not None]

    def add(self, *queries: Query) -> None:
        catalogue = [(query, sensitivity(query, self.population)) for query in queries]
        for query, unit in catalogue:
            if self.contract.meter(query.identifier).dimension == 0:
                self.contract.register(query, unit)

    def quote(self, query: Query, **accuracy: Unpack[Accuracy]) -> Quote:
        wanted = self._wanted(query, accuracy, self._state(query))
        return Quote(query, wanted.unit, self._price(wanted.state, wanted.request.precision), wanted.state.budget)

    def ask_many(self, requests: Sequence[tuple[Query, Accuracy]], *, analyst: str = "") -> list[Answer]:
        """Pay for answers and return them: a hundred requests to a transaction, each of which is all or nothing.

        On a chain the analyst is the key that signs, and a name given is not kept.
        """
        states = {query: self._state(query) for query in dict(requests)}
        wanted = [self._wanted(query, accuracy, states[query]) for query, accuracy in requests]
        paid = [item for item in wanted if self._record_free or self._price(item.state, item.request.precision).cost]
        bought = dict(zip(map(id, paid), self._buy(paid), strict=True))
        ends = [(w.query, bought[id(w)].stretch[1] if id(w) in bought else w.request.precision) for w in wanted]
        paths, budget = self._revealed_paths(ends)
        return [self._answer(item, bought.get(id(item)), paths[item.query], budget) for item in wanted]

    def best(self, query: Query) -> Answer | None:
        unit = sensitivity(query, self.population)

        def read(block: BlockRef) -> Answer | None:
            meter = self._meter(query, block.hash)
            if not meter.revealed:
                return None
            price = Price(meter.revealed, Case.KNOWN, Fraction(0), (meter.revealed,))
            reveal = Reveal(price, self.contract.point(query.identifier, block.hash))
            return Answer(query, unit, reveal, 0, (), self._budget(self.contract.spent(block.hash)))

        return self._at_one_block(read)

    def close(self) -> None:
        self.contract.rpc.close()

    def records(self, after: int = 0) -> Iterator[Record]:
        queries, paths, requests = self._at_one_block(self._read_record)
        spent, times = Fraction(0), dict[int, datetime]()
        for asked in requests:
            spent += asked.cost
            if asked.number > after and asked.query in queries:
                query = queries[asked.query]
                yield self._record(asked, query, paths[asked.query], spent, self._time(asked.block, times))

    def _wanted(self, query: Query, accuracy: Accuracy, state: _State) -> _Wanted:
        unit = sensitivity(query, self.population)
        return _Wanted(query, unit, read_request(unit, **accuracy), state)

    def _state(self, query: Query) -> _State:
        """Read everything at one block, so that nothing contradicts itself."""

        def read(block: BlockRef) -> _State:
            meter = self._meter(query, block.hash)
            return _State(meter, self._budget(self.contract.spent(block.hash)), self._points(query, block))

        return self._at_one_block(read)

    def _at_one_block(self, read: Callable[[BlockRef], _T]) -> _T:
        """Return what is read at the newest block; anew if a node does not know it: nodes and chains change their mind."""
        for attempt in range(1, _ATTEMPTS + 1):
            block = self.contract.newest()
            try:
                return read(block)
            except RpcFailed:
                # Whether the block is there now tells nothing of the node that was asked then, so it is simply tried again.
                if attempt == _ATTEMPTS:
                    raise
        raise AssertionError("unreachable")

    def _read_record(self, block: BlockRef) -> tuple[dict[str, Query], dict[str, PublicPath], list[Asked]]:
        queries = {query.identifier: query for query in self._queries(block)}
        paths = {identifier: self._path(query, block) for identifier, query in queries.items()}
        asked = self.contract.events(["Asked"], first=self._first_block, last=block)
        return queries, paths, list(replay(asked, reuses=self.terms.reuses))

    def _meter(self, query: Query, block: str) -> Meter:
        meter = self.contract.meter(query.identifier, block)
        if meter.dimension == 0:
            raise UnknownQuery(f"The ledger has no query '{query}': its custodian can add it.")
        return meter

    def _price(self, state: _State, precision: Fraction) -> Price:
        """Return the price by what is bought, which may be ahead of what is revealed."""
        if not self.terms.reuses:
            return QueryPath(1).price(precision)
        bought = {state.meter.bought: (0,)} if state.meter.bought else {}
        return QueryPath(1, dict.fromkeys(state.points, (0,)) | bought).price(precision)

    def _buy(self, wanted: Sequence[_Wanted]) -> list[Asked]:
        """Send what must be paid for, and return what the contract made of it, in order."""
        parts = [wanted[first : first + MAX_BATCH] for first in range(0, len(wanted), MAX_BATCH)]
        if not parts:
            return []
        try:
            receipts = self.contract.ask_batches([[item.contract_request for item in part] for part in parts])
        except AllowanceExceeded as refused:
            who = self.contract.sender.address, checksummed(self.contract.custodian()), self.contact
            raise AllowanceExceeded(refused.requested, refused.remaining, *who) from None
        for receipt in receipts:
            self.watch("mined", transaction=receipt.transaction, block=receipt.block)
        receipts, asked = self._read_purchases(receipts, {item.query for item in wanted})
        return [
            next(asked[item.query][receipt.transaction])
            for part, receipt in zip(parts, receipts, strict=True)
            for item in part
        ]

    def _read_purchases(
        self, receipts: list[Receipt], queries: set[Query]
    ) -> tuple[list[Receipt], dict[Query, dict[str, Iterator[Asked]]]]:
        """Return what was asked of each query, by transaction; if the chain changed its mind, after it has them again."""
        for attempt in range(1, _ATTEMPTS + 1):
            newest = max(receipts, key=lambda receipt: receipt.block)
            last = BlockRef(newest.block, newest.block_hash)
            try:
                return receipts, {query: self._asked_in(receipts, query, last) for query in queries}
            except RpcFailed:
                if attempt == _ATTEMPTS:
                    raise
            receipts = self.contract.wait_again(receipts)
        raise AssertionError("unreachable")

    def _asked_in(self, receipts: Sequence[Receipt], query: Query, last: BlockRef) -> dict[str, Iterator[Asked]]:
        """Return what was asked of a query, by transaction, in order."""
        events = self.contract.events(["Asked"], query.identifier, self._first_block, last)
        found: dict[str, list[Asked]] = {receipt.transaction: [] for receipt in receipts}
        for asked in replay(events, reuses=self.terms.reuses):
            found.get(asked.transaction, []).append(asked)
        return {transaction: iter(list_) for transaction, list_ in found.items()}

    def _answer(self, wanted: _Wanted, asked: Asked | None, path: PublicPath, budget: Budget) -> Answer:
        if asked is None:
            precision = wanted.request.precision
            price = QueryPath(1, dict.fromkeys(path.ends, (0,))).price(precision)
            return Answer(wanted.query, wanted.unit, Reveal(price, _revealed(path.point(precision))), 0, (), budget)
        sources = self._price(wanted.state, asked.precision).sources
        price = Price(asked.precision, asked.case, asked.cost, sources)
        reveal = Reveal(price, _revealed(path.answer(asked)))
        place = asked.transaction, asked.block
        return Answer(wanted.query, wanted.unit, reveal, asked.number, asked.built_from, budget, *place)

    def _revealed_paths(self, ends: Sequence[tuple[Query, Fraction]]) -> tuple[dict[Query, PublicPath], Budget]:
        """Wait until each query is revealed so far, and return the paths; whoever stops waiting has lost nothing."""
        give_up = time.monotonic() + self._answer_seconds
        pause = _FIRST_POLL_SECONDS
        while True:
            meters = self.contract.meters([query.identifier for query, _ in ends])
            waiting = sum(meter.revealed < end for meter, (_, end) in zip(meters, ends, strict=True))
            self.watch("revealed", answered=len(ends) - waiting, asked=len(ends))
            # This was whatever block is the newest. What is returned is of one block, where it must be true as well.
            found = None if waiting else self._at_one_block(lambda block: self._read_paths(ends, block))
            if found is not None:
                return found
            if time.monotonic() > give_up:
                raise AnswerPending(
                    f"The answer is bought, but the custodian's worker has not revealed it within "
                    f"{self._answer_seconds:g} seconds. Nothing is lost: ask the same again later, it is free."
                )
            time.sleep(pause)
            pause = min(pause * 1.5, _LAST_POLL_SECONDS)

    def _read_paths(
        self, ends: Sequence[tuple[Query, Fraction]], block: BlockRef
    ) -> tuple[dict[Query, PublicPath], Budget] | None:
        """Return paths and budget at a block; None if a path does not go so far there."""
        # A node may show what a block has changed a moment before it shows its events.
        paths = {query: self._path(query, block) for query, _ in ends}
        if any(paths[query].furthest < end for query, end in ends):
            return None
        return paths, self._budget(self.contract.spent(block.hash))

    def _path(self, query: Query, last: BlockRef) -> PublicPath:
        points = self._points(query, last)
        coins = Coins(self.contract.rpc.chain_id, self.contract.address, query.identifier)
        return PublicPath(coins, list(points), list(points.values()))

    def _points(self, query: Query, last: BlockRef) -> dict[Fraction, Point]:
        events = self.contract.events(["Revealed"], query.identifier, self._first_block, last)
        return points_of(events, query.dimension)

    def _budget(self, spent: Fraction) -> Budget:
        return Budget(self.terms.epsilon, self.terms.delta, self.terms.budget, spent)

    def _record(self, asked: Asked, query: Query, path: PublicPath, spent: Fraction, asked_at: datetime) -> Record:
        point = path.answer(asked)
        scale = sensitivity(query, self.population) / asked.precision
        return Record(
            number=asked.number,
            query=query,
            analyst=asked.analyst,
            asked_at=asked_at,
            epsilon=asked.epsilon,
            delta=asked.delta,
            precision=asked.precision,
            case=asked.case,
            cost=asked.cost,
            values=() if point is None else natural_values(point, scale),
            built_from=asked.built_from,
            spent=spent,
            transaction=asked.transaction,
            block=asked.block,
        )

    def _time(self, block: int, known: dict[int, datetime]) -> datetime:
        if block not in known:
            # By number: on another fork a block of that number was made at about the same time.
            found = self.contract.rpc.call("eth_getBlockByNumber", hex(block), False)
            if found is None:
                raise ChainUnreachable(f"The endpoint does not have block {block} any more: try again.")
            known[block] = datetime.fromtimestamp(int(found["timestamp"], 16), UTC)
        return known[block]


def _readable(definition: str, population: Population) -> Query | None:
    try:
        query = Query.parse(definition)
        sensitivity(query, population)
    except InvalidInput:
        return None
    return query


def _revealed(point: Point | None) -> Point:
    if point is None:
        raise AssertionError("a path is waited for until it is revealed so far")
    return point
