"""One row per system, with figures that are comparable between systems."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from itertools import pairwise
from statistics import median
from typing import Any, TypeAlias

from evaluation.peers.setting import Job, truths

#: The remaining budget: epsilon and delta.
Left: TypeAlias = tuple[float, float]
#: Rounding errors of floating-point sums are smaller than this.
_ROUNDING = 1e-9


@dataclass(frozen=True)
class PeerAnswer:
    """The result of one request: its answer, if there is one, the time, and the remaining budget."""

    value: float | None
    seconds: float
    left: Left | None

    @property
    def is_answered(self) -> bool:
        """Whether the request was answered."""
        return self.value is not None

    @property
    def is_overdrawn(self) -> bool:
        """Whether the request was answered although the budget, as the system reports it, was exceeded."""
        return self.is_answered and self.left is not None and min(self.left) < -_ROUNDING


@dataclass(frozen=True)
class Outcome:
    """The results of a task."""

    start: Left | None
    entries: tuple[PeerAnswer, ...]

    @property
    def end(self) -> Left | None:
        """The remaining budget at the end."""
        return self.entries[-1].left if self.entries else self.start


@dataclass(frozen=True)
class Row:
    """A system in the table; missing figures are None, and the note gives the reason."""

    system: str
    version: str
    #: The number of requests that were answered within the budget, and the number of requests.
    answered: int | None = None
    of: int | None = None
    #: The number of requests that were answered although the budget was exceeded.
    overdrawn: int | None = None
    #: Both are medians over the requests that were answered within the budget.
    relative_error: float | None = None
    seconds: float | None = None
    #: The remaining epsilon that the system reports at the end, and after its process was restarted.
    epsilon_left: float | None = None
    epsilon_left_after_restart: float | None = None
    #: How many of the identical requests were charged, and their number.
    charged: int | None = None
    repeats: int | None = None
    note: str = ""

    def json(self) -> dict[str, Any]:
        """Return the fields as JSON has them."""
        return asdict(self)


@dataclass(frozen=True)
class Measured:
    """The results of both tasks of a system, and the remaining budget after a restart following the first task."""

    workload: Outcome
    after_restart: Left | None
    repetition: Outcome

    def row(self, system: str, version: str, job: Job, note: str) -> Row:
        """Return the row of the table."""
        entries = self.workload.entries
        answered = [entry.is_answered and not entry.is_overdrawn for entry in entries]
        seconds = [entry.seconds for entry, counts in zip(entries, answered, strict=True) if counts]
        errors = [
            _relative_error(request.query, entry)
            for request, entry, counts in zip(job.requests, entries, answered, strict=True)
            if counts
        ]
        return Row(
            system,
            version,
            answered=sum(answered),
            of=len(entries),
            overdrawn=sum(entry.is_overdrawn for entry in entries),
            relative_error=_median(errors),
            seconds=_median(seconds),
            epsilon_left=_epsilon(self.workload.end),
            epsilon_left_after_restart=_epsilon(self.after_restart),
            charged=charges(self.repetition),
            repeats=len(self.repetition.entries),
            note=note,
        )


def charges(outcome: Outcome) -> int | None:
    """Count the requests that reduced the remaining budget; None if the system does not report it."""
    states = [outcome.start, *(entry.left for entry in outcome.entries)]
    known = [state for state in states if state is not None]
    if len(known) < len(states):
        return None
    return sum(after < before for before, after in pairwise(known))


def _relative_error(query: str, entry: PeerAnswer) -> float:
    truth = truths()[query]
    return abs((entry.value or 0.0) - truth) / abs(truth)


def _median(values: Sequence[float]) -> float | None:
    return median(values) if values else None


def _epsilon(left: Left | None) -> float | None:
    return None if left is None else left[0]
