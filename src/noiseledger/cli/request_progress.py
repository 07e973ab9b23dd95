"""The progress of a request, printed while somebody waits for the answer."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime

from rich.status import Status

from noiseledger.cli.exits import Interrupted
from noiseledger.cli.output import notes
from noiseledger.progress import (
    EndpointLeftOut,
    HandedOver,
    Mined,
    ProgressEvent,
    Revealed,
    TransactionReplaced,
    TransactionSent,
)


class RequestProgress:
    """A listener that prints events to standard error, and remembers them for the message after Ctrl-C."""

    def __init__(self, *, quiet: bool) -> None:
        """Show only the status line if ``quiet``."""
        self._quiet = quiet
        self._status: Status | None = None
        self._sent: str | None = None
        self._block: int | None = None
        self._handed: HandedOver | None = None

    def on_event(self, event: ProgressEvent) -> None:
        """Print an event."""
        match event:
            case EndpointLeftOut():
                notes.print(f"Endpoint left out: {event.reason}", soft_wrap=True)
            case TransactionSent() | TransactionReplaced():
                self._sent = event.transaction
                self._print(f"Sent {self._sent}.", "Waiting for a block")
            case HandedOver():
                self._handed = event
                self._print(f"Signed, and handed to the relay at {event.relay}.", "Waiting for the relay and a block")
            case Mined():
                self._block = event.block
                self._print(f"Mined in block {self._block}.", "Bought; waiting for the custodian's worker")
            case Revealed() if event.answered == event.asked:
                self._print("Revealed.", "Reading the answer")
            case Revealed():
                self._update(f"Waiting for the custodian's worker: {event.answered} of {event.asked} answered")

    @contextmanager
    def shown(self) -> Iterator[None]:
        """Show the status line, as a context manager; Ctrl-C raises an error that says what became of the request."""
        try:
            with notes.status("Asking") as self._status:
                yield
        except KeyboardInterrupt:
            raise Interrupted(self.after_interrupt) from None
        finally:
            self._status = None

    @property
    def after_interrupt(self) -> str:
        """What became of the request, for somebody who stops waiting."""
        if self._block is not None:
            return (
                f"Stopped waiting. The request is bought (block {self._block}) and nothing is lost: "
                "run the same command again to get the answer for free."
            )
        if self._handed is not None:
            until = datetime.fromtimestamp(self._handed.deadline, UTC).strftime("%H:%M UTC")
            return (
                "Stopped waiting. The signed request was handed to the relay, which may still bring it to the chain until "
                f"{until}. Nothing is lost: run the same command again to get the answer. No privacy is used twice."
            )
        if self._sent is not None:
            return (
                f"Stopped waiting. Transaction {self._sent} was sent and may still be mined. Nothing is lost: run the same "
                "command again to get the answer. No privacy is used twice."
            )
        return "Stopped. As far as is known, nothing was bought. Nothing is lost: run the same command to ask again."

    def _print(self, line: str, next_step: str) -> None:
        if not self._quiet:
            notes.print(line, soft_wrap=True)
        self._update(next_step)

    def _update(self, text: str) -> None:
        if self._status is not None:
            self._status.update(text)
