"""Is a list of noise a mixture of others, so that some sum of answers has too little noise?

Take lists of ``n`` honest numbers one by one. What the j-th one has along the directions of those before it are standard normal
numbers, and what is left of it is a chi-square number with ``n - j + 1`` degrees of freedom, all of them independent: these are
the entries of the triangular factor of the lists (Bartlett's decomposition). So however the lists are mixed, what is left of
the last of them is too little, and what goes along the others is too much.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from noiseledger.audit import tails

_Floats: TypeAlias = npt.NDArray[np.float64]

#: So many lists are looked at together: at most this, and at most half as many as each has numbers.
_TOGETHER = 64
_FEWEST = 4


def odd_spans(lists: Sequence[_Floats]) -> float:
    """Return how likely it is that lists lie as near to the span of others, or go along with them as much."""
    by_length = defaultdict(list)
    for noise in lists:
        by_length[len(noise)].append(noise)
    left: list[float] = []
    along, degrees = 0.0, 0
    for length, some in by_length.items():
        for group in _groups(some, length):
            factor = np.linalg.qr(np.array(group).T, mode="r")
            rest = np.diag(factor) ** 2
            left.extend(tails.chi_square_two_sided(float(value), length - place) for place, value in enumerate(rest))
            along += float((np.triu(factor, 1) ** 2).sum())
            degrees += len(rest) * (len(rest) - 1) // 2
    if not degrees:
        return 1.0
    return tails.any_of([tails.any_of(left), tails.chi_square_two_sided(along, degrees)])


def odd_sums(lists: Sequence[_Floats]) -> float:
    """Return how likely it is that the sums of lists have as little noise, or as much."""
    if all(len(noise) < 2 for noise in lists):
        return 1.0
    sums = np.array([noise.sum() / np.sqrt(len(noise)) for noise in lists if len(noise) > 1])
    furthest = tails.normal_two_sided(float(np.abs(sums).max()))
    return tails.any_of([tails.chi_square_two_sided(float(sums @ sums), len(sums)), min(len(sums) * furthest, 1.0)])


def _groups(lists: Sequence[_Floats], length: int) -> Iterator[Sequence[_Floats]]:
    size = min(length // 2, _TOGETHER)
    if length >= _FEWEST:
        for start in range(0, len(lists), size):
            if len(lists) - start > 1:
                yield lists[start : start + size]
