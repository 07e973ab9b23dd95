"""What is done to a worker's process before it begins: a faster clock, and the fault of the job."""

from __future__ import annotations

import random
import time

from faults.worker.moments import Reaper
from faults.worker.nursery import Job

#: A worker that waits for a receipt, or before it sends again, is not worth waiting for: its patience runs so much faster.
SPEED = 20
_YEAR = 365 * 24 * 3600.0


def prepare(job: Job) -> None:
    """Install what the job wants in this process."""
    _hurry()
    if job.jumpy:
        _jump()
    if job.weakness:
        from faults.worker.weakened import WEAKNESSES

        WEAKNESSES[job.weakness](job)
    if job.moment:
        Reaper(job.moment, job.count).install()


def _hurry() -> None:
    monotonic, sleep = time.monotonic, time.sleep
    time.monotonic = lambda: monotonic() * SPEED
    time.sleep = lambda seconds: sleep(float(seconds) / SPEED)


def _jump() -> None:
    """Let the wall clock jump by years, back and forth, at every look at it."""
    import datetime as module

    from noiseledger.ledger import book

    now, dice = time.time, random.Random()

    def jumping() -> float:
        return max(0.0, now() + dice.uniform(-_YEAR, _YEAR))

    class Jumping(module.datetime):
        @classmethod
        def now(cls, tz: module.tzinfo | None = None) -> module.datetime:  # type: ignore[override]
            return module.datetime.fromtimestamp(jumping(), tz)

    time.time = jumping
    time.time_ns = lambda: int(jumping() * 1e9)
    vars(book)["datetime"] = Jumping
