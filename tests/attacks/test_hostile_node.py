"""A node's replies that are odd or hostile."""

from __future__ import annotations

import contextlib
import json
import logging
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from noiseledger.chain import Rpc, abi
from noiseledger.chain.contract import event
from noiseledger.chain.refusals import typed
from noiseledger.errors import NoiseledgerError, RpcFailed

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
        threading.Thread(target=http.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{http.server_address[1]}"
        http.shutdown()


def test_no_log_of_the_http_library_contains_the_key_of_an_endpoint(caplog: pytest.LogCaptureFixture) -> None:
    def answer(handler: Any, body: Any) -> None:
        calls = body if isinstance(body, list) else [body]
        block = {"number": "0x0", "hash": "0x" + "00" * 32, "timestamp": "0x0"}
        found = [
            {"jsonrpc": "2.0", "id": c["id"], "result": "0x1" if c["method"] == "eth_chainId" else block} for c in calls
        ]
        content = json.dumps(found if isinstance(body, list) else found[0]).encode()
        handler.send_response(200)
        handler.send_header("Content-Length", str(len(content)))
        handler.end_headers()
        handler.wfile.write(content)

    with server(answer) as url, caplog.at_level(logging.INFO), contextlib.suppress(NoiseledgerError):
        Rpc(f"{url}/v3/SECRET", attempts=1).close()
    assert "SECRET" not in caplog.text
