"""How a worker is doing: numbers that anyone may see, kept up to date by what it reports.

Why the promise holds: nothing gets here but names of queries, precisions, hashes, block numbers and kinds of errors; no
true answer, increment, point or secret is ever reported, so none can be shown, logged or scraped.
"""

from __future__ import annotations

import time
from collections import Counter
from fractions import Fraction
from typing import Any

from noiseledger.custodian.view import View

_ETHER = 10**18


class Health:
    """What is known of a running worker; a watcher of it, and the source of line, metrics and report."""

    def __init__(self, stale_seconds: float = 300.0) -> None:
        """Call a worker unwell when it failed last, or when no step was finished for ``stale_seconds``."""
        self.newest: int | None = None
        self.head: int | None = None
        #: Whether the chain has no block to go by, so that nothing can be answered.
        self.lacks_head = False
        self.waiting = 0
        self.answered = 0
        self.refusals = 0
        self.refused: set[str] = set()
        self.budget_left: Fraction | None = None
        self.balance: int | None = None
        self.errors: Counter[str] = Counter()
        self.last_error: str | None = None
        #: By the wall clock, for people and Prometheus only: it may jump.
        self.last_step_time: float | None = None
        self._stale_seconds = stale_seconds
        # Ages are taken from a clock that never jumps.
        self._last_step = time.monotonic()

    def hear(self, event: str, **facts: Any) -> None:
        """Take in what the worker reports."""
        if event == "looked":
            self._saw(facts["view"])
        elif event == "confirmed":
            self.answered += len(facts["stretches"])
        elif event == "refused":
            self.refusals += 1

    def finished(self, refused: set[str], budget_left: Fraction) -> None:
        """Take in that a step was finished without an error."""
        self.refused, self.budget_left, self.last_error = refused, budget_left, None
        self._last_step, self.last_step_time = time.monotonic(), time.time()

    def failed(self, kind: str) -> None:
        """Take in that a step failed."""
        self.errors[kind] += 1
        self.last_error = kind

    @property
    def lag(self) -> int | None:
        """How many blocks the head is behind the newest."""
        return None if self.newest is None or self.head is None else self.newest - self.head

    @property
    def age(self) -> float:
        """Seconds since a step was last finished."""
        return time.monotonic() - self._last_step

    @property
    def is_ok(self) -> bool:
        """Say whether all is well."""
        return self.trouble is None and self.age < self._stale_seconds

    @property
    def trouble(self) -> str | None:
        """The kind of what is wrong: why the last step failed, or why it could answer nothing."""
        return self.last_error or ("NoHead" if self.lacks_head else None)

    def report(self) -> dict[str, Any]:
        """Return what another program needs to know."""
        return {"ok": self.is_ok, "last_error": self.trouble, "last_step_age_seconds": round(self.age, 3)}

    def line(self) -> str:
        """Return all of it in one line."""
        budget = "?" if self.budget_left is None else f"{float(self.budget_left):.4g}"
        balance = "?" if self.balance is None else f"{self.balance / _ETHER:.4f}"
        parts = [
            f"block {_shown(self.newest)} (final: {_shown(self.lag)} behind)",
            f"waiting {self.waiting}",
            f"answered {self.answered}",
            f"refused {len(self.refused)}",
            f"journal's budget left {budget}",
            f"balance {balance} ETH",
            f"last error {self.trouble}" if self.trouble else "ok",
        ]
        return " · ".join(parts)

    def _saw(self, view: View) -> None:
        self.newest, self.balance = view.newest.number, view.balance
        self.head = None if view.head is None else view.head.number
        self.lacks_head = view.head is None
        self.waiting = len(view.waiting)


def _shown(number: int | None) -> str:
    return "?" if number is None else str(number)
