"""The newest block that any of several endpoints has shown, so that an endpoint that lags behind is recognised."""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass
from typing import Any

#: How long a block counts. By then a healthy node has caught up, or the chain was reorganised.
SEEN_SECONDS = 60.0

#: The field of each method's reply that contains the number of an existing block.
_FIELDS = {"eth_getBlockByNumber": "number", "eth_getBlockByHash": "number", "eth_getTransactionReceipt": "blockNumber"}


@dataclass(frozen=True)
class _Shown:
    block: int
    by: str
    at: float


class Seen:
    """Remembers the newest block, the endpoint that showed it, and when; threads may share it."""

    def __init__(self) -> None:
        """Start without a block."""
        self._newest: _Shown | None = None
        self._lock = threading.Lock()

    def lacks(self, endpoint: str, newest: int) -> bool:
        """Return whether an endpoint with this newest block is behind another one."""
        shown = self._newest
        return shown is not None and shown.by != endpoint and newest < shown.block and not _is_old(shown)

    def note(self, endpoint: str, block: int, *, newest: bool) -> None:
        """Record a block; if it is the endpoint's newest, it replaces the block that the endpoint showed before."""
        with self._lock:
            shown = self._newest
            if shown is None or _is_old(shown) or block >= shown.block or (newest and shown.by == endpoint):
                self._newest = _Shown(block, endpoint, time.monotonic())

    def take(self, endpoint: str, calls: list[dict[str, Any]], results: dict[int, Any]) -> None:
        """Record the blocks in the results of these calls."""
        for call in calls:
            block = _block(call["method"], results.get(call["id"]))
            if block is not None:
                is_newest = call["method"] == "eth_blockNumber" or call["params"][:1] == ["latest"]
                self.note(endpoint, block, newest=is_newest)


def _is_old(shown: _Shown) -> bool:
    return time.monotonic() - shown.at >= SEEN_SECONDS


def _block(method: str, result: Any) -> int | None:
    if method in _FIELDS and isinstance(result, dict):
        result = result.get(_FIELDS[method])
    elif method != "eth_blockNumber":
        return None
    try:
        return int(result, 16)
    except (TypeError, ValueError):
        return None  # a pending block has no number
