"""The levels of noise that "noise" and "utility" look at, and what was measured at each.

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
#: How much of a normal law lies within the paper's alpha.
WITHIN_ALPHA = 2 * NormalDist().cdf(PAPER_ALPHA) - 1
CONFIDENCE = 0.95
#: Only what is outside a band as sure as this is called wrong: one honest run in twenty is outside the other.
SURE = 1 - 1e-9


@dataclass(frozen=True)
class Level:
    """How much noise is asked for."""

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
    """Return the epsilon where the conversions agree: classic wastes below, and promises more than it keeps above."""
    low, high = 1.0, 100.0
    while high - low > 1e-6:
        middle = (low + high) / 2
        wastes = classic_precision_for(middle, DELTA) < precision_for(middle, DELTA)
        low, high = (middle, high) if wastes else (low, middle)
    return low


@dataclass(frozen=True)
class Noise:
    """What was measured at one level, over all ledgers and queries."""

    level: Level
    errors: Sequence[float]

    @property
    def deviation(self) -> float:
        """The errors' deviation from zero, so that an answer that is off on average is found out as well."""
        return root_mean_square(self.errors)

    @property
    def band(self) -> tuple[float, float]:
        """Where the true deviation is, with 95% confidence."""
        return deviation_band(self.deviation, len(self.errors))

    @property
    def outside(self) -> int:
        """How many answers were further off than the paper's alpha."""
        return sum(abs(error) > PAPER_ALPHA * self.level.deviation for error in self.errors)


@dataclass(frozen=True)
class Measurement:
    """Everything that was measured."""

    #: One per level, the noisiest first.
    noises: Sequence[Noise]
    #: The noise that was new in each answer, in units of what it had to be: independent, each of deviation 1.
    steps: Sequence[float]
    #: How many answers were of each of the paper's cases.
    cases: Mapping[str, int]
    ledgers: int
    where: str

    def of(self, conversion: str) -> list[Noise]:
        """Return what was measured with one conversion, by rising epsilon."""
        return [noise for noise in self.noises if noise.level.conversion == conversion]

    def verdict(self) -> str:
        """Say whether the noise was what it had to be."""
        found = root_mean_square(self.steps)
        low, high = deviation_band(found, len(self.steps))
        least, most = deviation_band(found, len(self.steps), SURE)
        agrees = "is the noise that was asked for" if least <= 1 <= most else "is NOT the noise that was asked for"
        return (
            f"The measured noise {agrees}: over {len(self.steps):,} answers on {self.ledgers} ledgers ({self.where}), what "
            f"each added to the one before deviates {found:.3f} times as much as it should (95% band {low:.3f} to "
            f"{high:.3f}{by_chance(low, 1, high)}). {self.cases.get('2B', 0):,} of these answers reuse an earlier one (case "
            "2B)."
        )

    def numbers(self) -> dict[str, Any]:
        """Return the same for machines."""
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
    """Sum up what ledgers gave: errors by level and query, and the cases."""
    noises = [
        Noise(level, [error for ledger in ledgers for error in ledger["errors"][number]])
        for number, level in enumerate(levels())
    ]
    cases = sum((Counter(ledger["cases"]) for ledger in ledgers), Counter[str]())
    steps = [step for ledger in ledgers for path in zip(*ledger["errors"], strict=True) for step in _steps(path)]
    return Measurement(noises, steps, cases, len(ledgers), where)


def _steps(path: Sequence[float]) -> Iterator[float]:
    """Yield what each answer of one query added: the error times the precision is a random walk."""
    known, reached = 0.0, 0.0
    for level, error in zip(levels(), path, strict=True):
        precision = float(level.precision)
        yield (precision * error - known) / sqrt(precision - reached)
        known, reached = precision * error, precision


def root_mean_square(values: Sequence[float]) -> float:
    """Return the deviation from zero."""
    return sqrt(sum(value * value for value in values) / len(values))


def by_chance(low: float, expected: float, high: float) -> str:
    """Say so if what is expected lies outside a 95% band: people would wonder."""
    return "" if low <= expected <= high else "; one honest run in twenty lies outside"


def deviation_band(found: float, count: int, confidence: float = CONFIDENCE) -> tuple[float, float]:
    """Return where the true deviation is, with this confidence, if one from zero was found over so many normal values.

    The squares follow chi-square, here by the cube roots of Wilson and Hilferty: right to 0.3% for 15 values or more.
    """
    z, ninth = NormalDist().inv_cdf((1 + confidence) / 2), 2 / (9 * count)
    low, high = ((1 - ninth + sign * z * sqrt(ninth)) ** -1.5 for sign in (1, -1))
    return found * low, found * high
