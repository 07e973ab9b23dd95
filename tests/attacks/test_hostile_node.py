"""A node's replies that are odd or hostile."""

from __future__ import annotations

import contextlib
import gzip
import json
import logging
import threading
import tracemalloc
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from noiseledger.chain import PrivacyLedgerContract, Rpc, abi
from noiseledger.chain.contract import event
from noiseledger.chain.logs import LOG_BLOCKS
from noiseledger.chain.refusals import typed
from noiseledger.cli.commands.doctor import _check_chain
from noiseledger.errors import ChainUnreachable, NoiseledgerError, RpcFailed

REASON = "0x08c379a0"


@pytest.mark.parametrize(
    "data",
    ["Reverted 0x08c379a0", "execution reverted", "0x0", REASON, REASON + (32).to_bytes(32).hex() + "ff" * 32],
    ids=["parity", "words", "odd", "short", "long"],
)
def test_odd_revert_data_is_a_typed_error(data: str) -> None:
    assert isinstance(typed(RpcFailed("eth_call", "execution reverted", data)), NoiseledgerError)


@pytest.mark.parametrize(
    "topics", [[], ["0x" + "00" * 32], [abi.event_topic("Revealed")], [abi.event_topic("Revealed"), "0x" + "00" * 32]]
)
def test_an_odd_log_is_a_typed_error(topics: list[str]) -> None:
    log = {"topics": topics, "data": "0x", "blockNumber": "0x1", "blockHash": "0x" + "00" * 32, "logIndex": "0x0"}
    with pytest.raises(NoiseledgerError):
        event(log | {"transactionHash": "0x" + "00" * 32})


@contextmanager
def server(answer: Any) -> Iterator[str]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            with contextlib.suppress(BrokenPipeError, ConnectionResetError):
                answer(self, body)

        def log_message(self, *_: Any) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as http:
        http.daemon_threads = True
        threading.Thread(target=http.serve_forever, args=[0.01], daemon=True).start()
        yield f"http://127.0.0.1:{http.server_address[1]}"
        http.shutdown()


def found(body: Any, **results: Any) -> bytes:
    """Return an honest node's reply, but for some methods."""
    block = {"number": "0x0", "hash": "0x" + "00" * 32, "timestamp": "0x0"}
    known = {"eth_chainId": "0x1", "eth_blockNumber": "0x0", "eth_getBlockByNumber": block} | results
    calls = body if isinstance(body, list) else [body]
    replies = [{"jsonrpc": "2.0", "id": call["id"], "result": known.get(call["method"])} for call in calls]
    return json.dumps(replies if isinstance(body, list) else replies[0]).encode()


def send(handler: Any, content: bytes, **headers: str) -> None:
    handler.send_response(200)
    for name, value in ({"Content_Length": str(len(content))} | headers).items():
        handler.send_header(name.replace("_", "-"), value)
    handler.end_headers()
    handler.wfile.write(content)


def test_nothing_that_is_shown_contains_the_key_of_an_endpoint(caplog: pytest.LogCaptureFixture) -> None:
    honest = server(lambda handler, body: send(handler, found(body)))
    with caplog.at_level(logging.INFO), honest as url, Rpc(f"{url}/v3/SECRET", attempts=1) as rpc:
        assert _check_chain(rpc).found == f"chain 1 at {url}"
    assert "SECRET" not in caplog.text


# A reply that does not end.


def bomb(megabytes: int) -> bytes:
    return gzip.compress(b"[" + b" " * megabytes * 2**20 + b"]", compresslevel=1)


@pytest.mark.parametrize("encoding", ["gzip", "gzip, gzip", "deflate"])
def test_a_reply_that_unpacks_to_too_much_is_given_up(encoding: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A thousandth of it goes over the wire; only as much as we accept is ever unpacked."""
    monkeypatch.setattr("noiseledger.chain.endpoint.MOST_REPLY_BYTES", 2**20)
    content = gzip.compress(bomb(16), compresslevel=1) if "," in encoding else bomb(16)
    with server(lambda handler, _: send(handler, content, Content_Encoding=encoding)) as url:
        tracemalloc.start()
        try:
            with pytest.raises(ChainUnreachable, match=r"more than 1 MB|No answer"):
                Rpc(url, attempts=1)
            assert tracemalloc.get_traced_memory()[1] < 2**23
        finally:
            tracemalloc.stop()


@pytest.mark.parametrize("headers", [False, True], ids=["content", "headers"])
def test_a_reply_that_arrives_byte_by_byte_is_given_up(headers: bool) -> None:
    """Each byte comes within the timeout, and the last one never does."""

    def drip(handler: Any, _: Any) -> None:
        handler.connection.sendall(b"HTTP/1.1 200 OK\r\n" + (b"X: " if headers else b"Content-Length: 1000000\r\n\r\n"))
        while not done.wait(0.02):
            handler.connection.sendall(b" ")

    done = threading.Event()
    with server(drip) as url:
        try:
            with pytest.raises(ChainUnreachable, match="No answer from the chain"):
                Rpc(url, timeout=0.2, attempts=1)
        finally:
            done.set()


def test_whoever_asks_for_fewer_blocks_after_a_reply_that_was_too_large_gets_them(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A stranger may fill blocks with free requests: the ledger can still be read, in smaller portions."""
    monkeypatch.setattr("noiseledger.chain.endpoint.MOST_REPLY_BYTES", 10_000)
    spans: list[int] = []

    def answer(handler: Any, body: Any) -> None:
        calls = body if isinstance(body, list) else [body]
        filter_of = [call["params"][0] for call in calls if call["method"] == "eth_getLogs"]
        spans.extend(int(span["toBlock"], 16) - int(span["fromBlock"], 16) + 1 for span in filter_of)
        padding = b" " * 10 * sum(spans[-1:]) if filter_of else b""
        block = {"number": "0xfff", "hash": "0x" + "00" * 32, "timestamp": "0x0"}
        send(
            handler,
            padding + found(body, eth_getLogs=[], eth_getBlockByNumber=block, eth_getCode="0x01", eth_call="0x"),
        )

    with server(answer) as url, Rpc(url, attempts=1) as rpc:
        contract = PrivacyLedgerContract(rpc, "0x" + "00" * 20)
        assert list(contract.events(["Asked"])) == []
    assert spans[0] == LOG_BLOCKS
    assert spans[-2] < 1000
    assert sum(span for span in spans if span == spans[-2]) + spans[-1] == 0x1000


@pytest.mark.parametrize(
    "text",
    [
        "https//host/v3/SECRET",
        "https:/host/v3/SECRET",
        "host/v3/SECRET",
        "SECRET",
        "https://host:SECRET",
        "ftp://SECRET",
    ]
    + [r"https:\\host\v3\SECRET", "https://me:SECRET@host:x", "http://127.0.0.1:8545/v3/a,SECRET"],
)
def test_an_address_that_is_mistyped_is_not_quoted(text: str) -> None:
    with pytest.raises(ChainUnreachable, match="is not an address such as http") as caught:
        Rpc(text, attempts=1)
    assert "SECRET" not in str(caught.value)
