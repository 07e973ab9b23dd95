"""A moving line on standard error, while somebody at a terminal or in a notebook waits for an answer."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from rich.console import Console
from rich.status import Status


class Line:
    """Hears what happens to a request, and shows it where someone is watching."""

    def __init__(self, console: Console | None = None) -> None:
        """Write to standard error, if that is a terminal."""
        self._console = console or Console(stderr=True, highlight=False, markup=False)
        self._status: Status | None = None

    def __call__(self, event: str, **facts: Any) -> None:
        """Hear of one thing."""
        if self._status is None:
            return
        match event:
            case "sent" | "replaced":
                self._status.update(f"Sent {facts['transaction']}; waiting for a block")
            case "mined":
                self._status.update(f"Paid for in block {facts['block']}; waiting for the custodian's worker")
            case "revealed":
                self._status.update(f"{facts['answered']} of {facts['asked']} answered by the custodian's worker")

    @contextmanager
    def shown(self) -> Iterator[None]:
        """Show the line for the length of a block."""
        if not self._console.is_terminal:
            yield
            return
        with self._console.status("Asking") as status:
            self._status = status
            try:
                yield
            finally:
                self._status = None


def line_for_people() -> Line | None:
    """Return a line if somebody is there to see it."""
    return Line() if sys.stderr.isatty() else None
