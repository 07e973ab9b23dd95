"""Test for linear dependence: whether one list of noise is a combination of others, so that some sum has too little noise.

Take lists of ``n`` honest numbers one by one. The components of the j-th list along the directions of the lists before it are
standard normal, and the square of what remains is chi-square with ``n - j + 1`` degrees of freedom. All are independent: they
are the entries of the triangular factor of the lists (Bartlett's decomposition). If a list is a combination of others, the
remainder is too small and the components are too large.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from noiseledger.auditing import p_values

_Floats: TypeAlias = npt.NDArray[np.float64]

#: The maximum number of lists that are tested together; it is also at most half the length of the lists.
_TOGETHER = 64
_FEWEST = 4


def linear_dependence_test(lists: Sequence[_Floats]) -> float:
    """Return the p-value of how close lists are to the span of the others, and how strongly they correlate with them."""
    by_length = defaultdict(list)
    for noise in lists:
        by_length[len(noise)].append(noise)
    left: list[float] = []
    along, degrees = 0.0, 0
    for length, some in by_length.items():
        for group in _groups(some, length):
            factor = np.linalg.qr(np.array(group).T, mode="r")
            rest = np.diag(factor) ** 2
            left.extend(p_values.chi_square_two_sided(float(value), length - index) for index, value in enumerate(rest))
            along += float((np.triu(factor, 1) ** 2).sum())
            degrees += len(rest) * (len(rest) - 1) // 2
    if not degrees:
        return 1.0
    return p_values.bonferroni([p_values.bonferroni(left), p_values.chi_square_two_sided(along, degrees)])


def list_sum_test(lists: Sequence[_Floats]) -> float:
    """Return the p-value of the noise in the sums of lists: too little or too much."""
    if all(len(noise) < 2 for noise in lists):
        return 1.0
    sums = np.array([noise.sum() / np.sqrt(len(noise)) for noise in lists if len(noise) > 1])
    furthest = p_values.normal_two_sided(float(np.abs(sums).max()))
    return p_values.bonferroni(
        [p_values.chi_square_two_sided(float(sums @ sums), len(sums)), min(len(sums) * furthest, 1.0)]
    )


def _groups(lists: Sequence[_Floats], length: int) -> Iterator[Sequence[_Floats]]:
    size = min(length // 2, _TOGETHER)
    if length >= _FEWEST:
        for start in range(0, len(lists), size):
            if len(lists) - start > 1:
                yield lists[start : start + size]
