"""The noise levels of the experiments ``noise`` and ``utility``, and the measurements at each level.

Each of the paper's queries is asked at epsilon 1 to 8, by two conversions, from the noisiest level to the most accurate.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from math import sqrt
from statistics import NormalDist
from typing import Any

from noiseledger.core.accuracy import PAPER_ALPHA, deviation
from noiseledger.core.privacy import classic_precision_for, precision_for

DELTA = "1e-5"
EPSILONS = range(1, 9)
CONVERSIONS = {"classic": classic_precision_for, "exact": precision_for}
#: The probability that a normal variable lies within the paper's alpha.
WITHIN_ALPHA = 2 * NormalDist().cdf(PAPER_ALPHA) - 1
CONFIDENCE = 0.95
#: A result is called wrong only outside of a band of this confidence: one correct run in twenty lies outside of the 95% band.
SURE = 1 - 1e-9


@dataclass(frozen=True)
class Level:
    """A conversion and an epsilon, and the precision that they give."""

    conversion: str
    epsilon: int
    precision: Fraction

    @property
    def deviation(self) -> float:
        """The deviation of the noise, in units of the sensitivity."""
        return deviation(self.precision)


@cache
def levels() -> tuple[Level, ...]:
    """Return all levels, the noisiest first."""
    found = [Level(name, eps, convert(eps, DELTA)) for name, convert in CONVERSIONS.items() for eps in EPSILONS]
    return tuple(sorted(found, key=lambda level: level.precision))


@cache
def crossing() -> float:
    """Return the epsilon at which both conversions agree; below it the classic one wastes, above it the promise is broken."""
    low, high = 1.0, 100.0
    while high - low > 1e-6:
        middle = (low + high) / 2
        wastes = classic_precision_for(middle, DELTA) < precision_for(middle, DELTA)
        low, high = (middle, high) if wastes else (low, middle)
    return low


@dataclass(frozen=True)
class Noise:
    """The measured errors at one level, over all ledgers and queries."""

    level: Level
    errors: Sequence[float]

    @property
    def deviation(self) -> float:
        """The root mean square of the errors, which also shows a bias."""
        return root_mean_square(self.errors)

    @property
    def band(self) -> tuple[float, float]:
        """The 95% confidence interval of the true deviation."""
        return deviation_band(self.deviation, len(self.errors))

    @property
    def outside(self) -> int:
        """The number of answers with an error above the paper's alpha."""
        return sum(abs(error) > PAPER_ALPHA * self.level.deviation for error in self.errors)


@dataclass(frozen=True)
class Measurement:
    """All measurements."""

    #: One per level, the noisiest first.
    noises: Sequence[Noise]
    #: The new noise in each answer, divided by its expected deviation: independent, each with deviation 1.
    steps: Sequence[float]
    #: The number of answers in each of the paper's cases.
    cases: Mapping[str, int]
    ledgers: int
    where: str

    def of(self, conversion: str) -> list[Noise]:
        """Return the measurements for one conversion, in order of epsilon."""
        return [noise for noise in self.noises if noise.level.conversion == conversion]

    def verdict(self) -> str:
        """Return a sentence on whether the noise is as expected."""
        found = root_mean_square(self.steps)
        low, high = deviation_band(found, len(self.steps))
        least, most = deviation_band(found, len(self.steps), SURE)
        agrees = "is the requested noise" if least <= 1 <= most else "is NOT the requested noise"
        return (
            f"The measured noise {agrees}: over {len(self.steps):,} answers on {self.ledgers} ledgers ({self.where}), the "
            f"standard deviation of the noise that each answer adds to the one before is {found:.3f} times the expected one "
            f"(95% confidence interval {low:.3f} to {high:.3f}{by_chance(low, 1, high)}). {self.cases.get('2B', 0):,} of these "
            "answers reuse an earlier one (case 2B)."
        )

    def numbers(self) -> dict[str, Any]:
        """Return the values for JSON."""
        found = root_mean_square(self.steps)
        return {
            "ledgers": self.ledgers,
            "where": self.where,
            "answers": len(self.steps),
            "cases": dict(self.cases),
            "measured_over_asked": found,
            "measured_over_asked_band": deviation_band(found, len(self.steps)),
        }


def summarise(ledgers: Sequence[Mapping[str, Any]], where: str) -> Measurement:
    """Combine the results of several ledgers: errors by level and query, and the cases."""
    noises = [
        Noise(level, [error for ledger in ledgers for error in ledger["errors"][number]])
        for number, level in enumerate(levels())
    ]
    cases = sum((Counter(ledger["cases"]) for ledger in ledgers), Counter[str]())
    steps = [step for ledger in ledgers for path in zip(*ledger["errors"], strict=True) for step in _steps(path)]
    return Measurement(noises, steps, cases, len(ledgers), where)


def _steps(path: Sequence[float]) -> Iterator[float]:
    """Yield the new noise of each answer to one query; the error times the precision is a random walk."""
    known, reached = 0.0, 0.0
    for level, error in zip(levels(), path, strict=True):
        precision = float(level.precision)
        yield (precision * error - known) / sqrt(precision - reached)
        known, reached = precision * error, precision


def root_mean_square(values: Sequence[float]) -> float:
    """Return the root mean square of the values."""
    return sqrt(sum(value * value for value in values) / len(values))


def by_chance(low: float, expected: float, high: float) -> str:
    """Return a remark if the expected value lies outside of the 95% band, which happens in one correct run in twenty."""
    return "" if low <= expected <= high else "; one correct run in twenty lies outside"


def deviation_band(found: float, count: int, confidence: float = CONFIDENCE) -> tuple[float, float]:
    """Return a confidence interval of the true deviation, given the root mean square of so many normal values.

    The sum of squares has a chi-square distribution, approximated here by Wilson and Hilferty: the error is below 0.3% for 15
    values or more.
    """
    z, ninth = NormalDist().inv_cdf((1 + confidence) / 2), 2 / (9 * count)
    low, high = ((1 - ninth + sign * z * sqrt(ninth)) ** -1.5 for sign in (1, -1))
    return found * low, found * high
