"""The audit reads at one block: a node that leaves it before or after an exchange is noticed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

import pytest

from noiseledger.auditing.chain import ChainReorganised, Reader
from noiseledger.chain import Rpc
from noiseledger.chain.block import BlockRef
from noiseledger.errors import RpcFailed

HEAD = BlockRef(7, "0xaa")


class Node:
    """Answers whatever is asked, and names a block of its own before and after."""

    def __init__(self, before: str, after: str) -> None:
        self._before, self._after = before, after

    def batch(self, calls: Sequence[Any]) -> list[Any]:
        return [{"hash": self._before}, *("0x" for _ in calls[2:]), {"hash": self._after}]


@pytest.mark.parametrize(("before", "after"), [("0xbb", "0xaa"), ("0xaa", "0xbb"), ("0xbb", "0xbb")])
def test_a_node_with_another_block_is_noticed(before: str, after: str) -> None:
    with pytest.raises(ChainReorganised):
        Reader(cast(Rpc, Node(before, after)), "0x00").read(HEAD, "0x")


def test_a_node_that_stays_is_believed() -> None:
    assert Reader(cast(Rpc, Node("0xaa", "0xaa")), "0x00").read(HEAD, "0x", "0x") == ["0x", "0x"]


class Refusing:
    """Has no logs, and refuses to look for them in more than so many blocks at once."""

    def __init__(self, most: int) -> None:
        self._most = most
        self.ranges: list[tuple[int, int]] = []

    def batch(self, calls: Sequence[Any]) -> list[Any]:
        (_, (wanted,)) = calls[1]
        first, last = int(wanted["fromBlock"], 16), int(wanted["toBlock"], 16)
        is_refused = last - first + 1 > self._most
        if not is_refused:
            self.ranges.append((first, last))
        return [
            {"hash": HEAD.hash},
            RpcFailed("eth_getLogs", "too many", None) if is_refused else [],
            {"hash": HEAD.hash},
        ]


@pytest.mark.parametrize("most", [1, 2, 3, 100])
def test_every_block_is_read_once_however_few_a_node_allows(most: int) -> None:
    node = Refusing(most)
    head = BlockRef(40, HEAD.hash)
    assert list(Reader(cast(Rpc, node), "0x00").logs(3, head, lambda done, total: None)) == []
    assert [block for first, last in node.ranges for block in range(first, last + 1)] == list(range(3, 41))
    assert all(first <= last for first, last in node.ranges)
