"""The health of a running worker: numbers that anyone may see, updated by its progress events.

Why the promise holds: events carry only identifiers of queries, precisions, hashes, block numbers and kinds of errors. No
true answer, increment, point or secret is ever reported, so none can be shown, logged or scraped.
"""

from __future__ import annotations

import time
from collections import Counter
from fractions import Fraction
from typing import Any

from noiseledger.progress import Confirmed, Looked, ProgressEvent, Refused

_ETHER = 10**18


class Health:
    """A listener that keeps the state of a running worker, for the status line, the metrics and the report."""

    def __init__(self, stale_seconds: float = 300.0) -> None:
        """A worker is unhealthy if its last step failed, or if it finished no step for ``stale_seconds``."""
        self.newest: int | None = None
        self.head: int | None = None
        #: Whether the chain lacks the block up to which purchases count (see ``--head``), so that nothing can be answered.
        self.lacks_head = False
        self.waiting = 0
        self.answered = 0
        self.refusals = 0
        self.refused: set[str] = set()
        self.budget_left: Fraction | None = None
        self.balance: int | None = None
        self.errors: Counter[str] = Counter()
        self.last_error: str | None = None
        #: Wall-clock time, which may jump: only for people and Prometheus.
        self.last_step_time: float | None = None
        self._stale_seconds = stale_seconds
        # Ages are measured with a clock that never jumps.
        self._last_step = time.monotonic()

    def on_event(self, event: ProgressEvent) -> None:
        """Update the numbers."""
        match event:
            case Looked():
                self.newest, self.head, self.balance = event.newest, event.head, event.balance
                self.lacks_head = event.head is None
                self.waiting = event.waiting
            case Confirmed():
                self.answered += len(event.stretches)
            case Refused():
                self.refusals += 1

    def finished(self, refused: set[str], budget_left: Fraction) -> None:
        """Record that a step finished without an error."""
        self.refused, self.budget_left, self.last_error = refused, budget_left, None
        self._last_step, self.last_step_time = time.monotonic(), time.time()

    def failed(self, kind: str) -> None:
        """Record that a step failed."""
        self.errors[kind] += 1
        self.last_error = kind

    @property
    def lag(self) -> int | None:
        """By how many blocks the head is behind the newest block."""
        return None if self.newest is None or self.head is None else self.newest - self.head

    @property
    def age(self) -> float:
        """Seconds since the last step finished."""
        return time.monotonic() - self._last_step

    @property
    def is_ok(self) -> bool:
        """Whether the worker is healthy."""
        return self.trouble is None and self.age < self._stale_seconds

    @property
    def trouble(self) -> str | None:
        """The kind of the current problem: why the last step failed, or why it could not answer anything."""
        return self.last_error or ("NoHead" if self.lacks_head else None)

    def report(self) -> dict[str, Any]:
        """Return the health for another program."""
        return {"ok": self.is_ok, "last_error": self.trouble, "last_step_age_seconds": round(self.age, 3)}

    def line(self) -> str:
        """Return the status line."""
        budget = "?" if self.budget_left is None else f"{float(self.budget_left):.4g}"
        balance = "?" if self.balance is None else f"{self.balance / _ETHER:.4f}"
        parts = [
            f"block {_shown(self.newest)}, head {_shown(self.lag)} behind",
            f"waiting {self.waiting}",
            f"answered {self.answered}",
            f"refused {len(self.refused)}",
            f"journal's budget left {budget}",
            f"balance {balance} ETH",
            f"last error {self.trouble}" if self.trouble else "ok",
        ]
        return " · ".join(parts)


def _shown(number: int | None) -> str:
    return "?" if number is None else str(number)
