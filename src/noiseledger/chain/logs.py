"""Read logs in portions that a node gives at once: of fewer blocks, and of a single block transaction by transaction.

Whoever pays the chain's fees can fill a block with free requests, so that no node gives all of its logs in one reply. A receipt
contains the logs of one transaction.
Why no log is lost or read twice: a block lists its transactions, and there must be one receipt for each, from the same block.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from noiseledger.chain.block import BlockRef
from noiseledger.chain.rpc import MAX_CALLS, Call, Rpc
from noiseledger.errors import RpcFailed

#: The number of blocks whose logs are requested at once; public endpoints refuse much more.
LOG_BLOCKS = 2000
#: After this many replies in a row, more blocks are requested again.
_PATIENCE = 8


class Span:
    """How many blocks to request at once: fewer after a refusal, and slowly more again."""

    def __init__(self, most: int = LOG_BLOCKS) -> None:
        """Begin with the largest number."""
        self.blocks = self._most = most
        self._replies = 0

    def refuse(self, asked: int) -> None:
        """Request fewer than a node refused."""
        self.blocks, self._replies = max(min(asked, 2 * LOG_BLOCKS) // 2, 1), 0

    def accept(self) -> None:
        """Count a reply."""
        self._replies += 1
        if self._replies >= _PATIENCE:
            self.blocks, self._replies = min(2 * self.blocks, self._most), 0


def logs_by_transaction(
    rpc: Rpc,
    address: str,
    topics: Sequence[Sequence[str]],
    block: int,
    anchors: Sequence[BlockRef],
    refused: RpcFailed,
) -> list[dict[str, Any]] | None:
    """Return a contract's logs in one block, after a node ``refused`` them at once; None if an anchor is not on its chain.

    The refusal is raised again if the block is not why: if it has no log of the contract, or cannot be read.
    """
    there: list[Call] = [("eth_getBlockByNumber", [hex(anchor.number), False]) for anchor in anchors]
    before, found, after = _split(rpc.batch([*there, ("eth_getBlockByNumber", [hex(block), False]), *there]))
    if any(isinstance(reply, RpcFailed) for reply in (*before, found, *after)):
        raise refused
    if found is None or not all(map(BlockRef.is_in, [*anchors, *anchors], [*before, *after])):
        return None
    if found.get("transactions") is None:
        raise refused
    logs: list[dict[str, Any]] = []
    receipts = in_portions(rpc, [("eth_getTransactionReceipt", [transaction]) for transaction in found["transactions"]])
    for receipt in receipts:
        if receipt is None or isinstance(receipt, RpcFailed):
            raise refused
        if receipt["blockHash"] != found["hash"]:
            return None
        logs += [log for log in receipt["logs"] if log["address"].lower() == address.lower()]
    if not logs:
        raise refused
    return [log for log in logs if _matches(log["topics"], topics)]


def in_portions(rpc: Rpc, calls: Sequence[Call]) -> Iterator[Any]:
    """Yield the replies to calls that different nodes may answer: fewer calls at once after a refusal."""
    start, many = 0, MAX_CALLS
    while start < len(calls):
        replies = rpc.batch(calls[start : start + many])
        if len(replies) > 1 and any(isinstance(reply, RpcFailed) for reply in replies):
            many = len(replies) // 2
            continue
        yield from replies
        start += len(replies)


def _split(replies: list[Any]) -> tuple[list[Any], Any, list[Any]]:
    middle = len(replies) // 2
    return replies[:middle], replies[middle], replies[middle + 1 :]


def _matches(found: Sequence[str], wanted: Sequence[Sequence[str]]) -> bool:
    return len(found) >= len(wanted) and all(topic in any_of for topic, any_of in zip(found, wanted, strict=False))
