"""Run a worker step after step until it is told to stop, and wait while an error is transient: no node, a full disk, high fees.

A permanent error (the wrong data, the wrong journal, another worker's key) stops it, with its message.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

from noiseledger.custodian.health import Health
from noiseledger.custodian.worker import Step, Worker
from noiseledger.errors import ChainError, LedgerError, LedgerNotFound, NoiseledgerError, NotAllowed
from noiseledger.ledger.local import LocalLedger
from noiseledger.progress import Listener, ProgressEvent, Refused, Waiting

#: Errors that go away by themselves or when somebody fixes the cause; a full disk is reported in many ways.
TRANSIENT = (ChainError, LedgerError)
#: Errors among those that do not: a journal that is gone does not come back, and a worker's key is replaced on purpose.
PERMANENT = (LedgerNotFound, NotAllowed)
#: Listeners are notified of the same reason to wait again only after this time.
_REPEAT_SECONDS = 60.0


class Service:
    """A worker that runs for a long time."""

    def __init__(self, journal: LocalLedger, listeners: list[Listener], health: Health) -> None:
        """Notify ``health`` and ``listeners`` of every event."""
        self.health = health
        self.health.budget_left = journal.budget().remaining
        #: Called before each step.
        self.before_step: Callable[[], None] = lambda: None
        self._journal = journal
        self._listeners = [health.on_event, *listeners]
        self._refused: set[tuple[str, str]] = set()
        self._last_reason: tuple[str, float] = ("", 0.0)
        self._waited = False
        self._waits_for: str | None = None

    def notify(self, event: ProgressEvent) -> None:
        """Pass an event on to all listeners, unless it repeats an earlier one: refusals and waits last for many steps."""
        match event:
            case Waiting(reason=reason, kind=kind):
                self._waited = True
                self._waits_for = kind
                if not self._is_news(reason):
                    return
            case Refused(query=query, kind=kind):
                if (query, kind) in self._refused:
                    return
                self._refused.add((query, kind))
        for listener in self._listeners:
            listener(event)

    def step(self, worker: Worker) -> Step:
        """Run one step and update the health; an error is counted and raised."""
        self._waits_for = None
        try:
            self.before_step()
            step = worker.step()
            left = self._journal.budget().remaining
        except NoiseledgerError as error:
            self.health.failed(type(error).__name__)
            raise
        self._refused &= {(query, type(error).__name__) for query, error in step.refused.items()}
        self.health.finished(set(step.refused), left, self._waits_for)
        return step

    def run(self, worker: Worker, stop: threading.Event, seconds: float, after: Callable[[Step], None]) -> None:
        """Run steps until ``stop`` is set, with ``seconds`` between them; a step that has begun is finished."""
        while not stop.is_set():
            self._waited = False
            try:
                step = self.step(worker)
            except PERMANENT:
                raise
            except TRANSIENT as error:
                self.notify(Waiting(type(error).__name__, str(error)))
                step = Step()
            if not self._waited:
                self._last_reason = ("", 0.0)
            after(step)
            stop.wait(seconds)

    def _is_news(self, reason: str) -> bool:
        last, when = self._last_reason
        if reason == last and time.monotonic() - when < _REPEAT_SECONDS:
            return False
        self._last_reason = (reason, time.monotonic())
        return True
