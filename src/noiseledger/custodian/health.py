"""The health of a running worker: numbers that anyone may see, updated by its progress events.

Why the promise holds: events carry only identifiers of queries, precisions, hashes, block numbers and kinds of errors. No
true answer, increment, point or secret is ever reported, so none can be shown, logged or scraped.
"""

from __future__ import annotations

import time
from collections import Counter
from dataclasses import dataclass
from datetime import UTC, datetime
from fractions import Fraction
from typing import Any

from noiseledger.custodian.advice import advise
from noiseledger.ledger.unanswered import OVERDUE_SECONDS, moment
from noiseledger.progress import (
    CatalogueRead,
    CatalogueRefused,
    ClosedQueries,
    Confirmed,
    Looked,
    ProgressEvent,
    Refused,
)

_ETHER = 10**18
#: The report lists at most this many queries.
MOST_OWED = 10


@dataclass(frozen=True)
class OwedAnswer:
    """A query that is bought and not answered since a time, and the kind of the error for which it is refused, if it is."""

    query: str
    since: float
    kind: str | None


class Health:
    """A listener that keeps the state of a running worker, for the status line, the metrics and the report."""

    def __init__(self, stale_seconds: float = 300.0, catalogue: str = "CATALOGUE") -> None:
        """A worker is unhealthy if its last step failed, if it finished no step for ``stale_seconds``, or if it owes an answer.

        ``catalogue`` is its file name, for the commands that the report advises.
        """
        self.newest: int | None = None
        self.head: int | None = None
        #: Whether the chain lacks the block up to which purchases count (see ``--head``), so that nothing can be answered.
        self.lacks_head = False
        self.waiting = 0
        self.answered = 0
        self.refusals = 0
        self.refused: set[str] = set()
        #: By query: the kind of the error for which it is refused, and since when it is bought and not answered.
        self.reasons: dict[str, str] = {}
        self.due: dict[str, float] = {}
        #: The queries that are never answered, because a lost journal may have answered them, and those of them still sold.
        self.closed = ClosedQueries((), ())
        #: The kind of the error for which a changed catalogue, or a query in it, was not taken up.
        self.catalogue_error: str | None = None
        self.budget_left: Fraction | None = None
        self.balance: int | None = None
        self.errors: Counter[str] = Counter()
        self.last_error: str | None = None
        #: The kind of what the worker waits for, such as GasLimit or Gathering.
        self.waits_for: str | None = None
        #: Wall-clock time, which may jump: only for people and Prometheus.
        self.last_step_time: float | None = None
        self._catalogue = catalogue
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
                self.due = {due.query: due.since for due in event.due}
            case Confirmed():
                self.answered += len(event.stretches)
                for stretch in event.stretches:
                    self.due.pop(stretch.query, None)
            case Refused():
                self.refusals += 1
                self.reasons[event.query] = event.kind
            case ClosedQueries():
                self.closed = event
            case CatalogueRefused():
                self.catalogue_error = event.kind
            case CatalogueRead():
                self.catalogue_error = None

    def finished(self, refused: set[str], budget_left: Fraction, waits_for: str | None = None) -> None:
        """Record that a step finished without an error; ``waits_for`` is the kind of what it waits for, if it waits."""
        self.refused, self.budget_left, self.last_error, self.waits_for = refused, budget_left, None, waits_for
        self.reasons = {query: kind for query, kind in self.reasons.items() if query in refused}
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
        """The kind of the current problem: why the last step failed, or why it could not answer something."""
        if self.last_error or self.lacks_head:
            return self.last_error or "NoHead"
        if self.waits_for == "GasLimit":
            return self.waits_for
        if self.closed.sold:
            return "QueryClosed"
        owed = self.owed
        return owed[0].kind or "AnswerOverdue" if owed else None

    @property
    def owed(self) -> list[OwedAnswer]:
        """The queries that are bought and not answered, because they are refused or for too long; the oldest first."""
        now = time.time()
        found = [OwedAnswer(query, since, self.reasons.get(query)) for query, since in self.due.items()]
        return sorted((o for o in found if o.kind or now - o.since >= OVERDUE_SECONDS), key=lambda o: o.since)

    @property
    def oldest_due(self) -> float:
        """Seconds since the oldest unanswered purchase that is final; 0 if there is none."""
        return max(time.time() - min(self.due.values()), 0.0) if self.due else 0.0

    def report(self) -> dict[str, Any]:
        """Return the health for another program."""
        return {
            "ok": self.is_ok,
            "last_error": self.trouble,
            "waits_for": self.waits_for,
            "last_step_age_seconds": round(self.age, 3),
            "unanswered": [self._describe(owed) for owed in self.owed[:MOST_OWED]],
            "closed": list(self.closed.queries[:MOST_OWED]),
            "closed_and_sold": list(self.closed.sold[:MOST_OWED]),
            "catalogue_error": self.catalogue_error,
        }

    def _describe(self, owed: OwedAnswer) -> dict[str, Any]:
        return {
            "query": owed.query,
            "since": round(owed.since, 3),
            "kind": owed.kind,
            "advice": advise(owed.kind, self._catalogue, owed.query),
        }

    def line(self) -> str:
        """Return the status line."""
        budget = "?" if self.budget_left is None else f"{float(self.budget_left):.4g}"
        balance = "?" if self.balance is None else f"{self.balance / _ETHER:.4f}"
        parts = [
            f"block {_shown(self.newest)}, head {_shown(self.lag)} behind",
            f"waiting {self.waiting}",
            f"answered {self.answered}",
            f"refused {len(self.refused)}",
            *([f"bought and not answered since {_since(owed[0].since)}: {len(owed)}"] if (owed := self.owed) else []),
            f"journal's budget left {budget}",
            f"balance {balance} ETH",
            f"last error {self.trouble}" if self.trouble else "ok",
        ]
        return " · ".join(parts)


def _since(seconds: float) -> str:
    return moment(datetime.fromtimestamp(seconds, UTC))


def _shown(number: int | None) -> str:
    return "?" if number is None else str(number)
