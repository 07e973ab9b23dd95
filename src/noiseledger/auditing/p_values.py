"""P-values that stay accurate far into the tails, without scipy. A p-value that is not exact is an upper bound.

Too large a p-value can hide a fault but cannot invent one, so every false-alarm rate that is built on these functions holds.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import erf, erfc, exp, expm1, inf, lgamma, log, log1p, sqrt

#: No p-value is reported below this, because floating point cannot represent much smaller numbers.
SMALLEST = 1e-300
_RELATIVE_ERROR = 1e-17


def normal_two_sided(z: float) -> float:
    """Return the probability that a standard normal variable is further from 0 than ``z``."""
    return max(erfc(abs(z) / sqrt(2)), SMALLEST)


def normal_within(z: float) -> float:
    """Return the probability that a standard normal variable is no further from 0 than ``z``."""
    return max(erf(abs(z) / sqrt(2)), SMALLEST)


def chi_square_two_sided(value: float, degrees: int) -> float:
    """Return the two-sided p-value of a chi-square statistic with this many degrees of freedom."""
    lower, upper = chi_square_tails(value, degrees)
    return min(2 * max(min(lower, upper), SMALLEST), 1.0)


def chi_square_tails(value: float, degrees: int) -> tuple[float, float]:
    """Return the probabilities that a chi-square variable is below a value, and that it is above it.

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
    while term > total * _RELATIVE_ERROR:
        a += 1
        term *= x / a
        total += term
    return total


def _fraction(a: float, x: float) -> float:
    """Return the continued fraction of the upper incomplete gamma function, computed with Lentz's algorithm."""
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
    """Return the probability of at least this many successes; 1 if there are no more successes than expected.

    >>> binomial_at_least(10, 10, 0.5) == 2**-10
    True
    """
    if successes <= trials * chance:
        return 1.0
    odds, k = chance / (1 - chance), successes
    term, total = 1.0, 1.0
    while k < trials and term > total * _RELATIVE_ERROR:
        term *= (trials - k) / (k + 1) * odds
        k += 1
        total += term
    return max(min(exp(_log_binomial(successes, trials, chance) + log(total)), 1.0), SMALLEST)


def binomial_two_sided(successes: int, trials: int, chance: float) -> float:
    """Return the two-sided p-value of a number of successes: never too small, and 1 near the expected number."""
    many = binomial_at_least(successes, trials, chance)
    few = binomial_at_least(trials - successes, trials, 1 - chance)
    return min(2 * min(many, few), 1.0)


def _log_binomial(k: int, n: int, chance: float) -> float:
    ways = lgamma(n + 1) - lgamma(k + 1) - lgamma(n - k + 1)
    return ways + k * log(chance) + (n - k) * log1p(-chance)


def sidak(p_value: float, tries: int) -> float:
    """Return the probability that the smallest of ``tries`` independent p-values is this small (Šidák)."""
    return 1.0 if p_value >= 1 else max(-expm1(tries * log1p(-p_value)), SMALLEST)


def bonferroni(p_values: Iterable[float]) -> float:
    """Return one p-value for several tests, whatever their dependence (Bonferroni)."""
    found = list(p_values)
    return min(len(found) * min(found), 1.0) if found else 1.0


def equal_cells(counts: Sequence[int]) -> float:
    """Return a p-value for the counts of equally likely cells. It is valid for any total count, even 1.

    Pearson's chi-square test is only approximate for small counts. Instead, the cells are halved repeatedly. Given the count
    in a group of cells, the count in its first half is binomial and independent of all other halvings, so the p-values of
    the halvings can be combined with Fisher's method.
    """
    halvings = list(_halvings(counts))
    return max(chi_square_tails(-2 * sum(map(log, halvings)), 2 * len(halvings))[1], SMALLEST)


def _halvings(counts: Sequence[int]) -> Iterable[float]:
    if len(counts) > 1:
        left, right = counts[: len(counts) // 2], counts[len(counts) // 2 :]
        yield binomial_two_sided(sum(left), sum(counts), len(left) / len(counts))
        yield from _halvings(left)
        yield from _halvings(right)
