"""Keep up with a ledger on a chain: read each event once, and notice when the chain changes its mind.

Why nothing false is shown: what lies below the final block is taken in for good, what lies above is taken in anew at every
look, and a look counts only if the block it saw is still part of the chain when it ends and its sums are the contract's.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from fractions import Fraction
from typing import Any

from noiseledger.chain.contract import Block, PrivacyLedgerContract, block_parameter
from noiseledger.chain.values import Event, from_units
from noiseledger.errors import ChainMismatch, ChainUnreachable, RpcFailed
from noiseledger.ledger.snapshot import Facts, Snapshot
from noiseledger.ledger.story import EVENTS, Story

_ATTEMPTS = 5


@dataclass(frozen=True)
class _Head:
    number: int
    hash: str


class Mirror:
    """Reads a ledger again and again; ``look`` returns the state of the newest block."""

    def __init__(self, contract: PrivacyLedgerContract, first_block: int = 0, head: Block = "finalized") -> None:
        """Read from ``first_block``; what is at or below the block ``head`` is final."""
        self.contract = contract
        self._terms = contract.terms()
        self._first_block = first_block
        self._head = head
        self._settled_at: _Head | None = None
        self._times: dict[tuple[int, str], datetime] = {}
        self._seen: Snapshot | None = None
        self._seen_at: tuple[_Head, _Head | None] | None = None
        self._forget()

    def look(self) -> Snapshot:
        """Return the newest state; the last one again if no block was added."""
        for _ in range(_ATTEMPTS):
            newest, final = self._heads()
            if self._seen is not None and self._seen_at == (newest, final):
                return self._seen
            if not self._is_still_there(self._settled_at):
                self._forget()
            settled, snapshot = self._read(newest, final)
            # A chain that was reorganised meanwhile may have shown parts of two histories.
            if self._is_still_there(newest):
                self._settled, self._settled_at = settled, final
                self._seen, self._seen_at = snapshot, (newest, final)
                return snapshot
            self._forget()
        raise ChainUnreachable("The chain changes faster than it can be read; it is looked at again later.")

    def _forget(self) -> None:
        self._settled = Story(reuses=self._terms.reuses)
        self._settled_at = None
        self._times = {}
        self._seen, self._seen_at = None, None

    def _heads(self) -> tuple[_Head, _Head | None]:
        latest, final = self.contract.rpc.batch(
            [
                ("eth_getBlockByNumber", ["latest", False]),
                ("eth_getBlockByNumber", [block_parameter(self._head), False]),
            ]
        )
        if isinstance(latest, RpcFailed):
            raise latest
        if latest is None:
            raise ChainUnreachable("The node has no block to show yet: is it still starting?")
        # A young chain, or one without finality, has no final block.
        return _head(latest), None if final is None or isinstance(final, RpcFailed) else _head(final)

    def _is_still_there(self, head: _Head | None) -> bool:
        if head is None:
            return True
        block = self.contract.rpc.call("eth_getBlockByNumber", hex(head.number), False)
        return block is not None and block["hash"] == head.hash

    def _read(self, newest: _Head, final: _Head | None) -> tuple[Story, Snapshot]:
        """Return what is settled by now, and all that there is."""
        first = self._first_block if self._settled_at is None else self._settled_at.number + 1
        events = list(self.contract.events(EVENTS, first=first, last=newest.number))
        self._note_times(events, first)
        last = -1 if final is None else final.number
        settled = _after(self._settled, [event for event in events if event.block <= last])
        story = _after(settled, [event for event in events if event.block > last])
        facts = self._facts(newest, final, story.spent)
        if self._seen is not None and self._seen.story.version == story.version:
            return settled, self._seen.at(facts)
        return settled, Snapshot(facts, story, {number: time for (number, _), time in self._times.items()})

    def _facts(self, newest: _Head, final: _Head | None, spent: Fraction) -> Facts:
        names = ("spent", "paused", "custodian", "worker")
        replies = self.contract.read_many([(name, [], newest.hash) for name in names])
        if any(reply is None for reply in replies):
            raise ChainMismatch(f"The ledger is not at {self.contract.address} any more: the chain began anew.")
        till, paused, custodian, worker = (reply[0] for reply in replies if reply)
        if from_units(till) != spent:
            raise ChainMismatch(
                f"The events from block {self._first_block} on do not add up to what the contract has spent: check the "
                "first block in the ledger file, and that the endpoint keeps old events."
            )
        return Facts(self._terms, custodian, worker, paused, newest.number, None if final is None else final.number)

    def _note_times(self, events: Iterable[Event], first: int) -> None:
        """Learn when the blocks of requests were made, each once."""
        wanted = {(event.block, event.block_hash) for event in events if event.name == "Asked"}
        # Above what is settled, other blocks may have taken the place of those seen before.
        self._times = {key: time for key, time in self._times.items() if key[0] < first or key in wanted}
        order = sorted(wanted - self._times.keys())
        blocks = self.contract.rpc.batch([("eth_getBlockByHash", [block_hash, False]) for _, block_hash in order])
        for key, block in zip(order, blocks, strict=True):
            if isinstance(block, RpcFailed) or block is None:
                raise ChainUnreachable("A block went away while it was read; it is looked at again later.")
            self._times[key] = datetime.fromtimestamp(int(block["timestamp"], 16), UTC)


def _after(story: Story, events: Sequence[Event]) -> Story:
    """Return the story with some more events; itself if there are none."""
    if not events:
        return story
    longer = story.copy()
    for event in events:
        longer.take(event)
    return longer


def _head(block: dict[str, Any]) -> _Head:
    return _Head(int(block["number"], 16), block["hash"])
