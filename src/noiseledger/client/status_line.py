"""A status line on standard error while somebody at a terminal or in a notebook waits for an answer."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.status import Status

from noiseledger.progress import HandedOver, Mined, ProgressEvent, Revealed, TransactionReplaced, TransactionSent


class StatusLine:
    """A listener that shows the progress of a request at a terminal."""

    def __init__(self, console: Console | None = None) -> None:
        """Write to standard error, if that is a terminal."""
        self._console = console or Console(stderr=True, highlight=False, markup=False)
        self._status: Status | None = None

    def on_event(self, event: ProgressEvent) -> None:
        """Show an event, if the line is shown now."""
        if self._status is None:
            return
        match event:
            case TransactionSent() | TransactionReplaced():
                self._status.update(f"Sent {event.transaction}; waiting for a block")
            case HandedOver():
                self._status.update(f"Signed, and handed to the relay at {event.relay}; waiting for a block")
            case Mined():
                self._status.update(f"Bought in block {event.block}; waiting for the custodian's worker")
            case Revealed():
                self._status.update(f"{event.answered} of {event.asked} answered by the custodian's worker")

    @contextmanager
    def shown(self) -> Iterator[None]:
        """Show the line, as a context manager."""
        if not self._console.is_terminal:
            yield
            return
        with self._console.status("Asking") as status:
            self._status = status
            try:
                yield
            finally:
                self._status = None


def status_line() -> StatusLine | None:
    """Return a status line if standard error is a terminal."""
    return StatusLine() if sys.stderr.isatty() else None
