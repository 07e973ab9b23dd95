"""Answer what analysts buy. Each step reads the chain, draws, writes the journal, signs, sends and confirms.

Why the promise holds: every increment is the difference of two points of a path in the journal, which is durable before
anything is sent and never contains two values for one point; so a crash, a retry, a second process or a reorganised chain can
only lead to the same bytes again. The journal charges its own budget for what it draws: contract and worker both enforce the
budget, and either alone is enough.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from fractions import Fraction

from noiseledger.chain.block import BlockId
from noiseledger.chain.contract import MAX_BATCH, MAX_COORDINATES, PrivacyLedgerContract
from noiseledger.chain.heads import none_there
from noiseledger.chain.node_errors import concerns_the_call
from noiseledger.chain.sender import Receipt
from noiseledger.chain.values import ContractReveal, Terms
from noiseledger.core.filters.cells import Mask
from noiseledger.core.path import Point
from noiseledger.core.query import Query
from noiseledger.custodian.backlog import Backlog
from noiseledger.custodian.closed import still_sold
from noiseledger.custodian.current import check_begun, is_late
from noiseledger.custodian.custody import check_zones
from noiseledger.custodian.journal import Journal
from noiseledger.custodian.spending import Spending
from noiseledger.custodian.tables import Tables, split
from noiseledger.custodian.view import ByZone, View, Views
from noiseledger.errors import (
    BudgetExceeded,
    ChainError,
    DataUnavailable,
    InvalidInput,
    LedgerRefused,
    NoiseledgerError,
    QueryClosed,
    RpcFailed,
    UnknownQuery,
)
from noiseledger.ledger.query_state import Behind, fold, in_edition
from noiseledger.progress import (
    ClosedQueries,
    Confirmed,
    Drawn,
    Listener,
    Looked,
    ProgressEvent,
    Refused,
    RevealedStretch,
    TransactionReplaced,
    TransactionSent,
    Waiting,
    ignore,
)

#: How long one step waits for a block; the next step continues to wait for pending transactions.
CONFIRM_SECONDS = 30.0
#: How long a pending transaction of an earlier worker process may wait before it is replaced.
PATIENCE_SECONDS = 30.0

_LEFT_BEHIND = (
    "A transaction of this key, sent by another process, is not mined yet; it will be replaced if it is not mined soon."
)

# A newer copy of this journal may have sent it, and what that copy drew must not be drawn again. Once the transaction is
# mined, the points on the chain show whether this is the case.
_UNKNOWN = (
    "A transaction of this key that the journal does not contain is not mined yet, so nothing is drawn. If another program "
    "of yours sent it, wait or replace it there; if this journal is an old copy, run: noiseledger recover."
)

_NOT_IN_JOURNAL = (
    "It is registered and was bought, but the journal does not contain it. Write it into the catalogue and run: noiseledger "
    "publish. If this journal is an old copy, run: noiseledger recover."
)

_TOO_FEW_ZONES = (
    "It is registered with fewer zones than it reaches by its definition, so the ledger charges it to too few of them. What is "
    "registered cannot be changed: pause its sales, and tell whoever has bought it."
)

#: Errors that concern one query only; all others concern the ledger, the journal or the chain as a whole.
_OF_ONE_QUERY = (BudgetExceeded, QueryClosed, UnknownQuery, InvalidInput, DataUnavailable)
_REVERTED = (LedgerRefused, UnknownQuery, InvalidInput, BudgetExceeded)


@dataclass(frozen=True)
class Stretch:
    """A part of a query's path that is bought and not yet revealed."""

    query: Query
    start: Fraction
    end: Fraction


@dataclass(frozen=True)
class Step:
    """The result of one step: the receipts of its reveals, and what could not be answered."""

    receipts: list[Receipt] = field(default_factory=list)
    #: The reasons why queries are not answered, by identifier.
    refused: dict[str, NoiseledgerError] = field(default_factory=dict)


