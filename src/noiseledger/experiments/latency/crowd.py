"""Many analysts at once, each with a signed transaction of their own: how long until the last one has a receipt?

A crowd gets the benefit of every doubt: it signs before the clock starts, each transaction reserves exactly the gas that it
needs, and it offers whatever fee the next blocks may ask for. So what it waits for is blocks with room, and nothing else.
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any

from noiseledger.chain import Key, Rpc
from noiseledger.chain.fees import GWEI, Fees
from noiseledger.errors import ChainError, RpcFailed

#: On our own chain money is play: full blocks raise the fee by an eighth each, and this is enough for 60 in a row. The tip is
#: what everybody gives, since nodes tell others to give what they have seen.
FEES = Fees(most=1000 * GWEI, tip=GWEI)
_LOOK_SECONDS = 0.02


@dataclass(frozen=True)
class Crossing:
    """How a crowd got into blocks."""

    #: From the first transaction's sending to the sight of each receipt.
    seconds: tuple[float, ...]
    #: The block of each transaction.
    blocks: tuple[int, ...]
    gas: tuple[int, ...]
    #: The newest block when the first was sent.
    head: int

    @property
    def last(self) -> float:
        """When everybody had a receipt."""
        return max(self.seconds)

    @property
    def median(self) -> float:
        """When half of them had one."""
        return median(self.seconds)

    @property
    def waited(self) -> int:
        """How many blocks it took."""
        return max(self.blocks) - self.head


@dataclass(frozen=True)
class Signed:
    """A transaction that is ready to be sent."""

    nonce: int
    raw: str
    hash: str


class Crowd:
    """As many analysts as there are transactions; one key signs for all, with one nonce after the other."""

    def __init__(self, rpc: Rpc, key: Key) -> None:
        """Use a key that has play money."""
        self._rpc = rpc
        self._key = key

    def sign(self, to: str | None, datas: Sequence[str]) -> list[Signed]:
        """Return each call signed."""
        there = {"to": to} if to else {}
        calls = [{"from": self._key.address, "data": data, **there} for data in datas]
        needed = [int(_good(reply), 16) for reply in self._rpc.batch([("eth_estimateGas", [call]) for call in calls])]
        common = {"chainId": self._rpc.chain_id, "type": 2, "value": 0, **FEES.fields(), **there}
        nonces = itertools.count(self._look()[1])
        return [
            Signed(nonce, *self._key.sign(common | {"data": data, "gas": gas, "nonce": nonce}))
            for data, gas, nonce in zip(datas, needed, nonces, strict=False)
        ]

    def send(self, crowd: Sequence[Signed], patience: float = 120.0) -> Crossing:
        """Send everything, and wait until it is in blocks; give up when no block takes any for so many seconds."""
        head, _ = self._look()
        start = moved = time.perf_counter()
        for reply in self._launch(crowd):
            _good(reply)
        found: dict[Signed, tuple[float, int, int]] = {}
        seen = head
        while len(found) < len(crowd):
            newest, pending = self._look()
            # anvil now and then drops what comes while it makes a block; nobody should have to wait for that.
            self._launch([one for one in crowd if one.nonce >= pending])
            if newest == seen:  # receipts come with blocks, and asking for all of them is work for the node
                time.sleep(_LOOK_SECONDS)
            else:
                seen = newest
                new = self._receipts([one for one in crowd if one not in found], start)
                moved = time.perf_counter() if new else moved
                found |= new
            if time.perf_counter() - moved > patience:
                raise ChainError(
                    f"No block took any of {len(crowd) - len(found)} transactions for {patience:g} seconds."
                )
        seconds, blocks, gas = zip(*(found[one] for one in crowd), strict=True)
        return Crossing(seconds, blocks, gas, head)

    def _launch(self, crowd: Sequence[Signed]) -> list[Any]:
        return self._rpc.batch([("eth_sendRawTransaction", [one.raw]) for one in crowd]) if crowd else []

    def _receipts(self, crowd: Sequence[Signed], start: float) -> dict[Signed, tuple[float, int, int]]:
        """Return when each was seen in a block, in which, and for how much gas."""
        replies = self._rpc.batch([("eth_getTransactionReceipt", [one.hash]) for one in crowd])
        now = time.perf_counter() - start
        receipts = {one: _good(reply) for one, reply in zip(crowd, replies, strict=True) if _good(reply) is not None}
        for one, receipt in receipts.items():
            if int(receipt["status"], 16) != 1:
                raise ChainError(f"The transaction {one.hash} failed.")
        return {one: (now, int(r["blockNumber"], 16), int(r["gasUsed"], 16)) for one, r in receipts.items()}

    def _look(self) -> tuple[int, int]:
        """Return the newest block, and the next nonce behind all that is in blocks or waits for one."""
        calls = [("eth_blockNumber", []), ("eth_getTransactionCount", [self._key.address, "pending"])]
        newest, nonce = (int(_good(reply), 16) for reply in self._rpc.batch(calls))
        return newest, nonce


def _good(reply: Any) -> Any:
    if isinstance(reply, RpcFailed):
        raise reply
    return reply
