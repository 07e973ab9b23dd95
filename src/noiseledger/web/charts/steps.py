"""The states of a budget over time, thinned to as many as a picture can show."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import accumulate, pairwise

from noiseledger.errors import InvalidInput
from noiseledger.web.charts.svg import bounded
from noiseledger.web.charts.times import seconds


@dataclass(frozen=True)
class Step:
    """The state of a budget after one request: the precision spent so far, and what the naive scheme would have spent."""

    when: datetime
    spent: float
    naive: float


def thinned(steps: Sequence[Step], most: int = 400) -> list[Step]:
    """Return at most ``most`` of the steps, with the same shape: the first and last of each section of the curves' length.

    With n sections, a step that is left out lies between two kept steps that are less than 3/n of the picture apart, in
    time and height together; so a long pause and a high step stay where they are.
    """
    if most < 2:
        raise InvalidInput(f"A curve needs at least 2 steps, not {most}.")
    if len(steps) <= most:
        return list(steps)
    stretches = _stretches(steps, most // 2)
    inner = range(1, len(steps) - 1)
    kept = [at for at in inner if not stretches[at - 1] == stretches[at] == stretches[at + 1]]
    return [steps[0], *(steps[at] for at in kept), steps[-1]]


def _stretches(steps: Sequence[Step], number: int) -> list[int]:
    """Return the section of each step, by the length of the curves up to it."""
    ways = (
        _way([seconds(step.when) for step in steps]),
        _way([bounded(step.spent) for step in steps]),
        _way([bounded(step.naive) for step in steps]),
    )
    return [min(int(sum(way) / len(ways) * number), number - 1) for way in zip(*ways, strict=True)]


def _way(values: list[float]) -> list[float]:
    """Return the fraction of the value's total variation up to each step."""
    come = list(accumulate((abs(after - before) for before, after in pairwise(values)), initial=0.0))
    return [way / (come[-1] or 1.0) for way in come]
