"""Relays for tests: ours, served over HTTP, and hostile ones that swallow, lie, flood, hang and redirect."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager, suppress
from enum import StrEnum
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import uvicorn

from noiseledger.chain import Key, PrivacyLedgerContract, Rpc, Sender, SignedAsk
from noiseledger.relay.relay import Limits, Relay
from noiseledger.relay.service import create_app
from noiseledger.relay.store import RelayStore

DEFAULTS = Limits()


@contextmanager
def relaying(
    contract: PrivacyLedgerContract, folder: Path, key: Key, limits: Limits = DEFAULTS, name: str = "relay"
) -> Iterator[Relay]:
    """A relay as a process would run it: with a connection, a sender and a file of its own."""
    with ExitStack() as stack:
        rpc = stack.enter_context(Rpc(contract.rpc.name))
        own = PrivacyLedgerContract(rpc, contract.address, Sender(rpc, key))
        place = rpc.chain_id, own.address, key.address
        store = stack.enter_context(closing(RelayStore(folder / f"{name}.sqlite", *place)))
        yield Relay(own, store, limits, head="latest")


@contextmanager
def served(relay: Relay) -> Iterator[str]:
    """Serve a relay on a port of its own; yield its address."""
    app = create_app(relay, seconds=0.05, rate=1e6)
    # Without a configuration of its own, which would shut down the log handlers of the whole test process.
    server = uvicorn.Server(uvicorn.Config(app, port=0, log_level="error", log_config=None))
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    try:
        while not server.started:
            assert thread.is_alive()
            thread.join(0.01)
        yield f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}"
    finally:
        server.should_exit = True
        thread.join()


class Lie(StrEnum):
    """What is wrong with a relay."""

    SWALLOWS = "takes it, and does nothing"
    SAYS_FINAL = "says that it was brought, and names another transaction"
    SAYS_REFUSED = "takes it, and then says that it refuses it"
    SAYS_NO = "says that it does not take it"
    GARBAGE = "replies with garbage"
    NESTED = "replies with deeply nested JSON"
    FLOOD = "replies with 10 MB"
    BOMB = "replies with a little that unpacks to 10 MB"
    DRIPS = "replies byte by byte, without an end"
    HANGS = "never replies"
    REDIRECTS = "sends us somewhere else"
    CUTS = "closes the connection"


#: Those that say that they have taken the request, or something that could be read so.
TAKES_IT = (Lie.SWALLOWS, Lie.SAYS_FINAL, Lie.SAYS_REFUSED)
#: What a hostile relay writes into its reason: it must not reach a terminal as it is.
HOSTILE_REASON = "\x1b]0;owned\x07[red]no[/red]" + "a" * 100_000


class HostileRelay:
    """A server at a relay's place, which remembers what it was given."""

    def __init__(self, lie: Lie, transaction: str = "0x" + "1" * 64) -> None:
        self.lie, self.transaction = lie, transaction
        self.taken: list[SignedAsk] = []
        #: The paths that it was asked for.
        self.paths: list[str] = []
        self.over = threading.Event()

    def reply(self, method: str) -> tuple[int, bytes, dict[str, str]]:
        final = {"state": "final", "transaction": self.transaction, "block": 1, "reason": None}
        match self.lie:
            case Lie.SWALLOWS:
                return 202, json.dumps({"state": "sent"}).encode(), {}
            case Lie.SAYS_FINAL:
                return 202, json.dumps(final).encode(), {}
            case Lie.SAYS_REFUSED:
                state = "queued" if method == "POST" else "refused"
                return 202, json.dumps({"state": state, "reason": HOSTILE_REASON[:100]}).encode(), {}
            case Lie.SAYS_NO:
                return 409, json.dumps({"error": {"type": "x", "message": HOSTILE_REASON[:5000]}}).encode(), {}
            case Lie.NESTED:
                return 500, b"[" * 10_000, {}
            case Lie.FLOOD:
                return 202, b"x" * 10_000_000, {}
            case Lie.BOMB:
                import gzip

                return 202, gzip.compress(b" " * 10_000_000), {"Content-Encoding": "gzip"}
            case Lie.REDIRECTS:
                return 307, b"", {"Location": "/elsewhere"}
            case _:
                return 200, b"\xff<html>", {}


@contextmanager
def hostile(lie: Lie) -> Iterator[tuple[HostileRelay, str]]:
    """Serve a hostile relay; yield it and its address."""
    relay = HostileRelay(lie)

    class Handler(BaseHTTPRequestHandler):
        def log_message(self, *_: Any) -> None:
            pass

        def _answer(self) -> None:
            relay.paths.append(self.path)
            length = int(self.headers.get("Content-Length") or 0)
            if length:
                relay.taken.append(SignedAsk.read(self.rfile.read(length)))
            with suppress(OSError):
                self._send()

        def _send(self) -> None:
            if relay.lie is Lie.HANGS:
                relay.over.wait(30)
            if relay.lie in (Lie.HANGS, Lie.CUTS):
                self.close_connection = True
                return
            if relay.lie is Lie.DRIPS:
                self.wfile.write(b"HTTP/1.1 202 Accepted\r\nContent-Length: 1000\r\n\r\n{")
                while not relay.over.wait(0.05):
                    self.wfile.write(b" ")
                return
            status, content, headers = relay.reply(self.command)
            self.send_response(status)
            for name, value in {**headers, "Content-Length": str(len(content))}.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(content)

        do_GET = do_POST = _answer  # noqa: N815 - the names that http.server looks for

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    try:
        yield relay, f"http://127.0.0.1:{server.server_port}"
    finally:
        relay.over.set()
        server.shutdown()
        server.server_close()
        thread.join()
