"""The audit reads at one block: a node that leaves it before or after an exchange is noticed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

import pytest

from noiseledger.audit.chain import BlockReference, ChainReorganised, Reader
from noiseledger.chain import Rpc

HEAD = BlockReference(7, "0xaa")


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
