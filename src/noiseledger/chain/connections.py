"""The connections of an exchange, so that one that takes too long can be cut, however slowly its bytes arrive."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any
from weakref import WeakSet


class Connections:
    """The connections that were opened to one server."""

    def __init__(self) -> None:
        """Begin without any."""
        self._lock = threading.Lock()
        self._sockets = WeakSet[socket.socket]()

    def notice(self, _: str, info: dict[str, Any]) -> None:
        """Remember each connection that is made; this is httpx's ``trace``."""
        made: Any = info.get("return_value")
        if hasattr(made, "get_extra_info"):  # a connection
            with self._lock:
                self._sockets.add(made.get_extra_info("socket"))

    @contextmanager
    def closed_at(self, moment: float) -> Iterator[None]:
        """Cut the connections at a moment, if an exchange is not done by then, as a context manager.

        Others who use them at that time lose their reply too, and ask again.
        """
        timer = threading.Timer(moment - time.monotonic(), self._cut)
        timer.daemon = True
        timer.start()
        try:
            yield
        finally:
            timer.cancel()

    def _cut(self) -> None:
        with self._lock:
            opened = list(self._sockets)
        for connection in opened:
            with suppress(OSError):  # closed already
                # Not the method of a TLS socket, which changes what the thread that reads is using.
                socket.socket.shutdown(connection, socket.SHUT_RDWR)
