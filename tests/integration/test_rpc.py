from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any

import pytest

from noiseledger.chain import Rpc, endpoints, rpc
from noiseledger.errors import ChainMismatch, ChainUnreachable, RpcFailed


@contextmanager
def faulty_node(answer: Callable[[Any], bytes | int | None]) -> Iterator[str]:
    """Serve JSON-RPC with a fault: bytes are sent as they are, a number is an HTTP status, None drops the connection."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            reply = answer(body)
            if reply is None:
                self.close_connection = True
                self.connection.close()
                return
            self.send_response(reply if isinstance(reply, int) else 200)
            self.end_headers()
            self.wfile.write(reply if isinstance(reply, bytes) else b"")

        def log_message(self, *_: object) -> None:
            pass

    server = HTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    thread.join()
    server.server_close()


def chain_id_reply(body: Any) -> bytes:
    """Answer as a node on a chain that is a single block."""
    block = {"number": "0x0", "hash": "0x" + "ab" * 32, "timestamp": "0x0"}
    known = {"eth_chainId": "0x7a69", "eth_blockNumber": "0x0", "eth_getBlockByNumber": block}
    replies = [{"jsonrpc": "2.0", "id": call["id"], "result": known.get(call["method"])} for call in body]
    return json.dumps(replies).encode()


@pytest.fixture(autouse=True)
def short_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(endpoints, "FIRST_PAUSE_SECONDS", 0.01)


def test_batches_keep_their_order_and_carry_failures(url: str) -> None:
    with Rpc(url) as chain:
        calls: list[rpc.Call] = [("eth_chainId", []), ("eth_noSuchThing", []), *[("eth_blockNumber", [])] * 250]
        results = chain.batch(calls)
        assert results[0] == "0x7a69"
        assert isinstance(results[1], RpcFailed)
        assert len(results) == 252
        with pytest.raises(RpcFailed, match="eth_noSuchThing"):
            chain.call("eth_noSuchThing")


def test_large_batches_are_split_by_bytes(url: str) -> None:
    with Rpc(url) as chain:
        filler = "0x" + "00" * 400_000  # nodes refuse bodies of a few megabytes
        results = chain.batch([("web3_sha3", [filler])] * 5)
        assert len(set(results)) == 1
        assert results[0].startswith("0x")


def test_another_chain_is_refused(url: str) -> None:
    with pytest.raises(ChainMismatch, match="chain 31337, but this ledger is on chain 1"):
        Rpc(url, chain_id=1)
    Rpc(url, chain_id=31337).close()


@pytest.mark.parametrize("address", ["http://127.0.0.1:1", "ftp://127.0.0.1", "nonsense", ""])
def test_nothing_there_is_said_plainly(address: str) -> None:
    with pytest.raises(ChainUnreachable, match=r"is the node running\?|is not an address"):
        Rpc(address)


@pytest.mark.parametrize("fault", [None, 503, b"<html>not JSON</html>"])
def test_a_passing_fault_is_retried(fault: bytes | int | None) -> None:
    bodies: list[Any] = []

    def answer(body: Any) -> bytes | int | None:
        bodies.append(body)
        return fault if len(bodies) < 3 else chain_id_reply(body)

    with faulty_node(answer) as address, Rpc(address) as chain:
        assert chain.chain_id == 31337
    assert len(bodies) == 3
    assert bodies[0] == bodies[1] == bodies[2]  # the very same bytes


@pytest.mark.parametrize("fault", [None, 503, b"not JSON"])
def test_a_lasting_fault_is_an_error(fault: bytes | int | None) -> None:
    with faulty_node(lambda _: fault) as address, pytest.raises(ChainUnreachable, match="is the node running"):
        Rpc(address)


def test_a_batch_that_is_answered_in_part_is_refused() -> None:
    def answer(body: Any) -> bytes:
        asks_who = [call["method"] for call in body][1:2] == ["eth_getBlockByNumber"]
        return chain_id_reply(body if asks_who else body[:1])

    with (
        faulty_node(answer) as address,
        Rpc(address) as chain,
        pytest.raises(ChainUnreachable, match="no valid reply"),
    ):
        chain.batch([("eth_chainId", []), ("eth_chainId", [])])
