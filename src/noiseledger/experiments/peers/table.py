"""One row for each system: what it did with the workload, in figures that mean the same for all."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from itertools import pairwise
from statistics import median
from typing import Any, TypeAlias

from noiseledger.experiments.peers.setting import Job, truths

#: What is left of a budget: epsilon and delta.
Left: TypeAlias = tuple[float, float]
#: Sums of floating-point numbers may miss a budget by this much.
_ROUNDING = 1e-9


@dataclass(frozen=True)
class Entry:
    """What became of one request: its answer, if it got one, how long that took, and what was left then."""

    value: float | None
    seconds: float
    left: Left | None

    @property
    def is_answered(self) -> bool:
        """Say whether it was answered."""
        return self.value is not None

    @property
    def is_overdrawn(self) -> bool:
        """Say whether it was answered although the budget did not suffice, by the system's own account."""
        return self.is_answered and self.left is not None and min(self.left) < -_ROUNDING


@dataclass(frozen=True)
class Outcome:
    """What became of a task."""

    start: Left | None
    entries: tuple[Entry, ...]

    @property
    def end(self) -> Left | None:
        """What was left in the end."""
        return self.entries[-1].left if self.entries else self.start


@dataclass(frozen=True)
class Row:
    """A system in the table; a figure is None where there is none, and the note says why."""

    system: str
    version: str
    #: How many requests were answered within the budget, of how many.
    answered: int | None = None
    of: int | None = None
    #: How many more were answered although the budget was gone.
    overdrawn: int | None = None
    #: Both are medians over the requests that were answered within the budget.
    relative_error: float | None = None
    seconds: float | None = None
    #: What is left of epsilon at the end, as the system says, and as it says when its process has been started again.
    epsilon_left: float | None = None
    epsilon_left_after_restart: float | None = None
    #: How many of so many identical requests cost something.
    charged: int | None = None
    repeats: int | None = None
    note: str = ""

    def json(self) -> dict[str, Any]:
        """Return the fields as JSON has them."""
        return asdict(self)


@dataclass(frozen=True)
class Measured:
    """A system's two tasks, and what it believed to have left when it was started again after the first."""

    workload: Outcome
    after_restart: Left | None
    repetition: Outcome

    def row(self, system: str, version: str, job: Job, note: str) -> Row:
        """Return the figures."""
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
    """Count the requests after which less was left than before; None if the system does not say what is left."""
    states = [outcome.start, *(entry.left for entry in outcome.entries)]
    known = [state for state in states if state is not None]
    if len(known) < len(states):
        return None
    return sum(after < before for before, after in pairwise(known))


def _relative_error(query: str, entry: Entry) -> float:
    truth = truths()[query]
    return abs((entry.value or 0.0) - truth) / abs(truth)


def _median(values: Sequence[float]) -> float | None:
    return median(values) if values else None


def _epsilon(left: Left | None) -> float | None:
    return None if left is None else left[0]
