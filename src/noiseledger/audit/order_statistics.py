"""Are there as many small and as many large numbers as chance makes, however small and however large?

Honest probabilities are uniform, so the k-th smallest of ``n`` has a known law: it is below ``u`` exactly if ``k`` or more of
them are, which is a binomial event. Looked at are the ranks 1, 2, 4, 8 and so on from the small end, each for too few and for
too many: a cut at any place empties one end, and rare weak noise fills the other. Each p-value is exact, and their number is
multiplied in, so that the result is never too small.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from noiseledger.audit import tails

_Floats: TypeAlias = npt.NDArray[np.float64]


def odd_ranks(values: _Floats, below: Callable[[float], float]) -> float:
    """Return how likely it is that so many independent numbers are as crowded, or as sparse, at their small end.

    Args:
        values: The numbers; to look at the large end, turn them over.
        below: The probability that an honest number is no larger than a value.
    """
    return min(2 * tails.any_of(_ranks(values, below)), 1.0)


def crowded_ranks(chances: _Floats) -> float:
    """Return how likely it is that so many of some chances are as small; each may be too large, given those before it."""
    ordered = np.sort(chances)
    ranks = _powers(len(chances))
    return tails.any_of(tails.binomial_at_least(k, len(chances), min(float(ordered[k - 1]), 1 - 1e-15)) for k in ranks)


def _ranks(values: _Floats, below: Callable[[float], float]) -> Iterator[float]:
    count, ranks = len(values), _powers(len(values))
    ordered = np.partition(values, [rank - 1 for rank in ranks]) if ranks else values
    for rank in ranks:
        chance = min(max(below(float(ordered[rank - 1])), tails.LEAST), 1 - 1e-15)
        early = tails.binomial_at_least(rank, count, chance)
        late = tails.binomial_at_least(count - rank + 1, count, 1 - chance)
        yield min(early, late)


def _powers(count: int) -> list[int]:
    return [2**power for power in range(max(count // 2, 1).bit_length())] if count else []
