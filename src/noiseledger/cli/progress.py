"""How far a request has come, while somebody waits for the answer."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from rich.status import Status

from noiseledger.cli.exits import Interrupted
from noiseledger.cli.output import notes


class Progress:
    """Hears what happens to a request, says it on the side, and remembers it for whoever stops waiting."""

    def __init__(self, *, quiet: bool) -> None:
        """Say nothing but the moving line if ``quiet``."""
        self._quiet = quiet
        self._status: Status | None = None
        self._sent: str | None = None
        self._block: int | None = None

    def __call__(self, event: str, **facts: Any) -> None:
        """Hear of one thing."""
        match event:
            case "left_out":
                notes.print(f"Left out: {facts['reason']}", soft_wrap=True)
            case "sent" | "replaced":
                self._sent = facts["transaction"]
                self._say(f"Sent {self._sent}.", "Waiting for a block")
            case "mined":
                self._block = facts["block"]
                self._say(f"Mined in block {self._block}.", "Paid for; waiting for the custodian's worker")
            case "revealed" if facts["answered"] == facts["asked"]:
                self._say("Revealed.", "Reading the answer")
            case "revealed":
                self._update(f"Waiting for the custodian's worker: {facts['answered']} of {facts['asked']} answered")

    @contextmanager
    def shown(self) -> Iterator[None]:
        """Show the moving line for the length of a block; whoever interrupts it is told what became of the request."""
        try:
            with notes.status("Asking") as self._status:
                yield
        except KeyboardInterrupt:
            raise Interrupted(self.consolation) from None
        finally:
            self._status = None

    @property
    def consolation(self) -> str:
        """What to say to somebody who stops waiting."""
        if self._block is not None:
            return (
                f"Stopped waiting. It is paid for (block {self._block}) and nothing is lost: "
                "the same command again gives the answer, for free."
            )
        if self._sent is not None:
            return (
                f"Stopped waiting. {self._sent} was sent and may still get into a block. Nothing is lost: the same command "
                "again gives the answer, and no privacy is paid for twice."
            )
        return "Stopped. Nothing was paid for, as far as is known, and nothing is lost: the same command asks again."

    def _say(self, line: str, next_step: str) -> None:
        if not self._quiet:
            notes.print(line, soft_wrap=True)
        self._update(next_step)

    def _update(self, text: str) -> None:
        if self._status is not None:
            self._status.update(text)
