"""Buy answers on a chain: send the paid requests, and wait until the custodian's worker has revealed the answers.

Why the promise holds: the contract sets prices and refuses requests; this module only sends them. An analyst who stops waiting
loses nothing: a bought answer is public and free as soon as it is revealed.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from fractions import Fraction

from noiseledger.chain.block import BlockRef
from noiseledger.chain.contract import MAX_BATCH, PrivacyLedgerContract, checksummed
from noiseledger.chain.sender import Receipt
from noiseledger.core.answer import Answer
from noiseledger.core.path import Point, Reveal
from noiseledger.core.query import Query
from noiseledger.core.request import Request
from noiseledger.core.zone_budget import ZoneBudget
from noiseledger.errors import AllowanceExceeded, AnswerOverdue, AnswerPending, ChainError, RpcFailed
from noiseledger.ledger.bringing import Bringer
from noiseledger.ledger.interface import Quote, at_its_best
from noiseledger.ledger.pending import PendingAnswers
from noiseledger.ledger.query_state import Behind, LoggedRequest, QueryState
from noiseledger.ledger.reading import ChainReader, ChainReading
from noiseledger.progress import Listener, Mined, Revealed

# A local chain answers at once, a real one after several blocks: poll soon, then less and less often.
_FIRST_POLL_SECONDS, _LAST_POLL_SECONDS = 0.02, 0.5
#: How long to wait for a chain that was reorganised to contain the purchases again, before each new attempt to read them.
_AGAIN_SECONDS = (0.02, 0.04, 0.08, 0.16)


class Buyer:
    """Buys answers and waits for those that are not public yet."""

    def __init__(
        self,
        contract: PrivacyLedgerContract,
        reader: ChainReader,
        listener: Listener,
        seconds: float,
        contact: str,
        bringer: Bringer | None = None,
    ) -> None:
        """Buy from a contract, and wait at most ``seconds``; ``contact`` is how analysts reach the custodian.

        With a ``bringer``, requests are signed and brought to the chain; without one, they are sent as transactions.
        """
        self._bringer = bringer
        self._contract = contract
        self._reader = reader
        self._notify = listener
        self._seconds = seconds
        self._contact = contact
        self._answers = PendingAnswers(contract, reader.first_block, reader.terms.reuses, contact)

    def get(
        self, quotes: Sequence[Quote], must_send: Sequence[bool], known: ChainReading, *, exact_noise: bool
    ) -> tuple[list[Answer], ZoneBudget]:
        """Return answers in order, and the budget after them: buy those that must be sent, and wait for all.

        Somebody has already bought the others.

        ``known`` is the state of their queries, as it was read before. Nothing is bought for more than its quote.
        """
        sent = [quote for quote, sends in zip(quotes, must_send, strict=True) if sends]
        self.check_sold({quote.query: known.states[quote.query] for quote in sent})
        bought = iter(self._buy(sent))
        purchases = [next(bought) if sends else None for sends in must_send]
        asked = list(zip([quote.request for quote in quotes], purchases, strict=True))
        reading = self._wait(
            [(item.query, purchase.stretch[1] if purchase else item.precision) for item, purchase in asked]
        )
        if exact_noise:
            answers = [self._answer(item, purchase, reading) for item, purchase in asked]
        else:
            answers = [self._best(item, purchase, reading) for item, purchase in asked]
        return answers, reading.zone_budget

    def overdue(self, ahead: Sequence[tuple[str, Fraction]], *, alone: bool) -> AnswerOverdue | None:
        """Return why no more of some queries, each revealed so far, is bought: an earlier purchase is overdue."""
        return self._answers.overdue(ahead, alone=alone)

    def check_sold(self, states: Mapping[Query, QueryState]) -> None:
        """Refuse queries of which an earlier purchase is overdue."""
        ahead = [(query.identifier, state.revealed) for query, state in states.items() if state.is_ahead]
        late = self.overdue(ahead, alone=len(states) == 1)
        if late is not None:
            raise late

    def _buy(self, quotes: Sequence[Quote]) -> list[LoggedRequest | None]:
        """Send requests, and return the resulting purchases, in order; None where somebody else was faster."""
        portions = [quotes[first : first + MAX_BATCH] for first in range(0, len(quotes), MAX_BATCH)]
        if not portions:
            return []
        parts = [[quote.request for quote in portion] for portion in portions]
        limits = [sum((quote.price.cost for quote in portion), Fraction(0)) for portion in portions]
        try:
            receipts = self._send(list(zip(parts, limits, strict=True)))
        except AllowanceExceeded as refused:
            who = self._contract.sender.address, checksummed(self._contract.custodian()), self._contact
            raise AllowanceExceeded(refused.requested, refused.remaining, *who) from None
        for receipt in filter(None, receipts):
            self._notify(Mined(receipt.transaction, receipt.block))
        both = list(zip(receipts, parts, strict=True))
        sent = [(receipt, part) for receipt, part in both if receipt is not None]
        purchases = iter(self._read_purchases([receipt for receipt, _ in sent], [part for _, part in sent]))
        return [next(purchases) if receipt else None for receipt, part in both for _ in part]

    def _send(self, batches: list[tuple[Sequence[Request], Fraction]]) -> list[Receipt | None]:
        if self._bringer is None:
            return [*self._contract.ask_batches(batches)]
        return self._bringer.buy(self._contract, batches, self._notify, self._contact)

    def _read_purchases(self, receipts: list[Receipt], parts: Sequence[Sequence[Request]]) -> list[LoggedRequest]:
        """Return the purchases; after a reorganisation, wait until the transactions are on the chain again."""
        if not receipts:
            return []
        for pause in _AGAIN_SECONDS:
            with suppress(RpcFailed, Behind):
                return self._purchases_in(receipts, parts)
            time.sleep(pause)
            receipts = self._contract.wait_again(receipts)
        return self._purchases_in(receipts, parts)

    def _purchases_in(self, receipts: Sequence[Receipt], parts: Sequence[Sequence[Request]]) -> list[LoggedRequest]:
        last = max(
            (BlockRef(receipt.block, receipt.block_hash) for receipt in receipts), key=lambda block: block.number
        )
        queries = list(dict.fromkeys(item.query for part in parts for item in part))
        states = self._reader.read_at(last, queries, ["Asked"]).states
        found = {
            (receipt.transaction, query): [p for p in states[query].requests if p.transaction == receipt.transaction]
            for receipt in receipts
            for query in queries
        }
        # Each list is in the order of the transaction, so the first request is the first purchase.
        purchases = []
        for receipt, part in zip(receipts, parts, strict=True):
            for item in part:
                left = found[receipt.transaction, item.query]
                if not left:
                    raise RpcFailed("eth_getLogs", f"the node does not have all events of {receipt.transaction}", None)
                # Another precision is only right where the contract has rounded a purchase up.
                if left[0].precision != item.precision and left[0].cost != self._reader.terms.smallest:
                    raise Behind
                purchases.append(left.pop(0))
        return purchases

    def _wait(self, ends: Sequence[tuple[Query, Fraction]]) -> ChainReading:
        """Wait until each query is revealed up to its precision, and return them; stopping early loses nothing."""
        give_up = time.monotonic() + self._seconds
        pause = _FIRST_POLL_SECONDS
        while True:
            reading = self._look(ends)
            if reading is not None:
                return reading
            if time.monotonic() > give_up:
                raise self._pending(ends)
            time.sleep(pause)
            pause = min(pause * 1.5, _LAST_POLL_SECONDS)

    def _pending(self, ends: Sequence[tuple[Query, Fraction]]) -> AnswerPending:
        """Return the error for an analyst who has waited as long as they wanted to."""
        try:
            meters = self._contract.meters([query.identifier for query, _ in ends])
        except ChainError:
            return self._answers.error([], self._seconds)
        found = zip(ends, meters, strict=True)
        waiting = {query.identifier: meter.revealed for (query, end), meter in found if meter.revealed < end}
        return self._answers.error(list(waiting.items()), self._seconds)

    def _look(self, ends: Sequence[tuple[Query, Fraction]]) -> ChainReading | None:
        """Return the queries if each is revealed so far; None if not, or if a node refuses to say: then we look again."""
        try:
            meters = self._contract.meters([query.identifier for query, _ in ends])
            waiting = sum(meter.revealed < end for meter, (_, end) in zip(meters, ends, strict=True))
            self._notify(Revealed(answered=len(ends) - waiting, asked=len(ends)))
            # This was at the newest block of some node. The reading is of one block, where it must be true as well.
            return None if waiting else self._reader.at_newest(lambda block: self._read_if_revealed(ends, block))
        except RpcFailed:
            return None

    def _read_if_revealed(self, ends: Sequence[tuple[Query, Fraction]], block: BlockRef) -> ChainReading | None:
        """Return the queries at a block; None if one of them is not revealed far enough there."""
        try:
            reading = self._reader.read_at(block, list(dict(ends)), ["Revealed"])
        except Behind:
            return None  # a node may show the new state of a block a moment before its events
        return None if any(reading.states[query].revealed < end for query, end in ends) else reading

    def _best(self, request: Request, purchase: LoggedRequest | None, reading: ChainReading) -> Answer:
        """Return the best public answer: with the price of the purchase or, where others have bought it, for free."""
        best = reading.best(request)
        if purchase is None and best is not None:
            return best
        return at_its_best(self._answer(request, purchase, reading), best)

    def _answer(self, request: Request, purchase: LoggedRequest | None, reading: ChainReading) -> Answer:
        state, unit, budget = reading.states[request.query], request.sensitivity, reading.budget_of(request.query)
        path = self._reader.path(request.query, state)
        if purchase is None:
            reveal = Reveal(reading.price(request), _revealed(path.point(request.precision)))
            return Answer(request.query, unit, reveal, 0, (), budget, population=reading.population)
        reveal = Reveal(purchase.price, _revealed(path.answer(purchase)))
        found = purchase.transaction, purchase.block, reading.population
        return Answer(request.query, unit, reveal, purchase.number, purchase.built_from, budget, *found)


def _revealed(point: Point | None) -> Point:
    if point is None:
        raise AssertionError("the path must be revealed up to this precision after waiting")
    return point
