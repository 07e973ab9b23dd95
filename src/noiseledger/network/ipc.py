"""Call a node through its IPC socket, which only its owner can open and which offers more than the HTTP port."""

from __future__ import annotations

import json
import socket
from pathlib import Path
from typing import Any

from noiseledger.errors import ChainUnreachable, RpcFailed

TIMEOUT_SECONDS = 10.0


def ask(path: Path, method: str, *params: Any) -> Any:
    """Return the result of one call."""
    body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
    try:
        with socket.socket(socket.AF_UNIX) as connection:
            connection.settimeout(TIMEOUT_SECONDS)
            connection.connect(str(path))
            connection.sendall(json.dumps(body).encode() + b"\n")
            with connection.makefile("rb") as lines:
                reply = json.loads(lines.readline())
    except (OSError, ValueError) as error:
        raise ChainUnreachable(f"No reply on {path} ({type(error).__name__}): is the node running?") from None
    if "error" in reply:
        raise RpcFailed(method, str(reply["error"].get("message")), None)
    return reply.get("result")
