"""The numbered steps of a worker, and kill -9 at any of them.

Each step is caught where it leaves Python for the world: the generator, SQLite, the signature, HTTP.
"""

from __future__ import annotations

import os
import signal
import sqlite3
from collections.abc import Callable
from functools import wraps
from typing import Any

import httpx2

from noiseledger.chain.keys import Key
from noiseledger.core import path
from noiseledger.core.noise import rounded_gaussians

STEPS = ("draw", "journal", "sign", "send", "confirm")
MOMENTS = tuple(f"{side} {step}" for step in STEPS for side in ("before", "after"))
#: Any SQL statement, exchange with the node, draw or signature: the n-th of them all.
ANY = "any"
_METHODS = {b"eth_sendRawTransaction": "send", b"eth_getTransactionReceipt": "confirm"}


class Reaper:
    """Kills this very process, with no chance to clean up, at the n-th time that a moment comes."""

    def __init__(self, moment: str, count: int) -> None:
        self._moment = moment
        self._left = count

    def come(self, moment: str) -> None:
        if self._moment in (moment, ANY):
            self._left -= 1
            if self._left == 0:
                os.kill(os.getpid(), signal.SIGKILL)

    def install(self) -> None:
        """Watch every step of this process."""
        vars(path)["rounded_gaussians"] = self._around("draw", rounded_gaussians)
        Key.sign = self._around("sign", Key.sign)  # type: ignore[method-assign]
        httpx2.Client.send = self._around_exchange(httpx2.Client.send)  # type: ignore[method-assign]
        connect, reaper = sqlite3.connect, self

        class Watched(sqlite3.Connection):
            def execute(self, sql: str, *parameters: Any) -> sqlite3.Cursor:
                step = "journal" if sql == "COMMIT" else "statement"
                reaper.come(f"before {step}")
                cursor = super().execute(sql, *parameters)
                reaper.come(f"after {step}")
                return cursor

        sqlite3.connect = lambda *args, **kwargs: connect(*args, **{"factory": Watched, **kwargs})

    def _around(self, step: str, function: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(function)
        def watched(*args: Any, **kwargs: Any) -> Any:
            self.come(f"before {step}")
            result = function(*args, **kwargs)
            self.come(f"after {step}")
            return result

        return watched

    def _around_exchange(self, send: Callable[..., Any]) -> Callable[..., Any]:
        def watched(client: httpx2.Client, request: httpx2.Request, **kwargs: Any) -> Any:
            content = request.read()
            step = next((step for method, step in _METHODS.items() if method in content), "exchange")
            self.come(f"before {step}")
            response = send(client, request, **kwargs)
            self.come(f"after {step}")
            return response

        return watched
