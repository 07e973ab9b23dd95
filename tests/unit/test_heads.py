from __future__ import annotations

import pytest

from noiseledger.chain.endpoint import addresses
from noiseledger.chain.heads import none_there, read_head
from noiseledger.chain.seen import Seen
from noiseledger.errors import ChainUnreachable, InvalidInput


@pytest.mark.parametrize("text", ["finalized", "safe", "latest", "latest-1", "latest-3", "latest-120"])
def test_blocks_to_go_by(text: str) -> None:
    assert read_head(text) == text


@pytest.mark.parametrize(
    "text",
    [
        "",
        "pending",
        "earliest",
        "latest-",
        "latest-0",
        "latest-03",
        "latest+3",
        "latest - 3",
        "Latest",
        "latest-3\n",
        "12",
    ],
)
def test_what_is_no_block_to_go_by(text: str) -> None:
    with pytest.raises(InvalidInput, match=r"--block .* is not a valid block name: .* such as latest-3"):
        read_head(text, "--block")


def test_what_to_do_without_a_final_block() -> None:
    assert "use latest-3 instead" in none_there("finalized")
    assert "wait until it has grown" in none_there("latest-3")


@pytest.mark.parametrize(
    "text", ["http://a,http://b:1/x", " http://a , http://b:1/x,", "http://a,http://b:1/x,http://a"]
)
def test_several_addresses(text: str) -> None:
    assert addresses(text) == ["http://a", "http://b:1/x"]


@pytest.mark.parametrize(
    "text", ["", ",", "http://a,b", "http://a,ftp://b", "http://a,http://", "http://a,http://[::1", "http://a:x"]
)
def test_what_is_no_address(text: str) -> None:
    with pytest.raises(ChainUnreachable, match="is not an address"):
        addresses(text)


def test_what_one_endpoint_has_shown_counts_for_the_others() -> None:
    seen = Seen()
    assert not seen.lacks("b", 0)
    seen.note("a", 5, newest=True)
    assert seen.lacks("b", 4)
    assert not seen.lacks("b", 5)
    assert not seen.lacks("a", 4)
    seen.note("b", 4, newest=True)  # no news
    assert seen.lacks("b", 4)
    seen.note("a", 3, newest=False)  # an old block
    assert seen.lacks("b", 4)
    seen.note("a", 3, newest=True)  # it was taken back
    assert not seen.lacks("b", 4)


def test_what_replies_show() -> None:
    calls = [
        {"id": 1, "method": "eth_blockNumber", "params": []},
        {"id": 2, "method": "eth_getBlockByNumber", "params": ["latest", False]},
        {"id": 3, "method": "eth_getTransactionReceipt", "params": ["0x"]},
        {"id": 4, "method": "eth_getBlockByNumber", "params": ["pending", False]},
    ]
    for results in (
        {1: "0x7"},
        {2: {"number": "0x7"}},
        {3: {"blockNumber": "0x7"}},
        {1: "0x7", 2: None, 3: {}, 4: {"number": None}},
    ):
        seen = Seen()
        seen.take("a", calls, results)
        assert seen.lacks("b", 6)
        assert not seen.lacks("b", 7)
