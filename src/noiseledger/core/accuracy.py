"""Convert a precision to a standard deviation or an error bar, and an accuracy back to a precision.

An answer of precision ``p`` to a query of sensitivity ``D`` has Gaussian noise of standard deviation ``D / sqrt(p)``. For a
vector this holds for each coordinate separately.

Why the promise holds: nothing here spends. An accuracy is converted to a precision, and that precision is charged.
"""

from __future__ import annotations

from fractions import Fraction
from math import ceil, sqrt
from statistics import NormalDist

from noiseledger.core.numbers import Number, exact, positive
from noiseledger.core.privacy import UNITS
from noiseledger.errors import InvalidInput

#: The paper's rounded factor: it uses alpha = 2 sigma for beta = 0.05, where the exact factor is 1.95996.
PAPER_ALPHA = 2


def deviation(precision: Number, sensitivity: Number = 1) -> float:
    """Return the standard deviation of the noise.

    >>> deviation(4, sensitivity=202)
    101.0
    """
    return float(positive(sensitivity, "sensitivity")) / sqrt(positive(precision, "precision"))


def half_width(precision: Number, sensitivity: Number = 1, confidence: Number = 0.95) -> float:
    """Return the largest distance between the answer and the true answer, with this confidence.

    This is the noise added for privacy; sampling error is not included (see ``core.sampling``).

    >>> round(half_width(1, confidence=0.95), 4)
    1.96
    """
    return quantile(confidence) * deviation(precision, sensitivity)


def useful_alpha(precision: Number, sensitivity: Number = 1, beta: Number = 0.05) -> float:
    """Return the least alpha for which the answer is (alpha, beta)-useful: wrong by more with probability beta at most.

    >>> round(useful_alpha(1, beta=0.0455), 3)
    2.0
    """
    return half_width(precision, sensitivity, 1 - exact(beta, "beta"))


def precision_for_sigma(sigma: Number, sensitivity: Number = 1) -> Fraction:
    """Return the least precision, in whole units, whose noise has a standard deviation of at most ``sigma``.

    >>> precision_for_sigma(1.5)
    Fraction(4, 9)
    """
    return _whole_units_up((positive(sensitivity, "sensitivity") / positive(sigma, "sigma")) ** 2)


def precision_for_within(within: Number, confidence: Number = 0.95, sensitivity: Number = 1) -> Fraction:
    """Return the least precision, in whole units, whose answer lies within ``within`` of the true answer.

    >>> p = precision_for_within(500, confidence=0.95, sensitivity=202)
    >>> round(half_width(p, sensitivity=202), 6)
    500.0
    """
    factor = Fraction(quantile(confidence))
    return precision_for_sigma(positive(within, "half-width") / factor, sensitivity)


def _whole_units_up(precision: Fraction) -> Fraction:
    return Fraction(ceil(precision * UNITS), UNITS)


def quantile(confidence: Number) -> float:
    """Return how many standard deviations to each side hold a normal variable with this confidence.

    >>> round(quantile(0.95), 3)
    1.96
    """
    level = exact(confidence, "confidence")
    if not 0 < level < 1:
        raise InvalidInput(f"The confidence must be between 0 and 1, such as 0.95, not {confidence}.")
    # Computed from the upper tail, where a confidence close to 1 keeps its digits.
    tail = float((1 - level) / 2)
    if tail < 1e-300:
        raise InvalidInput(
            f"A confidence of {confidence} is too close to 1 to compute an error bar: use a smaller one."
        )
    return -NormalDist().inv_cdf(tail)
