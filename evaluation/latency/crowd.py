"""Many analysts send one signed transaction each at the same time: how long until the last one has a receipt?

The measurement favours them: transactions are signed before the clock starts, reserve exactly the gas that they need, and
offer a fee that is always high enough. So they wait only for blocks with free space.
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

#: Money on a development node is worthless. Each full block raises the fee by an eighth, and this is enough for 60 full blocks
#: in a row. The tip is the usual one, since nodes recommend the tips that they have seen.
FEES = Fees(most=1000 * GWEI, tip=GWEI)
_LOOK_SECONDS = 0.02


@dataclass(frozen=True)
class Crossing:
    """When the transactions of a crowd were included in blocks."""

    #: Seconds from the first send until each receipt was seen.
    seconds: tuple[float, ...]
    #: The block of each transaction.
    blocks: tuple[int, ...]
    gas: tuple[int, ...]
    #: The newest block when the first transaction was sent.
    head: int

    @property
    def last(self) -> float:
        """The seconds until all transactions had a receipt."""
        return max(self.seconds)

    @property
    def median(self) -> float:
        """The seconds until half of the transactions had a receipt."""
        return median(self.seconds)

    @property
    def waited(self) -> int:
        """The number of blocks until all transactions were included."""
        return max(self.blocks) - self.head


@dataclass(frozen=True)
class Signed:
    """A signed transaction."""

    nonce: int
    raw: str
    hash: str


class Crowd:
    """Many analysts with one transaction each; one key signs for all of them, with consecutive nonces."""

    def __init__(self, rpc: Rpc, key: Key) -> None:
        """Use a key that has money on this chain."""
        self._rpc = rpc
        self._key = key

    def sign(self, to: str | None, datas: Sequence[str]) -> list[Signed]:
        """Return one signed transaction per call."""
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
        """Send all transactions and wait until they are in blocks; give up after ``patience`` seconds without progress."""
        head, _ = self._look()
        start = moved = time.perf_counter()
        for reply in self._launch(crowd):
            _good(reply)
        found: dict[Signed, tuple[float, int, int]] = {}
        seen = head
        while len(found) < len(crowd):
            newest, pending = self._look()
            # anvil sometimes drops transactions that arrive while it makes a block. That must not count as waiting time.
            self._launch([one for one in crowd if one.nonce >= pending])
            if newest == seen:  # new receipts need a new block, and asking for all of them costs the node time
                time.sleep(_LOOK_SECONDS)
            else:
                seen = newest
                new = self._receipts([one for one in crowd if one not in found], start)
                moved = time.perf_counter() if new else moved
                found |= new
            if time.perf_counter() - moved > patience:
                raise ChainError(
                    f"No block included any of {len(crowd) - len(found)} transactions for {patience:g} seconds."
                )
        seconds, blocks, gas = zip(*(found[one] for one in crowd), strict=True)
        return Crossing(seconds, blocks, gas, head)

    def _launch(self, crowd: Sequence[Signed]) -> list[Any]:
        return self._rpc.batch([("eth_sendRawTransaction", [one.raw]) for one in crowd]) if crowd else []

    def _receipts(self, crowd: Sequence[Signed], start: float) -> dict[Signed, tuple[float, int, int]]:
        """Return for each included transaction the seconds, the block and the gas."""
        replies = self._rpc.batch([("eth_getTransactionReceipt", [one.hash]) for one in crowd])
        now = time.perf_counter() - start
        receipts = {one: _good(reply) for one, reply in zip(crowd, replies, strict=True) if _good(reply) is not None}
        for one, receipt in receipts.items():
            if int(receipt["status"], 16) != 1:
                raise ChainError(f"The transaction {one.hash} failed.")
        return {one: (now, int(r["blockNumber"], 16), int(r["gasUsed"], 16)) for one, r in receipts.items()}

    def _look(self) -> tuple[int, int]:
        """Return the newest block, and the next nonce after all included and pending transactions."""
        calls = [("eth_blockNumber", []), ("eth_getTransactionCount", [self._key.address, "pending"])]
        newest, nonce = (int(_good(reply), 16) for reply in self._rpc.batch(calls))
        return newest, nonce


def _good(reply: Any) -> Any:
    if isinstance(reply, RpcFailed):
        raise reply
    return reply
