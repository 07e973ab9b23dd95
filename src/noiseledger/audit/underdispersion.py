"""Are numbers spread more evenly than chance spreads them, as if they had been dealt and not drawn?

Put ``n`` numbers into ``k`` cells that are equally likely. If the counts were independent Poisson numbers with mean ``n/k``,
how many of them come close to ``n/k`` would be a binomial number. The true counts are such numbers given that they add up to
``n``, which happens with probability ``n^n e^-n / n! >= 1 / (1.1 sqrt(2 pi n))``: so no event is more than ``1.1 sqrt(2 pi n)``
times as likely as it would be for them.
"""

from __future__ import annotations

from math import ceil, exp, floor, lgamma, log, pi, sqrt

import numpy as np
import numpy.typing as npt

from noiseledger.audit import tails

_PER_CELL = 32
_CELLS = 256
#: What counts as close, in deviations of a count.
_CLOSE = 0.25


def too_even(chances: npt.NDArray[np.float64]) -> float:
    """Return a p-value for uniform numbers that are spread too evenly; 1 for few of them."""
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
    return min(1.1 * sqrt(2 * pi * count) * tails.binomial_at_least(close, cells, chance), 1.0)
