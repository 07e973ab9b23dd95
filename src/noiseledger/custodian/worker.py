"""Answer what analysts buy: draw, write down, send.

Why the promise holds: every increment is the difference of two points of a path in the journal, which is durable before
anything is sent and never holds two values for one point; so a crash, a retry, a second process or a reorganised chain can
only lead to the same bytes again. The journal charges its own budget for what it draws: contract and worker are two
guards, and either alone is enough.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction

from noiseledger.chain.contract import MAX_BATCH, MAX_COORDINATES, Block, PrivacyLedgerContract
from noiseledger.chain.sender import Receipt
from noiseledger.chain.values import Meter, Reveal
from noiseledger.core.query import Query
from noiseledger.errors import BudgetExceeded, DataMismatch
from noiseledger.ledger.history import replay
from noiseledger.ledger.local import LocalLedger


@dataclass(frozen=True)
class Stretch:
    """Part of a query's path that is bought and not yet revealed."""

    query: Query
    start: Fraction
    end: Fraction


@dataclass(frozen=True)
class Step:
    """What one step did: the receipts of what was revealed, and what the journal's own budget could not bear."""

    receipts: list[Receipt]
    #: By the query's identifier.
    refused: dict[str, BudgetExceeded]


class Worker:
    """Reveals what is bought on one ledger, from one journal."""

    def __init__(self, contract: PrivacyLedgerContract, journal: LocalLedger, head: Block = "finalized") -> None:
        """Follow the chain up to ``head``: what is bought in later blocks may still be undone, and waits."""
        self._contract = contract
        self._journal = journal
        self._head = head
        self._reuses = contract.terms().reuses

    def step(self) -> Step:
        """Reveal everything that is bought by now, as far as the journal's own budget bears it."""
        drawn: list[Reveal] = []
        refused: dict[str, BudgetExceeded] = {}
        for stretch in self.pending():
            identifier = stretch.query.identifier
            if identifier in refused:
                continue  # a path has no second stretch without the first
            try:
                drawn.append(self._draw(stretch))
            except BudgetExceeded as error:
                # The second guard: the chain has forgotten what was released before, and the journal has not.
                refused[identifier] = error
        return Step([self._contract.reveal(batch) for batch in batches(drawn)], refused)

    def pending(self) -> list[Stretch]:
        """Return what is bought at the head and not revealed in the newest block."""
        queries = self._journal.queries()
        identifiers = [query.identifier for query in queries]
        newest = self._contract.rpc.call("eth_getBlockByNumber", "latest", False)["hash"]
        bought, now = self._contract.meters(identifiers, self._head), self._contract.meters(identifiers, newest)
        found = list(zip(queries, bought, now, strict=True))
        self._check_points([(query, latest.revealed) for query, _, latest in found if latest.revealed], newest)
        return [stretch for query, then, latest in found for stretch in self._stretches(query, then, latest)]

    def _check_points(self, revealed: Sequence[tuple[Query, Fraction]], block: Block) -> None:
        """Refuse to go on from a path that is not the journal's."""
        points = self._contract.points([query.identifier for query, _ in revealed], block)
        for (query, precision), point in zip(revealed, points, strict=True):
            if self._journal.known_point(query, precision) != point:
                raise DataMismatch(
                    f"The chain's answer to '{query}' is not the one in the journal: this is not the journal of the "
                    "ledger, or an old copy of it. Nothing is answered."
                )

    def _stretches(self, query: Query, bought: Meter, now: Meter) -> Iterator[Stretch]:
        # After a reorganisation the newest block may know less than the head did; what it has not sold is not revealed.
        start, end = now.revealed, min(bought.bought, now.bought)
        for stop in self._stops(query, start, end) if start < end else ():
            yield Stretch(query, start, stop)
            start = stop

    def _stops(self, query: Query, start: Fraction, end: Fraction) -> list[Fraction]:
        """Return where to stop on the way: at the end, and without reuse after each request, which has its own stretch."""
        if self._reuses:
            return [end]
        asked = replay(self._contract.events(["Asked"], query.identifier), reuses=False)
        return sorted({request.stretch[1] for request in asked if start < request.stretch[1] <= end})

    def _draw(self, stretch: Stretch) -> Reveal:
        """Return the increment over a stretch; both its ends are in the journal, durably, before it leaves here."""
        end = self._journal.ask(stretch.query, precision=stretch.end, analyst="worker").reveal.point
        start = self._journal.known_point(stretch.query, stretch.start) if stretch.start else (0,) * len(end)
        if start is None:
            raise DataMismatch(
                f"The journal does not know where the path of '{stretch.query}' ends. Nothing is answered."
            )
        increments = tuple(b - a for a, b in zip(start, end, strict=True))
        return Reveal(stretch.query.identifier, stretch.start, stretch.end, increments)


def batches(reveals: Sequence[Reveal]) -> Iterator[list[Reveal]]:
    """Cut reveals into transactions that the contract takes."""
    batch: list[Reveal] = []
    coordinates = 0
    for reveal in reveals:
        dimension = len(reveal.increments)
        if batch and (len(batch) == MAX_BATCH or coordinates + dimension > MAX_COORDINATES):
            yield batch
            batch, coordinates = [], 0
        batch.append(reveal)
        coordinates += dimension
    if batch:
        yield batch
