"""A validator's signer: holds its key, seals blocks, and signs nothing else.

A node with an unlocked key signs anything for anyone who can reach its HTTP port. So the node has no key. It asks this
program, through a socket that only its owner can open, and everything except the header of a block is refused.

Started with ``--wait``, it delays the first seals until it is told that the other validators are ready.
"""

from __future__ import annotations

import json
import os
import socketserver
import sys
import threading
from pathlib import Path
from typing import Any

from coincurve import PrivateKey

from noiseledger.chain.keccak import keccak

SOCKET = "signer.ipc"
KEY = "sealing.key"
WAIT = "--wait"
BEGIN = "noiseledger_begin"

_HEADER_TYPE = "application/x-clique-header"
_NOT_OURS = -32601
#: The hash of an empty list of uncles, which follows the parent's hash in every block; no transaction starts like this.
_NO_UNCLES = bytes.fromhex("a01dcc4de8dec75d7aab85b567b6ccd41ad312451b948a7413f0a142fd40d49347")
_LIST_START = 3


class Refused(Exception):
    """A request that this signer refuses to sign."""


class Signer:
    """Implements go-ethereum's interface of an external signer."""

    def __init__(self, key: PrivateKey, *, waits: bool = False) -> None:
        """Store the key; with ``waits``, seal nothing until told to begin."""
        self._key = key
        self._begun = threading.Event()
        if not waits:
            self._begun.set()
        self.address = "0x" + keccak(key.public_key.format(compressed=False)[1:])[-20:].hex()

    def answer(self, request: dict[str, Any]) -> dict[str, Any]:
        """Return the reply to one call."""
        reply = {"jsonrpc": "2.0", "id": request.get("id")}
        try:
            return reply | {"result": self._result(request.get("method"), request.get("params") or [])}
        except Refused as error:
            return reply | {"error": {"code": _NOT_OURS, "message": str(error)}}

    def _result(self, method: object, params: list[Any]) -> Any:
        match method, params:
            case "account_version", _:
                return "6.1.0"
            case "account_list", _:
                return [self.address]
            case method, _ if method == BEGIN:
                self._begun.set()
                return None
            case "account_signData", [str(kind), str(address), str(data)] if kind == _HEADER_TYPE:
                if address.lower() == self.address:
                    return self._seal(bytes.fromhex(data.removeprefix("0x")))
        raise Refused("this signer seals blocks and signs nothing else")

    def _seal(self, header: bytes) -> str:
        parent_end = _LIST_START + 33
        whole = header[:1] == b"\xf9" and int.from_bytes(header[1:_LIST_START]) == len(header) - _LIST_START
        if not (whole and header[_LIST_START] == 0xA0 and header[parent_end:].startswith(_NO_UNCLES)):
            raise Refused("this is not the header of a block")
        self._begun.wait()
        return "0x" + self._key.sign_recoverable(keccak(header), hasher=None).hex()


class _Conversation(socketserver.StreamRequestHandler):
    """One connection, with one call per line."""

    server: _Server

    def handle(self) -> None:
        for line in self.rfile:
            try:
                reply = self.server.signer.answer(json.loads(line))
            except (ValueError, AttributeError):
                return
            self.wfile.write(json.dumps(reply).encode() + b"\n")


class _Server(socketserver.ThreadingUnixStreamServer):
    daemon_threads = True
    signer: Signer


def main(home: Path, *, waits: bool) -> None:
    """Serve the validator in this folder until stopped."""
    key = PrivateKey.from_hex((home / KEY).read_text(encoding="ascii").strip())
    (home / SOCKET).unlink(missing_ok=True)
    os.umask(0o177)
    with _Server(str(home / SOCKET), _Conversation) as server:
        server.signer = Signer(key, waits=waits)
        server.serve_forever(poll_interval=3600)


if __name__ == "__main__":
    main(Path(sys.argv[1]), waits=WAIT in sys.argv[2:])
