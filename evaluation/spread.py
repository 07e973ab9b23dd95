"""The median of many repetitions, and the range that contains nine in ten of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass

import numpy as np


@dataclass(frozen=True)
class Spread:
    """Median, 5th and 95th percentile.

    >>> f"{Spread.of([0.2, 0.3, 0.4]):.0%}"
    '30% (21% to 39%)'
    """

    median: float
    p5: float
    p95: float

    @classmethod
    def of(cls, values: Sequence[float]) -> Spread:
        """Return the spread of the values."""
        p5, median, p95 = (float(value) for value in np.percentile(values, (5, 50, 95)))
        return cls(median, p5, p95)

    def json(self) -> dict[str, float]:
        """Return the values for JSON."""
        return asdict(self)

    def __format__(self, spec: str) -> str:
        """Format the median, with the percentiles in brackets."""
        return f"{self.median:{spec}} ({self.p5:{spec}} to {self.p95:{spec}})"


@dataclass(frozen=True)
class Band:
    """The spread of many curves, at each point."""

    median: list[float]
    low: list[float]
    high: list[float]

    @classmethod
    def of(cls, curves: Sequence[Sequence[float]]) -> Band:
        """Return the band of curves that have the same points."""
        low, median, high = (list(map(float, line)) for line in np.percentile(np.array(curves), (5, 50, 95), axis=0))
        return cls(median, low, high)
