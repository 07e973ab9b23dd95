"""The wire between a worker and its node: it keeps every transaction that ever left the worker, and can be cut.

What the worker wrote to the wire is public, whether or not the node got it: the wire may be anyone's.
"""

from __future__ import annotations

import http.client
import json
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from enum import StrEnum
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import urlsplit

from eth_utils.crypto import keccak

LATE_SECONDS = 0.15
SEND = "eth_sendRawTransaction"


class Fault(StrEnum):
    """What the wire does to an exchange."""

    NONE = "none"
    GONE = "gone"  # nobody answers
    BUSY = "busy"  # an answer, but not the node's
    GARBLED = "garbled"  # likewise, and said to be a good one
    LATE = "late"
    LOST_REPLY = "lost reply"  # the node hears, the worker does not
    CUT_SEND = "cut send"  # likewise for a transaction, and the node does not hear either
    LOST_SEND = "lost send"  # a transaction is taken, and gone
    REFUSED_SEND = "refused send"  # a transaction is seen, and not taken


class Wire:
    """A proxy of a node, on a port of its own."""

    def __init__(self) -> None:
        self.node = ""
        self.fault = Fault.NONE
        #: Every transaction that left, in order, and every byte of every exchange's question.
        self.sent: list[str] = []
        self.questions: list[bytes] = []
        self.exchanges = 0
        self._lock = threading.Lock()
        self._server = _Server(("127.0.0.1", 0), _Exchange)
        self._server.wire = self
        self.url = f"http://127.0.0.1:{self._server.server_port}"
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
        self._thread.start()

    def close(self) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()

    def clear(self) -> None:
        """Begin a new record, with the wire in order."""
        with self._lock:
            self.fault, self.sent, self.questions = Fault.NONE, [], []

    def note(self, question: bytes) -> list[dict[str, Any]]:
        """Keep what was sent before anything else happens to it; return the calls."""
        body = json.loads(question)
        calls: list[dict[str, Any]] = body if isinstance(body, list) else [body]
        with self._lock:
            self.exchanges += 1
            self.questions.append(question)
            self.sent += [call["params"][0] for call in calls if call["method"] == SEND]
        return calls


@contextmanager
def running() -> Iterator[Wire]:
    wire = Wire()
    try:
        yield wire
    finally:
        wire.close()


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False
    wire: Wire

    def handle_error(self, request: object, client_address: object) -> None:
        """Say nothing of workers that were killed in the middle of an exchange."""


class _Exchange(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    server: _Server

    def do_POST(self) -> None:
        wire = self.server.wire
        question = self.rfile.read(int(self.headers["Content-Length"]))
        calls, fault = wire.note(question), wire.fault
        sending = any(call["method"] == SEND for call in calls)
        if fault is Fault.GONE or (fault is Fault.CUT_SEND and sending):
            self.close_connection = True
        elif fault is Fault.BUSY:
            self._answer(503, b"{}")
        elif fault is Fault.GARBLED:
            self._answer(200, b"<html>welcome</html>")
        elif fault in (Fault.LOST_SEND, Fault.REFUSED_SEND) and sending:
            replies = [_drop(call, taken=fault is Fault.LOST_SEND) for call in calls]
            self._answer(200, json.dumps(replies if question.lstrip()[:1] == b"[" else replies[0]).encode())
        else:
            self._forward(question, fault)

    def _forward(self, question: bytes, fault: Fault) -> None:
        if fault is Fault.LATE:
            time.sleep(LATE_SECONDS)
        where = urlsplit(self.server.wire.node)
        connection = http.client.HTTPConnection(where.hostname or "", where.port, timeout=30)
        try:
            connection.request("POST", "/", question, {"Content-Type": "application/json"})
            reply = connection.getresponse()
            status, content = reply.status, reply.read()
        except OSError:
            self.close_connection = True
            return
        finally:
            connection.close()
        if fault is Fault.LOST_REPLY:
            self.close_connection = True
        else:
            self._answer(status, content)

    def _answer(self, status: int, content: bytes) -> None:
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *_: object) -> None:
        """Say nothing."""


def _drop(call: dict[str, Any], *, taken: bool) -> dict[str, Any]:
    """Answer as a node that takes a transaction and loses it, or does not take it."""
    reply = {"jsonrpc": "2.0", "id": call["id"]}
    if taken and call["method"] == SEND:
        return reply | {"result": "0x" + keccak(hexstr=call["params"][0]).hex()}
    return reply | {"error": {"code": -32000, "message": "the pool is full"}}
