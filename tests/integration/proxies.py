"""Small proxies of a node, each on a port of its own, that can be stopped, hang, talk nonsense, or lead to another node."""

from __future__ import annotations

import http.client
import json
import socket
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from enum import StrEnum
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import urlsplit

SEND = "eth_sendRawTransaction"
#: What an endpoint is asked before it is used.
WHO = ["eth_chainId", "eth_getBlockByNumber", "eth_blockNumber"]


class Fault(StrEnum):
    """What is wrong with an endpoint that is there."""

    NONE = "none"
    BUSY = "503"
    GARBLED = "garbled"
    PARTIAL = "partial"  # one reply is missing
    CUT = "cut"  # no reply, and the connection is closed
    HANGS = "hangs"


class Proxy:
    """One endpoint."""

    def __init__(self, node: str) -> None:
        self.node = node
        self.fault = Fault.NONE
        #: Dies when it is asked this, "before" or "after" the node heard of it.
        self.dies_at: tuple[str, str] | None = None
        #: Whether it answers as a chain without final blocks does.
        self.has_finality = True
        self.questions: list[bytes] = []
        self.sent: list[str] = []
        self._end_of_hanging = threading.Event()
        self._connections: set[socket.socket] = set()
        self._server: _Server | None = None
        self.port = 0
        self.start()
        self.url = f"http://127.0.0.1:{self.port}"

    def start(self) -> None:
        """Begin to listen, at the same port as ever."""
        server = self._server = _Server(("127.0.0.1", self.port), _Exchange)
        server.proxy, self.port = self, server.server_port
        threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()

    def stop(self) -> None:
        """Refuse connections from now on, and cut those that there are."""
        server, self._server = self._server, None
        if server is not None:
            server.shutdown()  # not waited for exchanges, so that one of them may do this
            server.server_close()
            for connection in list(self._connections):
                with suppress(OSError):
                    connection.shutdown(socket.SHUT_RDWR)
            self._end_of_hanging.set()

    @property
    def methods(self) -> list[str]:
        """Everything that it was asked, but for who it is."""
        asked = [[call["method"] for call in _calls(question)] for question in self.questions]
        return [method for methods in asked if methods != WHO for method in methods]


@contextmanager
def proxies(node: str, number: int = 2) -> Iterator[list[Proxy]]:
    with ExitStack() as stack:
        made = [Proxy(node) for _ in range(number)]
        for proxy in made:
            stack.callback(proxy.stop)
        yield made


def several(made: list[Proxy]) -> str:
    return ", ".join(proxy.url for proxy in made)


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False
    proxy: Proxy

    def handle_error(self, request: object, client_address: object) -> None:
        """Say nothing of connections that were cut."""


class _Exchange(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    server: _Server

    def setup(self) -> None:
        super().setup()
        self.server.proxy._connections.add(self.connection)

    def finish(self) -> None:
        self.server.proxy._connections.discard(self.connection)
        super().finish()

    def do_POST(self) -> None:
        proxy = self.server.proxy
        question = self.rfile.read(int(self.headers["Content-Length"]))
        calls = _calls(question)
        proxy.questions.append(question)
        proxy.sent += [call["params"][0] for call in calls if call["method"] == SEND]
        deadly, moment = proxy.dies_at or ("", "")
        dies = any(call["method"] == deadly for call in calls) and [call["method"] for call in calls] != WHO
        if dies and moment == "before":
            return self._die()
        if proxy.fault is Fault.HANGS:
            proxy._end_of_hanging.wait(60)
        if proxy.fault in (Fault.CUT, Fault.HANGS):
            self.close_connection = True
        elif proxy.fault is Fault.BUSY:
            self._answer(503, b"{}")
        elif proxy.fault is Fault.GARBLED:
            self._answer(200, b"<html>welcome</html>")
        else:
            replies = self._forward(question, calls)
            if dies:
                return self._die()
            self._answer(200, json.dumps(replies if question[:1] == b"[" else replies[0]).encode())
        return None

    def _die(self) -> None:
        self.close_connection = True
        self.server.proxy.stop()

    def _forward(self, question: bytes, calls: list[dict[str, Any]]) -> list[dict[str, Any]]:
        proxy = self.server.proxy
        where = urlsplit(proxy.node)
        connection = http.client.HTTPConnection(where.hostname or "", where.port, timeout=30)
        connection.request("POST", "/", question, {"Content-Type": "application/json"})
        replies = _calls(connection.getresponse().read())
        connection.close()
        if not proxy.has_finality:
            final = [call["id"] for call in calls if call["params"][:1] in (["finalized"], ["safe"])]
            replies = [_no_finality(reply) if reply["id"] in final else reply for reply in replies]
        return replies[:-1] or [{}] if proxy.fault is Fault.PARTIAL else replies

    def _answer(self, status: int, content: bytes) -> None:
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *_: object) -> None:
        """Say nothing."""


def _calls(body: bytes) -> list[dict[str, Any]]:
    read = json.loads(body)
    return read if isinstance(read, list) else [read]


def _no_finality(reply: dict[str, Any]) -> dict[str, Any]:
    """Answer as go-ethereum 1.13 does where validators take turns."""
    message = "'finalized' tag not supported on pre-merge network"
    return {"jsonrpc": "2.0", "id": reply["id"], "error": {"code": -32000, "message": message}}
