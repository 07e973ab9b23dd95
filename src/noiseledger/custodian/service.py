"""Let a worker step until it is told to stop, and wait out what passes: a node that is gone, a full disk, a fee too high.

What does not pass by itself (the wrong data, the wrong journal, another worker's key) ends it, with its one sentence.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Any

from noiseledger.chain.sender import Watch
from noiseledger.custodian.health import Health
from noiseledger.custodian.worker import Step, Worker
from noiseledger.errors import ChainError, LedgerError, LedgerNotFound, NoiseledgerError, NotAllowed
from noiseledger.ledger.local import LocalLedger

#: What passes by itself, or when somebody else does something about it: a disk has many ways to say that it is full.
TRANSIENT = (ChainError, LedgerError)
#: But a journal that is gone does not come back, and a key that may reveal no longer was replaced on purpose.
PERMANENT = (LedgerNotFound, NotAllowed)
#: The same news is told again after this time only.
_REPEAT_SECONDS = 60.0


class Service:
    """A worker that runs for long."""

    def __init__(self, journal: LocalLedger, watchers: list[Watch], health: Health) -> None:
        """Tell ``watchers`` what happens."""
        self.health = health
        self.health.budget_left = journal.budget().remaining
        self._journal = journal
        self._watchers = [health.hear, *watchers]
        self._refused: set[tuple[str, str]] = set()
        self._said: tuple[str, float] = ("", 0.0)
        self._waited = False

    def tell(self, event: str, **facts: Any) -> None:
        """Pass on what happened, news only: what is refused or waits stays so for many steps."""
        if event == "waiting":
            self._waited = True
            if not self._is_news(str(facts.get("reason"))):
                return
        if event == "refused":
            if (facts["query"], facts["kind"]) in self._refused:
                return
            self._refused.add((facts["query"], facts["kind"]))
        for watcher in self._watchers:
            watcher(event, **facts)

    def step(self, worker: Worker) -> Step:
        """Take one step, and keep the health up to date; an error is counted and raised."""
        try:
            step = worker.step()
            left = self._journal.budget().remaining
        except NoiseledgerError as error:
            self.health.failed(type(error).__name__)
            raise
        self._refused &= {(query, type(error).__name__) for query, error in step.refused.items()}
        self.health.finished(set(step.refused), left)
        return step

    def run(self, worker: Worker, stop: threading.Event, seconds: float, after: Callable[[Step], None]) -> None:
        """Step until ``stop`` is set, with a pause of some ``seconds``; the step that is under way is finished."""
        while not stop.is_set():
            self._waited = False
            try:
                step = self.step(worker)
            except PERMANENT:
                raise
            except TRANSIENT as error:
                self.tell("waiting", kind=type(error).__name__, reason=str(error))
                step = Step()
            if not self._waited:
                self._said = ("", 0.0)
            after(step)
            stop.wait(seconds)

    def _is_news(self, reason: str) -> bool:
        said, when = self._said
        if reason == said and time.monotonic() - when < _REPEAT_SECONDS:
            return False
        self._said = (reason, time.monotonic())
        return True
