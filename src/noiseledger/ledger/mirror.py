"""Follow a ledger on a chain: read each event once, and notice reorganisations.

Why nothing false is shown: events up to the final block are processed once, later events are processed again at every read.
Events are requested together with the hashes of the blocks that they belong to, and everything else is requested by such a
hash, so one read never mixes two histories. A result counts only if its sums equal those of the contract.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from fractions import Fraction
from typing import Any, TypeAlias

from noiseledger.chain import abi
from noiseledger.chain.block import BlockId, BlockRef
from noiseledger.chain.contract import PrivacyLedgerContract, checksummed, path_key
from noiseledger.chain.contract import event as read_event
from noiseledger.chain.heads import find_heads
from noiseledger.chain.logs import Span, in_portions, logs_by_transaction
from noiseledger.chain.rpc import Call
from noiseledger.chain.values import Event, Meter, Piece, Terms, from_units
from noiseledger.errors import ChainMismatch, ChainUnreachable, RpcFailed
from noiseledger.ledger.query_state import Behind, QueryState
from noiseledger.ledger.snapshot import Facts, LedgerSnapshot
from noiseledger.ledger.state import EVENTS, LedgerState

#: A query in an edition: the edition's number and the query's identifier.
PathKey: TypeAlias = tuple[int, str]

_ATTEMPTS = 5
#: The functions of the contract that return the facts.
_FACTS = ("terms", "editions", "paused", "closed", "custodian", "worker", "heir")


class _Moved(Exception):
    """A block that was read a moment ago is no longer part of the chain."""


class Mirror:
    """A reader that follows a ledger; ``look`` returns the state at the newest block."""

    def __init__(self, contract: PrivacyLedgerContract, first_block: int = 0, head: BlockId = "finalized") -> None:
        """Read from ``first_block`` on; everything up to the block ``head`` is final."""
        self.contract = contract
        self._terms = contract.terms()
        self._first_block = first_block
        self._head = head
        self._settled_at: BlockRef | None = None
        self._times: dict[tuple[int, str], datetime] = {}
        self._seen: LedgerSnapshot | None = None
        self._seen_at: tuple[BlockRef, BlockRef | None] | None = None
        self._forget()

    def look(self) -> LedgerSnapshot:
        """Return the newest state; the previous one if no block was added."""
        trouble: Exception | None = None
        for _ in range(_ATTEMPTS):
            newest, final = self._heads()
            if self._seen is not None and self._seen_at == (newest, final):
                return self._seen
            try:
                settled, snapshot = self._read(newest, final)
            except (_Moved, Behind) as error:
                trouble = error
                if not self._is_still_there(self._settled_at):
                    self._forget()
                continue
            except RpcFailed:
                # A node returns an error for a block that is no longer in the chain.
                if self._is_still_there(newest):
                    raise
                continue
            self._settled, self._settled_at = settled, final
            self._seen, self._seen_at = snapshot, (newest, final)
            return snapshot
        if isinstance(trouble, Behind):
            raise self._incomplete()
        raise ChainUnreachable("The chain changes faster than it can be read; it will be read again later.")

    def _forget(self) -> None:
        self._settled = LedgerState(reuses=self._terms.reuses, zones=self._terms.zones)
        self._settled_at = None
        self._times = {}
        self._seen, self._seen_at = None, None

    def _heads(self) -> tuple[BlockRef, BlockRef | None]:
        """Return the newest block, and the block up to which everything is final."""
        found = find_heads(self.contract.rpc, self._head)
        # A young chain, or one without finality, has no final block.
        return found.newest, self._final(found.newest, found.final)

    def _final(self, newest: BlockRef, told: BlockRef | None) -> BlockRef | None:
        """Return the final block to use: not above the newest that is read, and not below the one already processed."""
        if told is not None and told.number >= newest.number:
            told = newest  # a block was added between the two calls, and its events are not read yet
        settled = self._settled_at
        if settled is not None and (told is None or told.number < settled.number):
            return settled  # a node may lag behind another; processed events must not be processed again
        return told

    def _is_still_there(self, head: BlockRef | None) -> bool:
        return head is None or head.is_in(*self.contract.rpc.batch([_block(hex(head.number))]))

    def _read(self, newest: BlockRef, final: BlockRef | None) -> tuple[LedgerState, LedgerSnapshot]:
        """Return the state at the final block, and the state at the newest block."""
        first = max(self._first_block, -1 if self._settled_at is None else self._settled_at.number + 1)
        anchors = [head for head in (self._settled_at, final, newest) if head is not None]
        events = list(self._events(first, newest.number, anchors))
        self._note_times(events, first)
        last = -1 if final is None else final.number
        settled = _after(self._settled, [event for event in events if event.block <= last])
        state = _after(settled, [event for event in events if event.block > last])
        facts = self._facts(newest, final, state)
        if self._seen is None:
            return settled, LedgerSnapshot(facts, state, self._times_by_number())
        if self._seen.state.version == state.version:
            return settled, self._seen.at(facts)
        return settled, self._seen.then(facts, state, self._times_by_number())

    def _events(self, first: int, last: int, anchors: Sequence[BlockRef]) -> Iterator[Event]:
        """Yield the events in some blocks of the one chain that contains all the anchors.

        Events and anchors are requested in one exchange, the anchors before and after: the next exchange may go to another
        node, which may have fewer or different blocks without reporting it.
        """
        topics = [[abi.event_topic(name) for name in EVENTS]]
        there = [_block(hex(head.number)) for head in anchors]
        start, span = first, Span()
        while start <= max(last, first):
            end = min(start + span.blocks - 1, last)
            wanted = {"address": self.contract.address, "topics": topics, "fromBlock": hex(start), "toBlock": hex(end)}
            logs: list[Call] = [("eth_getLogs", [wanted])] if start <= last else []
            replies = self.contract.rpc.batch([*there, *logs, *there])
            found, beside = replies[len(anchors) : -len(anchors)], [*replies[: len(anchors)], *replies[-len(anchors) :]]
            refused = next((reply for reply in [*found, *beside] if isinstance(reply, RpcFailed)), None)
            if refused is not None:
                if end > start:
                    span.refuse(end - start + 1)
                    continue
                if end < start:  # no logs were requested
                    raise refused
                found = [logs_by_transaction(self.contract.rpc, self.contract.address, topics, start, anchors, refused)]
            elif not all(map(BlockRef.is_in, [*anchors, *anchors], beside)):
                raise _Moved
            for reply in found:
                if reply is None:
                    raise _Moved
                yield from map(read_event, reply)
            start = max(end, start) + 1
            span.accept()

    def _facts(self, newest: BlockRef, final: BlockRef | None, state: LedgerState) -> Facts:
        checked = self._open_paths(state)
        facts, stored = read_facts(self.contract, newest, final, len(state.spent_in), list(checked))
        if facts.terms != self._terms:
            raise ChainMismatch(f"Another ledger is at {self.contract.address} now: the chain was restarted.")
        self._check_sums(state, stored.spent)
        for path, ours in checked.items():
            # A node may return the logs of a block later than the block itself.
            meter, piece = stored.meters[path], stored.pieces[path]
            # What the contract does not store of a large answer is in its hash.
            if (meter.bought, meter.revealed) != (ours.bought, ours.revealed) or not ours.fits(piece, path[1]):
                raise Behind
        return facts

    def _check_sums(self, state: LedgerState, spent: Sequence[tuple[Fraction, ...]]) -> None:
        is_whole = hashlib.sha256(state.zone_list.encode()).digest() == self._terms.zone_list
        if not state.has_beginning or not is_whole or state.spent_in != list(spent):
            raise self._incomplete()

    def _incomplete(self) -> ChainMismatch:
        return ChainMismatch(
            f"The events from block {self._first_block} on do not add up to what the contract has spent: check the "
            "first block in the ledger file, and that the endpoint keeps old events."
        )

    def _open_paths(self, state: LedgerState) -> dict[PathKey, QueryState]:
        """Return the paths to check: all but those that were checked before and are revealed as far as they are bought."""
        known = {} if self._seen is None else _paths(self._seen.state)
        return {
            path: query
            for path, query in _paths(state).items()
            if query.revealed != query.bought or path not in known or len(known[path].ends) != len(query.ends)
        }

    def _note_times(self, events: Iterable[Event], first: int) -> None:
        """Read the times of the blocks that contain requests, each once."""
        wanted = {(event.block, event.block_hash) for event in events if event.name == "Asked"}
        # Above the final block, other blocks may have replaced those read before.
        self._times = {key: time for key, time in self._times.items() if key[0] < first or key in wanted}
        order = sorted(wanted - self._times.keys())
        blocks = in_portions(
            self.contract.rpc, [("eth_getBlockByHash", [block_hash, False]) for _, block_hash in order]
        )
        for key, block in zip(order, blocks, strict=True):
            if isinstance(block, RpcFailed) or block is None:
                raise _Moved
            self._times[key] = datetime.fromtimestamp(int(block["timestamp"], 16), UTC)

    def _times_by_number(self) -> dict[int, datetime]:
        return {number: time for (number, _), time in self._times.items()}


@dataclass(frozen=True)
class Stored:
    """What the contract stores at a block: what each zone has spent, by edition, and how far some paths are known."""

    spent: list[tuple[Fraction, ...]]
    meters: dict[PathKey, Meter]
    pieces: dict[PathKey, Piece]


def read_facts(
    contract: PrivacyLedgerContract,
    newest: BlockRef,
    final: BlockRef | None = None,
    editions: int = 0,
    paths: Sequence[PathKey] = (),
) -> tuple[Facts, Stored]:
    """Return the facts at a block, and what the contract stores of so many editions and of some paths, in one exchange."""
    keys = [path_key(identifier, edition) for edition, identifier in paths]
    calls: list[tuple[str, Sequence[Any]]] = [(name, []) for name in _FACTS]
    calls += [("spent", [edition]) for edition in range(editions)]
    calls += [(name, key) for name in ("meter", "piece") for key in keys]
    found = contract.read_many([(name, arguments, newest.hash) for name, arguments in calls])
    if None in found:
        raise ChainMismatch(f"The ledger is no longer at {contract.address}: the chain was restarted.")
    replies = [reply for reply in found if reply is not None]
    terms, opened, paused, closed, custodian, worker, heir = (reply[0] for reply in replies[: len(_FACTS)])
    facts = Facts(
        chain_id=contract.rpc.chain_id,
        address=contract.address,
        terms=Terms.decode(terms),
        custodian=checksummed(custodian),
        worker=checksummed(worker),
        paused=paused,
        closed=closed,
        block=newest.number,
        final=None if final is None else final.number,
        heir=checksummed(heir) if int(heir, 16) else None,
    )
    if editions not in (0, opened):
        raise Behind
    spent, rest = replies[len(_FACTS) :][:editions], replies[len(_FACTS) + editions :]
    meters, pieces = map(Meter.decode, rest[: len(keys)]), map(Piece.decode, rest[len(keys) :])
    stored = Stored(
        [tuple(map(from_units, each)) for (each,) in spent],
        dict(zip(paths, meters, strict=True)),
        dict(zip(paths, pieces, strict=True)),
    )
    return facts, stored


def _paths(state: LedgerState) -> dict[PathKey, QueryState]:
    return {**{(0, identifier): found for identifier, found in state.queries.items()}, **state.later}


def _after(state: LedgerState, events: Sequence[Event]) -> LedgerState:
    """Return a state after more events; the same object if there are none."""
    if not events:
        return state
    longer = state.copy()
    for event in events:
        longer.take(event)
    return longer


def _block(name: Any) -> Call:
    return "eth_getBlockByNumber", [name, False]
