"""Probabilities of rare outcomes, far into the tails, without scipy; where one is not exact, it is too large.

Too large a probability can hide a fault, and never invents one: so every false-alarm rate that is built on these holds.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import erf, erfc, exp, expm1, inf, lgamma, log, log1p, sqrt

#: Below this, doubles end: nothing is said to be less likely.
LEAST = 1e-300
_ENOUGH = 1e-17


def normal_two_sided(z: float) -> float:
    """Return the probability that a standard normal number is further from 0 than ``z``."""
    return max(erfc(abs(z) / sqrt(2)), LEAST)


def normal_within(z: float) -> float:
    """Return the probability that a standard normal number is no further from 0 than ``z``."""
    return max(erf(abs(z) / sqrt(2)), LEAST)


def chi_square_two_sided(value: float, degrees: int) -> float:
    """Return the probability that a sum of squares of so many standard normal numbers is as odd, small or large."""
    lower, upper = chi_square_tails(value, degrees)
    return min(2 * max(min(lower, upper), LEAST), 1.0)


def chi_square_tails(value: float, degrees: int) -> tuple[float, float]:
    """Return the probabilities that a chi-square number is below, and that it is above a value.

    >>> [round(tail, 6) for tail in chi_square_tails(18.307038, 10)]
    [0.95, 0.05]
    """
    a, x = degrees / 2, value / 2
    if x <= 0:
        return 0.0, 1.0
    if x == inf:
        return 1.0, 0.0
    scale = a * log(x) - x - lgamma(a)
    if x < a + 1:
        lower = _series(a, x) * exp(scale)
        return lower, 1 - lower
    upper = _fraction(a, x) * exp(scale)
    return 1 - upper, upper


def _series(a: float, x: float) -> float:
    term = total = 1 / a
    while term > total * _ENOUGH:
        a += 1
        term *= x / a
        total += term
    return total


def _fraction(a: float, x: float) -> float:
    """Return the continued fraction of the upper incomplete gamma function, by the method of Lentz."""
    b = x + 1 - a
    c, d = inf, 1 / b
    total, step, n = d, 0.0, 0
    while abs(step - 1) > 1e-15:
        n += 1
        b += 2
        d = 1 / (n * (a - n) * d + b)
        c = b + n * (a - n) / c
        step = c * d
        total *= step
    return total


def binomial_at_least(successes: int, trials: int, chance: float) -> float:
    """Return the probability of so many successes or more; 1 if there are no more of them than are expected.

    >>> binomial_at_least(10, 10, 0.5) == 2**-10
    True
    """
    if successes <= trials * chance:
        return 1.0
    odds, k = chance / (1 - chance), successes
    term, total = 1.0, 1.0
    while k < trials and term > total * _ENOUGH:
        term *= (trials - k) / (k + 1) * odds
        k += 1
        total += term
    return max(min(exp(_log_binomial(successes, trials, chance) + log(total)), 1.0), LEAST)


def binomial_two_sided(successes: int, trials: int, chance: float) -> float:
    """Return the probability of a number of successes as far to its side; never too small, and 1 in the middle."""
    many = binomial_at_least(successes, trials, chance)
    few = binomial_at_least(trials - successes, trials, 1 - chance)
    return min(2 * min(many, few), 1.0)


def _log_binomial(k: int, n: int, chance: float) -> float:
    ways = lgamma(n + 1) - lgamma(k + 1) - lgamma(n - k + 1)
    return ways + k * log(chance) + (n - k) * log1p(-chance)


def best_of(p_value: float, tries: int) -> float:
    """Return the probability that the smallest of so many independent p-values is as small."""
    return 1.0 if p_value >= 1 else max(-expm1(tries * log1p(-p_value)), LEAST)


def any_of(p_values: Iterable[float]) -> float:
    """Return a p-value for several tests together, however they depend on each other (Bonferroni)."""
    found = list(p_values)
    return min(len(found) * min(found), 1.0) if found else 1.0


def evenly_filled(counts: Sequence[int]) -> float:
    """Return a p-value for cells that are equally likely, for any number of counts, also a single one.

    Instead of Pearson's approximation: cut the cells in halves, again and again. How a half's count divides, given the
    count, is binomial and independent of the other cuts, so the p-values of all cuts add up as Fisher says.
    """
    cuts = list(_cuts(counts))
    return max(chi_square_tails(-2 * sum(map(log, cuts)), 2 * len(cuts))[1], LEAST)


def _cuts(counts: Sequence[int]) -> Iterable[float]:
    if len(counts) > 1:
        left, right = counts[: len(counts) // 2], counts[len(counts) // 2 :]
        yield binomial_two_sided(sum(left), sum(counts), len(left) / len(counts))
        yield from _cuts(left)
        yield from _cuts(right)
