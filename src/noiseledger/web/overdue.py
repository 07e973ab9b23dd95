"""Queries that are bought and not answered for too long, or that the worker reports that it cannot answer."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from noiseledger.ledger.snapshot import LedgerSnapshot
from noiseledger.ledger.unanswered import REASONS


@dataclass(frozen=True)
class OverdueQuery:
    """A query that is bought and not answered, the block and time of its oldest unanswered purchase, and why, if known."""

    query: str
    block: int
    since: datetime
    reason: str | None


def find_overdue(snapshot: LedgerSnapshot, kinds: Mapping[str, str]) -> tuple[OverdueQuery, ...]:
    """Return the overdue queries, the oldest first; ``kinds`` are the errors that the worker reports, by query."""
    now = time.time()
    return tuple(
        OverdueQuery(waiting.query, waiting.block, waiting.since, REASONS.get(kinds.get(waiting.query, "")))
        for waiting in snapshot.unanswered()
        if waiting.query in kinds or waiting.is_overdue(now)
    )


def mark(overdue: tuple[OverdueQuery, ...]) -> str:
    """Return a short text that changes whenever the overdue queries change; empty if there are none."""
    return hashlib.sha256(repr(overdue).encode()).hexdigest()[:12] if overdue else ""
