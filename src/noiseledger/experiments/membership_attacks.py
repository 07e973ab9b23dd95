"""What an attacker makes of everything that is public about a ledger: evidence for one of two datasets.

The attacker knows both neighbouring datasets and the program, and asks which of the two is behind the ledger. In units of
sensitivity the true answers are 0 in the dataset and 1 in its neighbour. Evidence is the logarithm of a likelihood ratio:
the higher, the more it speaks for the neighbour.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from math import inf, ulp
from typing import TypeAlias

from noiseledger.core.path import PATH_UNITS, Point


@dataclass(frozen=True)
class Seen:
    """What became public of one query."""

    #: The pieces of its path: how much precision each is worth, and the published integers.
    increments: tuple[tuple[Fraction, Point], ...]
    #: All answers, as points of the path, by precision: those on the chain, and those that analysts drew from them.
    answers: Mapping[Fraction, Point]


@dataclass(frozen=True)
class Transcript:
    """Everything that the attacker has of one ledger."""

    #: The most that anybody can have been sold: the ledger's budget.
    budget: Fraction
    queries: tuple[Seen, ...]

    def evidence(self, attack: str, coordinate: int = 0) -> float:
        """Return what an attack makes of one coordinate of the answers: queries are independent, so evidence adds up."""
        return sum(ATTACKS[attack](seen, coordinate, self.budget) for seen in self.queries if seen.increments)


def by_likelihood(seen: Seen, coordinate: int, budget: Fraction) -> float:
    """Use the furthest point: on a path it says all that there is to know (mathematics, section 5)."""
    precision = sum((cost for cost, _ in seen.increments), Fraction(0))
    total = sum(increment[coordinate] for _, increment in seen.increments)
    return total / PATH_UNITS - float(precision) / 2


def by_pooling(seen: Seen, coordinate: int, budget: Fraction) -> float:
    """Pool all answers with the weights that are best if each is the best one ever sold plus noise of its own.

    That is what the paper's case 2C hands out: then ``A_i = X + Normal(0, 1/p_i - 1/r)``, with ``X`` of precision ``r``.
    """
    estimate, precision = pooled(
        {p: point[coordinate] / PATH_UNITS / float(p) for p, point in seen.answers.items()}, budget
    )
    return (estimate - 1 / 2) * precision


def by_last_bits(seen: Seen, coordinate: int, budget: Fraction) -> float:
    """Look for numbers that floating-point arithmetic cannot reach from a truth of 1; else go by the likelihood.

    From a truth of 0 everything is in reach: the noise alone can be any number.
    """
    floats = [(as_float(increment[coordinate]), float(cost)) for cost, increment in seen.increments]
    # Where one number is none that floating point makes, no floating point was at work, and reach means nothing.
    if all(value is not None for value, _ in floats) and any(_rules_out(value or 0.0, mean) for value, mean in floats):
        return -inf
    return by_likelihood(seen, coordinate, budget)


def _rules_out(value: float, mean: float) -> bool:
    return ulp(value) * PATH_UNITS > 1 and not is_in_reach(value, mean)


def pooled(answers: Mapping[Fraction, float], best: Fraction) -> tuple[float, float]:
    """Return the best weighted mean of such answers, and its precision."""
    weights = {p: 1 / (1 / float(p) - 1 / float(best)) for p in answers if p < best}
    if not weights:
        return answers[best], float(best)
    total = sum(weights.values())
    estimate = sum(weight * answers[p] for p, weight in weights.items()) / total
    return estimate, 1 / (1 / float(best) + 1 / total)


def as_float(published: int) -> float | None:
    """Return a floating-point number that gives this integer on the grid of paths; most integers have none.

    It is the only one, unless it is so small that these numbers lie closer together than the points of the grid.
    """
    value = published / PATH_UNITS
    return value if round(Fraction(value) * PATH_UNITS) == published else None


def is_in_reach(value: float, mean: float) -> bool:
    """Say whether ``mean + noise`` in floating point can be this value."""
    # If any number added to the mean gives it, then the one nearest to their difference does.
    return mean + (value - mean) == value


Attack: TypeAlias = Callable[[Seen, int, Fraction], float]
ATTACKS: Mapping[str, Attack] = {"likelihood": by_likelihood, "pooling": by_pooling, "last bits": by_last_bits}
