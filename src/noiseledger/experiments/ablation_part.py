"""What each ablation hands in, and how repetitions are summed up."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Any

from noiseledger.experiments.figures import Figure
from noiseledger.experiments.outcome import Table

_LOW, _HIGH = 0.05, 0.95


@dataclass(frozen=True)
class Part:
    """One ablation's share of the outcome."""

    name: str
    sentences: Sequence[str]
    numbers: Mapping[str, Any]
    figures: Sequence[Figure] = ()
    tables: Sequence[Table] = ()


@dataclass(frozen=True)
class Spread:
    """The mean of some repetitions, and where nine of ten of them lie."""

    mean: float
    low: float
    high: float

    @classmethod
    def of(cls, values: Sequence[float]) -> Spread:
        """Sum up one number per repetition."""
        ordered = sorted(values)
        return cls(fmean(ordered), _quantile(ordered, _LOW), _quantile(ordered, _HIGH))

    def numbers(self) -> dict[str, float]:
        """Return it for machines."""
        return {"mean": self.mean, "low": self.low, "high": self.high}


def _quantile(ordered: Sequence[float], level: float) -> float:
    """Return the value below which this share lies, on a straight line between the two nearest."""
    place = level * (len(ordered) - 1)
    below = int(place)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (place - below) * (ordered[above] - ordered[below])
