"""Test for underdispersion: whether numbers are spread more evenly than independent draws would be.

Put ``n`` numbers into ``k`` equally likely cells. If the counts were independent Poisson variables with mean ``n/k``, the
number of counts close to ``n/k`` would be binomial. The real counts are distributed like such variables, conditioned on their
sum being ``n``. That condition has probability ``n^n e^-n / n! >= 1 / (1.1 sqrt(2 pi n))``, so no event is more than
``1.1 sqrt(2 pi n)`` times as likely as it would be for independent counts.
"""

from __future__ import annotations

from math import ceil, exp, floor, lgamma, log, pi, sqrt

import numpy as np
import numpy.typing as npt

from noiseledger.auditing import p_values

_PER_CELL = 32
_CELLS = 256
#: Which counts are close to the mean, in standard deviations of a count.
_CLOSE = 0.25


def underdispersion_test(chances: npt.NDArray[np.float64]) -> float:
    """Return the p-value of uniform numbers that may be spread too evenly; 1 if there are only a few of them."""
    count = len(chances)
    cells = min(count // _PER_CELL, _CELLS)
    if cells < 2:
        return 1.0
    mean = count / cells
    low, high = ceil(mean - _CLOSE * sqrt(mean)), floor(mean + _CLOSE * sqrt(mean))
    chance = sum(exp(k * log(mean) - mean - lgamma(k + 1)) for k in range(low, high + 1))
    if not chance:
        return 1.0
    counts = np.bincount(np.minimum((chances * cells).astype(np.int_), cells - 1), minlength=cells)
    close = int(((counts >= low) & (counts <= high)).sum())
    return min(1.1 * sqrt(2 * pi * count) * p_values.binomial_at_least(close, cells, chance), 1.0)
