"""The worker's log: progress events as JSON lines."""

from __future__ import annotations

from fractions import Fraction
from typing import Any, TextIO, cast

import structlog

from noiseledger.progress import (
    CatalogueRead,
    CatalogueRefused,
    ClosedQueries,
    Confirmed,
    Drawn,
    EndpointLeftOut,
    EndpointSwitched,
    ProgressEvent,
    Refused,
    RevealedStretch,
    Started,
    Stopped,
    TransactionReplaced,
    TransactionSent,
    Waiting,
)

#: The events that are logged: each with its name and its fields in the log, which operators' programs rely on.
LOGGED: dict[type[ProgressEvent], tuple[str, tuple[str, ...]]] = {
    Started: ("started", ("ledger", "chain_id", "worker", "head")),
    Drawn: ("drawn", ("query", "start", "end")),
    TransactionSent: ("sent", ("transaction", "nonce", "stretches")),
    TransactionReplaced: ("replaced", ("transaction", "replaces", "nonce", "stretches")),
    Confirmed: ("confirmed", ("transaction", "block", "stretches")),
    Refused: ("refused", ("query", "kind", "reason")),
    ClosedQueries: ("closed_queries", ("queries", "sold")),
    Waiting: ("waiting", ("kind", "reason", "nonce")),
    EndpointSwitched: ("switched", ("endpoint", "reason")),
    EndpointLeftOut: ("left_out", ("endpoint", "reason")),
    CatalogueRead: ("catalogue_read", ("queries",)),
    CatalogueRefused: ("catalogue_refused", ("kind", "reason")),
    Stopped: ("stopped", ("reason", "kind")),
}


class Log:
    """Writes events to a stream. A full disk loses lines and never stops the worker."""

    def __init__(self, stream: TextIO) -> None:
        """Write to an open stream."""
        self._logger = structlog.wrap_logger(
            structlog.WriteLogger(cast(TextIO, _Forgiving(stream))),
            processors=[structlog.processors.TimeStamper(fmt="iso", utc=True), structlog.processors.JSONRenderer()],
        )

    def on_event(self, event: ProgressEvent) -> None:
        """Write an event with its fields, if it is one that is logged; a field without a value is omitted."""
        if type(event) not in LOGGED:
            return
        name, fields = LOGGED[type(event)]
        values = {field: getattr(event, field) for field in fields}
        self._logger.info(
            name, **{field: _as_json(value) for field, value in values.items() if value not in (None, "")}
        )


class _Forgiving:
    """A stream that ignores errors."""

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


def _as_json(value: Any) -> Any:
    """Return a value as JSON represents it; precisions as decimals."""
    match value:
        case Fraction():
            return float(value)
        case RevealedStretch():
            return {"query": value.query, "start": float(value.start), "end": float(value.end)}
        case tuple():
            return [_as_json(item) for item in value]
        case _:
            return value
