"""The attacks: they turn everything that is public about a ledger into evidence for one of two datasets.

The attacker knows both neighbouring datasets and the program, and has to guess which dataset the ledger uses. In units of the
sensitivity, the true answers are 0 in the dataset and 1 in its neighbour. Evidence is the logarithm of a likelihood ratio:
higher values indicate the neighbour.
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
    """What is public about one query."""

    #: The increments of its path: the precision and the published integers of each.
    increments: tuple[tuple[Fraction, Point], ...]
    #: All answers as points of the path, by precision: those on the chain, and those that analysts derived from them.
    answers: Mapping[Fraction, Point]


@dataclass(frozen=True)
class Transcript:
    """Everything that the attacker knows about one ledger."""

    #: The ledger's budget: the highest precision that anybody can have bought.
    budget: Fraction
    queries: tuple[Seen, ...]

    def evidence(self, attack: str, coordinate: int = 0) -> float:
        """Return the evidence of an attack for one coordinate, summed over the queries, which are independent."""
        return sum(ATTACKS[attack](seen, coordinate, self.budget) for seen in self.queries if seen.increments)


def by_likelihood(seen: Seen, coordinate: int, budget: Fraction) -> float:
    """Use the most accurate point of each path, which contains all information (mathematics, section 5)."""
    precision = sum((cost for cost, _ in seen.increments), Fraction(0))
    total = sum(increment[coordinate] for _, increment in seen.increments)
    return total / PATH_UNITS - float(precision) / 2


def by_pooling(seen: Seen, coordinate: int, budget: Fraction) -> float:
    """Pool all answers with the weights that are optimal if each is the best answer plus independent noise.

    The paper's case 2C gives such answers: ``A_i = X + Normal(0, 1/p_i - 1/r)``, with ``X`` of precision ``r``.
    """
    estimate, precision = pooled(
        {p: point[coordinate] / PATH_UNITS / float(p) for p, point in seen.answers.items()}, budget
    )
    return (estimate - 1 / 2) * precision


def by_last_bits(seen: Seen, coordinate: int, budget: Fraction) -> float:
    """Look for numbers that floating-point arithmetic cannot produce if the truth is 1; otherwise use the likelihood.

    If the truth is 0, every number is possible, since the noise alone can be any number.
    """
    floats = [(as_float(increment[coordinate]), float(cost)) for cost, increment in seen.increments]
    # If floating point cannot produce one of the numbers, the noise was not drawn in floating point, and the attack is void.
    if all(value is not None for value, _ in floats) and any(_rules_out(value or 0.0, mean) for value, mean in floats):
        return -inf
    return by_likelihood(seen, coordinate, budget)


def _rules_out(value: float, mean: float) -> bool:
    return ulp(value) * PATH_UNITS > 1 and not is_in_reach(value, mean)


def pooled(answers: Mapping[Fraction, float], best: Fraction) -> tuple[float, float]:
    """Return the optimal weighted mean of such answers, and its precision."""
    weights = {p: 1 / (1 / float(p) - 1 / float(best)) for p in answers if p < best}
    if not weights:
        return answers[best], float(best)
    total = sum(weights.values())
    estimate = sum(weight * answers[p] for p, weight in weights.items()) / total
    return estimate, 1 / (1 / float(best) + 1 / total)


def as_float(published: int) -> float | None:
    """Return the floating-point number that is rounded to this integer on the grid of paths; None for most integers.

    It is unique, unless it is so small that floating-point numbers are denser than the grid.
    """
    value = published / PATH_UNITS
    return value if round(Fraction(value) * PATH_UNITS) == published else None


def is_in_reach(value: float, mean: float) -> bool:
    """Return whether ``mean + noise`` in floating point can have this value."""
    # If any noise gives this value, then the number nearest to the difference does.
    return mean + (value - mean) == value


Attack: TypeAlias = Callable[[Seen, int, Fraction], float]
ATTACKS: Mapping[str, Attack] = {"likelihood": by_likelihood, "pooling": by_pooling, "last bits": by_last_bits}
