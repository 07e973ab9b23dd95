"""The worker's view of the chain: everything that a step needs, or a refusal. After the first, a view takes two exchanges.

Why the promise holds: at every read, and before anything is drawn, it is checked that this is our ledger and that our key may
reveal. A chain that was restarted, or another contract at the address, therefore gets nothing. What waits for an answer is read
from the contract at the newest block in every view. The rest was answered completely in the last view, and that does not change
until it is bought again: it is taken from the last view if that view's block is still part of the chain, no purchase since then
names the query, and the amount spent has grown by exactly what was bought of the queries that were read.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, TypeAlias

from noiseledger.chain.abi import DecodingError, event_topic
from noiseledger.chain.block import BlockId, BlockRef
from noiseledger.chain.contract import MAX_STORED, PrivacyLedgerContract, checksummed, path_key
from noiseledger.chain.heads import Heads, find_heads
from noiseledger.chain.node_errors import is_revert
from noiseledger.chain.rpc import Call
from noiseledger.chain.values import Meter, Piece, Terms, from_units
from noiseledger.core.filters.cells import Mask
from noiseledger.core.path import Point
from noiseledger.core.query import Query
from noiseledger.core.zone_budget import zones_of
from noiseledger.errors import ChainMismatch, NotAllowed, RpcFailed

#: The only event after which a query needs an answer that needed none before; it names the query.
_PURCHASE = "Asked"
#: What zones have spent, or what was bought of the queries that reach each of them.
ByZone: TypeAlias = tuple[Fraction, ...]


@dataclass(frozen=True)
class View:
    """One state of the chain."""

    newest: BlockRef
    #: The block up to which purchases count, or None while there is none.
    head: BlockRef | None
    #: By query: how far it was bought at the head, how far it is bought and revealed now, and the point there.
    bought: dict[Query, Fraction]
    now: dict[Query, Meter]
    points: dict[Query, Point]
    #: The zones that each query reaches as the contract has it, and how far large answers are revealed.
    reaches: dict[Query, Mask]
    pieces: dict[Query, Piece]
    #: The queries of which something is bought that does not count yet or is not revealed: only these need an answer.
    unsettled: tuple[Query, ...]
    #: All that was bought of these queries, and of all queries, by zone.
    sold: ByZone
    spent: ByZone
    #: The balance of the worker's key in wei, and its number of transactions: those mined, and those including pending ones.
    balance: int
    mined: int
    pending: int

    @property
    def due(self) -> dict[str, Fraction]:
        """The identifiers of the queries of which more is bought at the head than is revealed, and how far each is revealed."""
        now = [(query, self.now[query]) for query in self.unsettled]
        return {q.identifier: m.revealed for q, m in now if m.revealed < min(self.bought[q], m.bought)}

    @property
    def is_complete(self) -> bool:
        """Whether all that was bought is of these queries."""
        return self.spent == self.sold

    @property
    def waiting(self) -> list[Query]:
        """The queries of which more is bought than revealed, whether final or not."""
        return [query for query in self.unsettled if self.now[query].revealed < self.now[query].bought]


class Views:
    """Reads one view after the other; of each, only what may have changed since the last one."""

    def __init__(self, contract: PrivacyLedgerContract, terms: Terms, head: BlockId) -> None:
        """Purchases count up to ``head``."""
        self._contract = contract
        self._terms = terms
        self._head = head
        self._last: View | None = None

    def next(self, queries: Sequence[Query]) -> View:
        """Return the current view; refuse a ledger with other terms, or one with another worker's key."""
        # Forgotten until this view is complete: after an error, whatever it was, everything is read.
        last, self._last = self._last, None
        view = None if last is None else self._after(last, queries)
        self._last = self._complete(queries) if view is None else view
        return self._last

    def _complete(self, queries: Sequence[Query]) -> View:
        """Read everything."""
        found = find_heads(self._contract.rpc, self._head, *self._account())
        read = self._read(found, queries)
        revealed = [query for query, meter in read.now.items() if meter.revealed]
        complete = replace(read, points=self._points(revealed, found.newest))
        return _view(found, complete, _unsettled(read), _bought(read, queries))

    def _after(self, last: View, queries: Sequence[Query]) -> View | None:
        """Read what may have changed since the last view; None if that does not lead to a complete view."""
        account = self._account()
        found = find_heads(self._contract.rpc, self._head, *account, *self._changes(last.newest))
        there, logs, newest = found.more[len(account) :]
        # The events are those between the two blocks only if both are part of the chain when they are read.
        if not last.newest.is_in(there) or not found.newest.is_in(newest) or not _is_further(last.head, found.final):
            return None
        if found.newest == last.newest:
            logs = []  # some nodes refuse to read from the block after the newest
        if isinstance(logs, RpcFailed):
            return None  # nodes limit what they give at once
        if list(queries) != list(last.now):
            return None  # some were registered
        named = {log["topics"][1].removeprefix("0x").lower() for log in logs if len(log["topics"]) > 1}
        unsettled = set(last.unsettled)
        stale = [query for query in queries if query.identifier in named or query in unsettled]
        if not stale and found.newest == last.newest:
            return _view(found, _read_of(last), (), last.sold)
        read = self._read(found, stale, [query for query in stale if query in last.points], last.reaches)
        before, after = _bought(_read_of(last), stale), _bought(read, stale)
        sold = _minus(last.sold, _minus(before, after))
        if _minus(read.spent, last.spent) != _minus(sold, last.sold):
            return None  # more was bought than the events name
        revealed = [query for query, meter in read.now.items() if meter.revealed and query not in read.points]
        points = last.points | read.points | (self._points(revealed, found.newest) if revealed else {})
        complete = _Read(
            now=last.now | read.now,
            bought=last.bought | read.bought,
            points=points,
            reaches=last.reaches | read.reaches,
            pieces=last.pieces | read.pieces,
            spent=read.spent,
        )
        return _view(found, complete, _unsettled(read), sold)

    def _account(self) -> list[Call]:
        """Ask for balance and counts; in the same exchange as the newest block, so of the same node."""
        address = self._contract.sender.address
        return [
            ("eth_getBalance", [address, "latest"]),
            ("eth_getTransactionCount", [address, "latest"]),
            ("eth_getTransactionCount", [address, "pending"]),
        ]

    def _changes(self, since: BlockRef) -> list[Call]:
        """Ask for the purchases after a block, between questions for that block and for the newest."""
        wanted = {
            "address": self._contract.address,
            "topics": [event_topic(_PURCHASE)],
            "fromBlock": hex(since.number + 1),
            "toBlock": "latest",
        }
        return [
            ("eth_getBlockByNumber", [hex(since.number), False]),
            ("eth_getLogs", [wanted]),
            ("eth_getBlockByNumber", ["latest", False]),
        ]

    def _points(self, queries: Sequence[Query], newest: BlockRef) -> dict[Query, Point]:
        points = self._contract.points([query.identifier for query in queries], newest.hash)
        return dict(zip(queries, points, strict=True))

    def _read(
        self,
        found: Heads,
        queries: Sequence[Query],
        revealed: Sequence[Query] = (),
        reaches: Mapping[Query, Mask] | None = None,
    ) -> _Read:
        """Read the meters of queries, and the points of those that are known to be revealed, in one exchange.

        What a query reaches never changes once it is registered, so it is read only if ``reaches`` does not have it.
        """
        known = {query: reach for query, reach in (reaches or {}).items() if reach}
        unread = [query for query in queries if query not in known]
        newest, head = found.newest.hash, None if found.final is None else found.final.hash
        keys = [path_key(query.identifier) for query in queries]
        large = [query for query in queries if query.dimension > MAX_STORED]
        calls: list[tuple[str, Sequence[Any], BlockId]] = [
            ("terms", [], newest),
            ("worker", [], newest),
            ("spent", [0], newest),
        ]
        calls += [("reach", path_key(query.identifier)[:1], newest) for query in unread]
        calls += [("piece", path_key(query.identifier), newest) for query in large]
        calls += [("meter", key, newest) for key in keys]
        calls += [("meter", key, head) for key in keys if head not in (None, newest)]
        calls += [("point", path_key(query.identifier), newest) for query in revealed]
        try:
            found_terms, found_worker, found_spent, *meters = self._contract.read_many(calls)
            matches = found_terms is not None and Terms.decode(found_terms[0]) == self._terms
        except (DecodingError, ValueError, OverflowError):
            matches = False
        except RpcFailed as error:
            # Other contracts revert if a called function does not exist.
            if not is_revert(error):
                raise
            matches = False
        if not matches:
            raise ChainMismatch(
                f"The ledger is no longer at {self._contract.address}: the chain was restarted, or the endpoint shows another "
                "chain. Nothing is drawn until the ledger is back."
            )
        _check_worker(self._contract, found_worker)
        found_reaches, meters = meters[: len(unread)], meters[len(unread) :]
        pieces, meters = meters[: len(large)], meters[len(large) :]
        meters, points = meters[: len(meters) - len(revealed)], meters[len(meters) - len(revealed) :]
        now = [Meter.decode(meter) if meter else _UNKNOWN for meter in meters[: len(queries)]]
        # At the head the ledger may not exist yet: then nothing was bought.
        then = [Meter.decode(meter) if meter else _UNKNOWN for meter in meters[len(queries) :]]
        then = then or (now if head == newest else [_UNKNOWN] * len(queries))
        return _Read(
            now=dict(zip(queries, now, strict=True)),
            bought=dict(zip(queries, (meter.bought for meter in then), strict=True)),
            points={query: tuple(point[0]) for query, point in zip(revealed, points, strict=True) if point},
            reaches={query: known.get(query, 0) for query in queries}
            | {query: reply[0] if reply else 0 for query, reply in zip(unread, found_reaches, strict=True)},
            pieces={query: Piece.decode(reply) for query, reply in zip(large, pieces, strict=True) if reply},
            spent=tuple(map(from_units, found_spent[0])) if found_spent else (Fraction(0),) * self._terms.zones,
        )


