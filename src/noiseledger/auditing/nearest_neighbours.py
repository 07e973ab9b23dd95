"""Test nearest neighbours: whether noise nearly repeats the noise of any earlier increment, or its negative.

A vector of honest noise is within ``r`` of a given point ``w`` with probability at most ``volume * r^d * density``, where the
density is that at the point of the ball closest to 0. The sum over all earlier vectors and their negatives bounds the
probability, given the past, that the nearest of them is this close. These bounds are no smaller than independent uniform
variables, so the binomial distribution bounds the probability of too many small ones.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from math import lgamma, log, pi
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from noiseledger.auditing import p_values
from noiseledger.auditing.order_statistics import smallest_values_test

_Floats: TypeAlias = npt.NDArray[np.float64]

#: Vectors are compared in portions of this size. In more dimensions, cross-correlation is the stronger test.
_PORTION = 2048
_MOST_DIMENSIONS = 32


def nearest_neighbour_test(lists: Sequence[_Floats]) -> float:
    """Return the p-value of the number of lists that are close to an earlier list of the same length."""
    by_length = defaultdict(list)
    for noise in lists:
        if 1 < len(noise) <= _MOST_DIMENSIONS:
            by_length[len(noise)].append(noise)
    return p_values.bonferroni(
        p_values.bonferroni(_prefixes(_bounds(np.array(some[start : start + _PORTION]))))
        for some in by_length.values()
        for start in range(0, len(some), _PORTION)
    )


def _prefixes(bounds: _Floats) -> Iterator[float]:
    """Test the first few lists as well as all: the more lists there are, the closer chance puts the nearest ones."""
    count = 16
    while count < len(bounds):
        yield smallest_values_test(bounds[:count])
        count *= 2
    yield smallest_values_test(bounds)


def _bounds(vectors: _Floats) -> _Floats:
    dimensions = vectors.shape[1]
    squares = np.einsum("ij,ij->i", vectors, vectors)
    norms = np.sqrt(squares)
    volume = dimensions / 2 * log(pi) - lgamma(dimensions / 2 + 1) - dimensions / 2 * log(2 * pi)
    found = np.ones(len(vectors))
    for number in range(1, len(vectors)):
        products = np.abs(vectors[:number] @ vectors[number])
        nearest = int(np.argmin(squares[:number] - 2 * products))
        sign = 1.0 if vectors[nearest] @ vectors[number] >= 0 else -1.0
        # The difference of the squares above has lost the significant digits, so the distance is computed directly.
        distance = max(float(np.linalg.norm(vectors[number] - sign * vectors[nearest])), 1e-9)
        densities = np.exp(-(np.maximum(norms[:number] - distance, 0) ** 2) / 2).sum()
        found[number] = np.exp(min(volume + dimensions * log(distance) + log(2 * densities), 0.0)) if densities else 1.0
    return found