class Worker:
    """Reveals the purchases on one ledger, from one journal."""

    def __init__(
        self,
        contract: PrivacyLedgerContract,
        journal: Journal,
        head: BlockId = "finalized",
        *,
        terms: Terms | None = None,
        listener: Listener = ignore,
        patience: float = PATIENCE_SECONDS,
        first_block: int = 0,
        spending: Spending | None = None,
    ) -> None:
        """Follow the chain up to ``head``: purchases in later blocks may still be undone, so they wait.

        It is "finalized", "safe", "latest", or a number of blocks behind the newest, such as "latest-3".

        ``terms`` are the terms against which data and journal were checked; ``listener`` is notified of every step.
        The ledger's events begin at ``first_block``. ``spending`` limits what is spent on fees; by default, nothing does.
        """
        journal.commit_often()
        self._spending = spending or Spending(journal)
        self._contract = contract
        self._journal = journal
        self._head = head
        self._terms = contract.terms() if terms is None else terms
        check_zones(journal, self._terms)
        self._notify = listener
        self._patience = patience
        self._left_behind: tuple[int, float] | None = None
        #: The points of the chain that the journal has, as of this version of it.
        self._checked: dict[Query, tuple[Fraction, Point]] = {}
        self._checked_version: int | None = None
        self._first_block = first_block
        self._views = Views(contract, self._terms, head)
        self._tables = Tables(contract, first_block)
        #: The zones that queries reach by their definitions.
        self._reaches: dict[Query, Mask] = {}
        self._backlog = Backlog(contract, self._terms, first_block)
        #: The queries that are sold and not in the journal, as of this much spent and this many queries in the journal.
        self._unknown: dict[str, Fraction] = {}
        self._unknown_at: tuple[ByZone, int] | None = None
        #: The closed queries, and what was last said about them.
        self._closed = tuple(journal.closed())
        self._closed_said = ClosedQueries((), ())

    def step(self) -> Step:
        """Reveal everything that is bought by now, as far as the journal's own budget allows."""
        step = Step()
        view = self.look()
        if self._confirm_what_is_in_flight(step):
            view = self.look()
        for identifier in self._unknown:
            self._refuse(identifier, UnknownQuery(_NOT_IN_JOURNAL), step)
        if view.head is None:
            # Nothing counts as bought, so nothing is drawn below; the custodian should be told.
            self._notify(Waiting("NoHead", none_there(self._head)))
        if view.pending > max(view.mined, self._journal.sent_nonces(self._contract.sender.address)):
            self._notify(Waiting("Unknown", _UNKNOWN, view.mined))
            return step
        nonce = self._place(view)
        if nonce is None and view.pending > view.mined:
            self._notify(Waiting("LeftBehind", _LEFT_BEHIND, view.mined))
            return step
        pending = [stretch for stretch in self._pending(view) if self._is_charged(stretch.query, view, step)]
        waits = self._spending.limit_reached() if pending else None
        if waits := waits or self._spending.still_gathering(bool(pending)):
            self._notify(waits)
            return step
        # The nonce that the first transaction will have; if another one is needed after all, it is stored by itself.
        until = 1 + (view.pending if nonce is None else nonce)
        done = {query.identifier: piece.done for query, piece in view.pieces.items()}
        for batch in batches(self._draw_all(pending, step, until), done):
            if waits := self._spending.limit_reached():
                self._notify(waits)
                return step
            self._settle(batch, step, nonce)
            nonce = None
        self._spending.revealed()
        return step

    def look(self) -> View:
        """Read the chain; refuse another ledger, another worker's key, and points that are not in the journal."""
        view = self._views.next(self._journal.queries())
        head = None if view.head is None else view.head.number
        self._find_unknown(view)
        due = self._backlog.update(view.due | self._unknown)
        waiting = len(view.waiting) + len(self._unknown)
        self._notify(Looked(view.newest.number, head, view.balance, waiting, due))
        self._check_points(view)
        self._report_closed()
        return view

    def _report_closed(self) -> None:
        """Say which queries are closed and which of them are still sold, whenever that changes: the custodian must stop it."""
        found = ClosedQueries(self._closed, tuple(still_sold(self._contract, self._closed)))
        if found != self._closed_said:
            self._closed_said = found
            self._notify(found)

    def _find_unknown(self, view: View) -> None:
        """Find the queries that are sold and not in the journal; it is never drawn for them, but the custodian must know."""
        if view.is_complete:
            self._unknown, self._unknown_at = {}, None
            return
        if self._unknown_at == (view.spent, len(view.now)):
            return
        # If a node does not return old events, the other queries are answered all the same.
        with suppress(ChainError):
            known = {query.identifier for query in view.now}
            events = self._contract.events(["Registered"], first=self._first_block, last=view.newest)
            others = [name for event in events if (name := event.fields["query"].hex()) not in known]
            meters = zip(others, self._contract.meters(others, view.newest.hash), strict=True)
            self._unknown = {name: meter.revealed for name, meter in meters if meter.revealed < meter.bought}
            self._unknown_at = view.spent, len(view.now)

    def pending(self) -> list[Stretch]:
        """Return the stretches that are bought at the head and not revealed in the newest block."""
        return self._pending(self.look())

    def _pending(self, view: View) -> list[Stretch]:
        return [stretch for query in view.unsettled for stretch in self._stretches(query, view)]

    def _is_charged(self, query: Query, view: View, step: Step) -> bool:
        """Refuse a query that the ledger charges to fewer zones than it reaches: records of the others would pay for it too."""
        if query not in self._reaches:
            self._reaches[query] = self._journal.zones.reach_mask(query)
        if not self._reaches[query] & ~view.reaches[query]:
            return True
        self._refuse(query.identifier, InvalidInput(_TOO_FEW_ZONES), step)
        return False

    def _check_points(self, view: View) -> None:
        """Refuse to continue a path that is not the journal's: such a journal may lack other points as well."""
        # Why the promise holds: every point is compared, and again when it or the journal is not the one of the last time.
        if self._checked_version != (version := self._journal.version()):
            self._checked, self._checked_version = {}, version
        tables = self._tables.read(view.pieces, view.newest)
        for query, state in tables.items():
            check_begun(self._journal, query, state)
        large = {query: state.points[-1] for query, state in tables.items() if state.points}
        for query, point in (view.points | large).items():
            revealed = view.now[query].revealed
            if self._checked.get(query) == (revealed, point):
                continue
            if is_late(self._journal, query, revealed, point):
                self._journal.restore({query: {revealed: point}}, {})
                self._closed = tuple(self._journal.closed())
            self._checked[query] = revealed, point

    def _stretches(self, query: Query, view: View) -> Iterator[Stretch]:
        # After a reorganisation the newest block may contain fewer purchases than the head did; only its own are revealed.
        start, end = view.now[query].revealed, min(view.bought[query], view.now[query].bought)
        stops = self._stops(query, start, end, view) if start < end else []
        piece = view.pieces.get(query)
        if piece is not None and piece.done:
            # Pieces of this stretch are on the chain, so it is finished first, wherever purchases end by now.
            stops = [piece.end, *(stop for stop in stops if stop > piece.end)]
        for stop in stops:
            yield Stretch(query, start, stop)
            start = stop

    def _stops(self, query: Query, start: Fraction, end: Fraction, view: View) -> list[Fraction]:
        """Return where stretches end: at ``end`` and, without reuse, after each request, which has its own stretch."""
        if self._terms.reuses:
            return [end]
        asked = self._contract.events(["Asked"], query.identifier, self._first_block, view.newest)
        state = fold(in_edition(asked, query.identifier), reuses=False)
        if state.bought != view.now[query].bought:
            raise Behind  # a request is missing, so those after it would get the wrong stretches
        return sorted({request.stretch[1] for request in state.requests if start < request.stretch[1] <= end})

    def _place(self, view: View) -> int | None:
        """Return the nonce of an earlier process's transaction that has been pending for too long."""
        if view.pending <= view.mined:
            self._left_behind = None
            return None
        if self._left_behind is None or self._left_behind[0] != view.mined:
            self._left_behind = (view.mined, time.monotonic())
        return view.mined if time.monotonic() - self._left_behind[1] >= self._patience else None

    def _draw_all(self, stretches: Sequence[Stretch], step: Step, until: int) -> list[ContractReveal]:
        """Draw and journal all in one durable step; if that fails, one by one, so that one failure does not stop the others."""
        unknown = [s for s in stretches if self._journal.known_point(s.query, s.end) is None and self._can_draw(s)]
        with suppress(*_OF_ONE_QUERY):
            if unknown:
                wanted = [(stretch.query, stretch.end) for stretch in unknown]
                self._spending.draw(wanted, self._contract.sender.address, until)
            for stretch in unknown:
                self._notify(Drawn(stretch.query.identifier, stretch.start, stretch.end))
        drawn: list[ContractReveal] = []
        for stretch in stretches:
            identifier = stretch.query.identifier
            if identifier in step.refused:
                continue  # the second stretch of a path needs the first
            try:
                drawn.append(self._draw(stretch))
            except _OF_ONE_QUERY as error:
                self._refuse(identifier, error, step)
        return drawn

    def _can_draw(self, stretch: Stretch) -> bool:
        return self._start(stretch) is not None

    def _start(self, stretch: Stretch) -> Point | None:
        """Return the point where a stretch begins, if the journal knows it."""
        if not stretch.start:
            return (0,) * stretch.query.dimension
        revealed, point = self._checked.get(stretch.query, (None, None))
        if revealed == stretch.start:
            return point
        return self._journal.known_point(stretch.query, stretch.start)

    def _draw(self, stretch: Stretch) -> ContractReveal:
        """Return the increment over a stretch; both its ends are durably in the journal before it is returned."""
        query = stretch.query
        start = self._start(stretch)
        if start is None:
            raise QueryClosed(
                f"The journal does not contain the end of the path of '{query}': run noiseledger recover."
            )
        # Known points are only read: a retry writes nothing to the journal, and needs no disk space.
        end = self._journal.known_point(query, stretch.end)
        if end is None:
            (end,) = self._journal.draw([(query, stretch.end)])
            self._notify(Drawn(query.identifier, stretch.start, stretch.end))
        increments = tuple(b - a for a, b in zip(start, end, strict=True))
        return ContractReveal(query.identifier, stretch.start, stretch.end, increments)

    def _settle(self, batch: list[ContractReveal], step: Step, nonce: int | None) -> None:
        """Sign, send and confirm a batch; if it is refused, try its reveals one by one, so that one cannot stop the others."""
        try:
            step.receipts.append(self._reveal(batch, nonce))
        except (*_REVERTED, RpcFailed) as error:
            if isinstance(error, RpcFailed) and not concerns_the_call(error):
                raise
            if len(batch) > 1:
                for reveal in batch:
                    self._settle([reveal], step, nonce)
                    nonce = None
            elif not self._is_revealed(batch[0]):
                self._refuse(batch[0].query, error, step)

    def _reveal(self, batch: list[ContractReveal], nonce: int | None) -> Receipt:
        stretches = tuple(RevealedStretch(reveal.query, reveal.start, reveal.end) for reveal in batch)
        sender = self._contract.sender
        sender.before_signing = lambda until: self._spending.before_sending(sender.address, until)
        sender.listener = lambda event: self._notify(_with_stretches(event, stretches))
        try:
            receipt = self._contract.reveal(batch, nonce, CONFIRM_SECONDS)
        finally:
            sender.before_signing, sender.listener = lambda _: None, self._notify
        self._spending.note(receipt.gas_used)
        self._notify(Confirmed(receipt.transaction, receipt.block, stretches))
        return receipt

    def _confirm_what_is_in_flight(self, step: Step) -> bool:
        """Wait for what an earlier step sent, so that nothing is sent twice; return whether there was anything."""
        sender = self._contract.sender
        flying = sender.in_flight()
        for receipt in sender.wait_many(flying, CONFIRM_SECONDS) if flying else ():
            self._spending.note(receipt.gas_used)
            if receipt.succeeded:
                step.receipts.append(receipt)
                self._notify(Confirmed(receipt.transaction, receipt.block))
        return bool(flying)

    def _is_revealed(self, reveal: ContractReveal) -> bool:
        """Return whether another process of ours was faster."""
        # False if the node does not know it yet: then the next step checks again.
        if not reveal.is_piece:
            return self._contract.meter(reveal.query).revealed >= reveal.end
        # Of the pieces, the same: the next step sees what is left.
        (piece,) = self._contract.pieces([reveal.query])
        return self._contract.meter(reveal.query).revealed >= reveal.end or piece.done > reveal.first

    def _refuse(self, identifier: str, error: NoiseledgerError, step: Step) -> None:
        if identifier not in step.refused:
            step.refused[identifier] = error
            self._notify(Refused(identifier, type(error).__name__, str(error)))


def _with_stretches(event: ProgressEvent, stretches: tuple[RevealedStretch, ...]) -> ProgressEvent:
    """Add the stretches that a transaction reveals to the sender's event."""
    if isinstance(event, TransactionSent | TransactionReplaced):
        return replace(event, stretches=stretches)
    return event


def batches(reveals: Sequence[ContractReveal], done: Mapping[str, int] | None = None) -> Iterator[list[ContractReveal]]:
    """Split reveals into transactions that the contract accepts: small answers together, then the large ones piece by piece.

    ``done`` says how many numbers of the first stretch of a large answer, by the query's identifier, are on the chain.
    """
    left = dict(done or {})
    large = [reveal for reveal in reveals if reveal.is_piece]
    batch: list[ContractReveal] = []
    coordinates = 0
    for reveal in (reveal for reveal in reveals if not reveal.is_piece):
        dimension = len(reveal.increments)
        if batch and (len(batch) == MAX_BATCH or coordinates + dimension > MAX_COORDINATES):
            yield batch
            batch, coordinates = [], 0
        batch.append(reveal)
        coordinates += dimension
    if batch:
        yield batch
    for reveal in large:
        for piece in split(reveal, left.pop(reveal.query, 0)):
            yield [piece]