@dataclass(frozen=True)
class _Read:
    """What was read of some queries: see the fields of a view."""

    now: dict[Query, Meter]
    bought: dict[Query, Fraction]
    points: dict[Query, Point]
    reaches: dict[Query, Mask]
    pieces: dict[Query, Piece]
    spent: ByZone


def _read_of(view: View) -> _Read:
    return _Read(view.now, view.bought, view.points, view.reaches, view.pieces, view.spent)


def _view(found: Heads, read: _Read, unsettled: tuple[Query, ...], sold: ByZone) -> View:
    for reply in found.more[:3]:
        if isinstance(reply, RpcFailed):
            raise reply
    balance, mined, pending = (int(reply, 16) for reply in found.more[:3])
    return View(
        newest=found.newest,
        head=found.final,
        bought=read.bought,
        now=read.now,
        points=read.points,
        reaches=read.reaches,
        pieces=read.pieces,
        unsettled=unsettled,
        sold=sold,
        spent=read.spent,
        balance=balance,
        mined=mined,
        pending=pending,
    )


def _bought(read: _Read, queries: Sequence[Query]) -> ByZone:
    """Return how much was bought of some queries together, by zone."""
    found = [Fraction(0)] * len(read.spent)
    for query in queries:
        for zone in zones_of(read.reaches[query]):
            found[zone] += read.now[query].bought
    return tuple(found)


def _minus(more: ByZone, less: ByZone) -> ByZone:
    return tuple(a - b for a, b in zip(more, less, strict=True))


def _unsettled(read: _Read) -> tuple[Query, ...]:
    return tuple(query for query, meter in read.now.items() if not meter.bought == meter.revealed == read.bought[query])


def _is_further(last: BlockRef | None, head: BlockRef | None) -> bool:
    """Say whether what counted at the last head still does: of one chain, nothing bought is ever undone."""
    return last is None if head is None else last is not None and last.number <= head.number


def _check_worker(contract: PrivacyLedgerContract, found: tuple[Any, ...] | None) -> None:
    worker = checksummed(found[0]) if found else "nobody"
    if worker.lower() != contract.sender.address.lower():
        raise NotAllowed(
            f"The ledger's worker is {worker}, but this key is {contract.sender.address}: nothing is drawn. Use the worker's "
            f"key, or have the custodian appoint this one: noiseledger rotate-worker {contract.sender.address}"
        )


_UNKNOWN = Meter(0, Fraction(0), Fraction(0))
