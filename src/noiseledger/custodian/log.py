"""What happened, as JSON lines.

The events: started, drawn, sent, replaced, confirmed, refused, waiting, switched (another endpoint is asked), left_out (one
is of another chain), stopped.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any, TextIO, cast

import structlog

#: What is written, by event; anything else that is reported is left out.
FIELDS = {
    "started": ("ledger", "chain_id", "worker", "head"),
    "drawn": ("query", "start", "end"),
    "sent": ("transaction", "nonce", "stretches"),
    "replaced": ("transaction", "replaces", "nonce", "stretches"),
    "confirmed": ("transaction", "block", "stretches"),
    "refused": ("query", "kind", "reason"),
    "waiting": ("kind", "reason", "nonce"),
    "switched": ("endpoint", "reason"),
    "left_out": ("endpoint", "reason"),
    "stopped": ("reason",),
}


class Log:
    """Writes events to a stream; a disk that is full costs lines, never the worker."""

    def __init__(self, stream: TextIO) -> None:
        """Write to an open stream."""
        self._logger = structlog.wrap_logger(
            structlog.WriteLogger(cast(TextIO, _Patient(stream))),
            processors=[structlog.processors.TimeStamper(fmt="iso", utc=True), structlog.processors.JSONRenderer()],
        )

    def hear(self, event: str, **facts: Any) -> None:
        """Write an event, with the facts that belong to it."""
        names = FIELDS.get(event, ())
        if names:
            self._logger.info(event, **{name: _plain(facts[name]) for name in names if name in facts})


class _Patient:
    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def write(self, text: str) -> None:
        try:
            self._stream.write(text)
        except OSError:
            return

    def flush(self) -> None:
        try:
            self._stream.flush()
        except OSError:
            return


def _plain(fact: Any) -> Any:
    """Return a fact as JSON has it; precisions as decimals."""
    if isinstance(fact, Fraction):
        return float(fact)
    if isinstance(fact, list):
        return [{"query": query, "start": float(start), "end": float(end)} for query, start, end in fact]
    return fact
