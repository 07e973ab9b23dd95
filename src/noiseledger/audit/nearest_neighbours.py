"""Is noise all but what some earlier increment had, or its opposite, whichever increment that was?

A vector of honest noise is within ``r`` of a given point ``w`` with probability at most ``volume * r^d * density``, where the
density is that of the ball's point nearest to 0. Summed over all earlier vectors and their opposites this bounds, given the
past, how likely it is that the nearest of them is as near. So these bounds are no smaller than independent uniform numbers,
and too many small ones among them are as unlikely as the binomial law says.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from math import lgamma, log, pi
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from noiseledger.audit import tails
from noiseledger.audit.ranks import crowded_ranks

_Floats: TypeAlias = npt.NDArray[np.float64]

#: Vectors are compared with so many others at most; in many dimensions the comparison of pairs sees more.
_PORTION = 2048
_MOST_DIMENSIONS = 32


def odd_neighbours(lists: Sequence[_Floats]) -> float:
    """Return how likely it is that so many lists are as near to an earlier one of the same length."""
    by_length = defaultdict(list)
    for noise in lists:
        if 1 < len(noise) <= _MOST_DIMENSIONS:
            by_length[len(noise)].append(noise)
    return tails.any_of(
        tails.any_of(_prefixes(_bounds(np.array(some[start : start + _PORTION]))))
        for some in by_length.values()
        for start in range(0, len(some), _PORTION)
    )


def _prefixes(bounds: _Floats) -> Iterator[float]:
    """The more there are, the nearer is chance's nearest: so look at the first few as well as at all."""
    count = 16
    while count < len(bounds):
        yield crowded_ranks(bounds[:count])
        count *= 2
    yield crowded_ranks(bounds)


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
        # Not from the squares above: their difference has lost the digits that matter.
        distance = max(float(np.linalg.norm(vectors[number] - sign * vectors[nearest])), 1e-9)
        densities = np.exp(-(np.maximum(norms[:number] - distance, 0) ** 2) / 2).sum()
        found[number] = np.exp(min(volume + dimensions * log(distance) + log(2 * densities), 0.0)) if densities else 1.0
    return found
