"""A node's reply that is no answer is refused at the door, so nobody further in meets it."""

from __future__ import annotations

from typing import Any

import pytest

from noiseledger.chain.replies import answers

HASH, ADDRESS = "0x" + "ab" * 32, "0x" + "cd" * 20
BLOCK = {"number": "0x1", "hash": HASH, "timestamp": "0x2"}
LOG = {
    "address": ADDRESS,
    "topics": [HASH],
    "data": "0x",
    "blockNumber": "0x1",
    "blockHash": HASH,
    "logIndex": "0x0",
    "transactionHash": HASH,
}
RECEIPT = {
    "transactionHash": HASH,
    "blockNumber": "0x1",
    "blockHash": HASH,
    "status": "0x1",
    "gasUsed": "0x5208",
    "contractAddress": None,
    "logs": [LOG],
}
PROPER: list[tuple[str, Any]] = [
    ("eth_blockNumber", "0x1"),
    ("eth_getBalance", "0x0"),
    ("eth_call", "0x"),
    ("eth_getCode", "0x60"),
    ("eth_sendRawTransaction", HASH),
    ("eth_getLogs", []),
    ("eth_getLogs", [LOG]),
    ("eth_getBlockByNumber", BLOCK),
    ("eth_getBlockByNumber", BLOCK | {"baseFeePerGas": "0x7"}),
    ("eth_getBlockByNumber", BLOCK | {"transactions": [HASH]}),
    ("eth_getBlockByNumber", BLOCK | {"transactions": [{"hash": HASH}]}),  # if whole transactions were asked for
    ("eth_getBlockByNumber", None),
    ("eth_getTransactionReceipt", RECEIPT),
    ("eth_getTransactionReceipt", RECEIPT | {"contractAddress": ADDRESS}),
    ("eth_getTransactionReceipt", None),
    ("eth_noSuchThing", None),
    ("eth_noSuchThing", {"any": "thing"}),
]
IMPROPER: list[tuple[str, Any]] = [
    ("eth_blockNumber", None),
    ("eth_blockNumber", 1),
    ("eth_blockNumber", "1"),
    ("eth_blockNumber", "0x"),
    ("eth_blockNumber", "0x" + "1" * 65),
    ("eth_call", None),
    ("eth_call", "0x123"),
    ("eth_getCode", []),
    ("eth_sendRawTransaction", "0xab"),
    ("eth_getLogs", None),
    ("eth_getLogs", {}),
    ("eth_getLogs", [None]),
    *(("eth_getLogs", [LOG | {name: None}]) for name in LOG),
    ("eth_getLogs", [LOG | {"topics": ["0xab"]}]),
    ("eth_getBlockByNumber", "0x1"),
    *(("eth_getBlockByNumber", BLOCK | {name: None}) for name in BLOCK),
    ("eth_getBlockByNumber", BLOCK | {"baseFeePerGas": 7}),
    ("eth_getBlockByNumber", BLOCK | {"transactions": HASH}),
    ("eth_getBlockByNumber", BLOCK | {"transactions": ["0x1"]}),
    ("eth_getBlockByNumber", BLOCK | {"timestamp": "0x" + "f" * 10}),
    *(("eth_getTransactionReceipt", RECEIPT | {name: None}) for name in RECEIPT if name != "contractAddress"),
    ("eth_getTransactionReceipt", RECEIPT | {"contractAddress": "0x"}),
    ("eth_getTransactionByHash", {"hash": 5}),
]


def call(method: str, *params: Any, number: int = 0) -> dict[str, Any]:
    return {"id": number, "method": method, "params": list(params)}


@pytest.mark.parametrize(("method", "result"), PROPER)
def test_what_a_method_can_return_is_an_answer(method: str, result: Any) -> None:
    assert answers([call(method)], [{"id": 0, "result": result}])


@pytest.mark.parametrize(("method", "result"), IMPROPER)
def test_what_a_method_cannot_return_is_none(method: str, result: Any) -> None:
    assert not answers([call(method)], [{"id": 0, "result": result}])


def test_there_is_always_a_newest_block() -> None:
    assert not answers([call("eth_getBlockByNumber", "latest", False)], [{"id": 0, "result": None}])
    assert answers([call("eth_getBlockByNumber", "finalized", False)], [{"id": 0, "result": None}])


def test_a_reply_about_something_else_is_no_answer() -> None:
    for method, result in (("eth_getTransactionReceipt", RECEIPT), ("eth_getTransactionByHash", {"hash": HASH})):
        assert answers([call(method, HASH.upper().replace("0X", "0x"))], [{"id": 0, "result": result}])
        assert not answers([call(method, "0x" + "cd" * 32)], [{"id": 0, "result": result}])
    assert answers([call("eth_getLogs", {"address": ADDRESS})], [{"id": 0, "result": [LOG]}])
    assert not answers([call("eth_getLogs", {"address": "0x" + "ab" * 20})], [{"id": 0, "result": [LOG]}])


@pytest.mark.parametrize("error", [None, "no", 5, []])
def test_an_error_is_an_object(error: Any) -> None:
    assert answers([call("eth_call")], [{"id": 0, "error": {"code": 3}}])
    assert not answers([call("eth_call")], [{"id": 0, "error": error}])


@pytest.mark.parametrize(
    "replies",
    [
        [],
        [None],
        ["0x1"],
        [{"result": "0x1"}],
        [{"id": None, "result": "0x1"}],
        [{"id": True, "result": "0x1"}],
        [{"id": [], "result": "0x1"}],
        [{"id": 1, "result": "0x1"}],
        [{"id": 1, "result": "0x1"}] * 2,
        [{"id": 1, "result": "0x1"}, {"id": 3, "result": "0x1"}],
        [{"id": number, "result": "0x1"} for number in (1, 2, 3)],
        [{"id": 1}, {"id": 2, "result": "0x1"}],
    ],
)
def test_every_call_has_one_reply(replies: list[Any]) -> None:
    calls = [call("eth_blockNumber", number=number) for number in (1, 2)]
    assert not answers(calls, replies)
    assert answers(calls, [{"id": number, "result": "0x1"} for number in (2, 1)])
