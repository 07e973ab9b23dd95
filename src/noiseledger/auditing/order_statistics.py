"""Test order statistics: whether there are too few or too many small values, at every scale.

Honest probabilities are uniform, so the distribution of the k-th smallest of ``n`` is known: it is below ``u`` exactly if
``k`` or more of them are, which is a binomial event. The test looks at ranks 1, 2, 4, 8 and so on from the small end, for too
few and for too many values: noise that is truncated anywhere leaves one end empty, and occasional weak noise fills the other.
Each p-value is exact. Bonferroni's correction combines them, so the result is never too small.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from noiseledger.auditing import p_values

_Floats: TypeAlias = npt.NDArray[np.float64]


def order_statistics_test(values: _Floats, distribution: Callable[[float], float]) -> float:
    """Return the p-value of the number of small values among independent ones: too many or too few.

    Args:
        values: The numbers; negate them to test the large end.
        distribution: The cumulative distribution function of an honest number.
    """
    return min(2 * p_values.bonferroni(_ranks(values, distribution)), 1.0)


def smallest_values_test(chances: _Floats) -> float:
    """Return the p-value of the number of small probabilities; each may be too large, given those before it."""
    ordered = np.sort(chances)
    ranks = _powers(len(chances))
    return p_values.bonferroni(
        p_values.binomial_at_least(k, len(chances), min(float(ordered[k - 1]), 1 - 1e-15)) for k in ranks
    )


def _ranks(values: _Floats, distribution: Callable[[float], float]) -> Iterator[float]:
    count, ranks = len(values), _powers(len(values))
    ordered = np.partition(values, [rank - 1 for rank in ranks]) if ranks else values
    for rank in ranks:
        chance = min(max(distribution(float(ordered[rank - 1])), p_values.SMALLEST), 1 - 1e-15)
        many = p_values.binomial_at_least(rank, count, chance)
        few = p_values.binomial_at_least(count - rank + 1, count, 1 - chance)
        yield min(many, few)


def _powers(count: int) -> list[int]:
    return [2**power for power in range(max(count // 2, 1).bit_length())] if count else []
