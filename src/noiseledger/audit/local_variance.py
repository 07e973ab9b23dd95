"""Is the noise of the right size everywhere, and not only on the whole?

Put the numbers in some order and cut it into blocks of 1, 2, 4, 8, ...: honest squares in a block add up to a chi-square
number, and honest sums to a normal one, whichever block it is. So a stretch of weak noise stands out at the block that fits it
best; the number of blocks is multiplied in. All blocks of one length together tell whether neighbours cancel each other out.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import sqrt

import numpy as np
import numpy.typing as npt

from noiseledger.audit import tails

_Floats = npt.NDArray[np.float64]


def odd_blocks(noise: _Floats) -> float:
    """Return how likely it is that some block, or all blocks of some length, are as odd in this order."""
    return tails.any_of(_lengths(noise)) if len(noise) > 1 else 1.0


def odd_sizes(energies: _Floats, degrees: int) -> float:
    """Return how likely the smallest and the largest of some independent sums of squares are."""
    ends = (float(energies.min()), float(energies.max()))
    return min(len(energies) * min(tails.chi_square_two_sided(end, degrees) for end in ends), 1.0)


def _lengths(noise: _Floats) -> Iterator[float]:
    length = 2
    while length <= len(noise):
        blocks = noise[: len(noise) // length * length].reshape(-1, length)
        sums = blocks.sum(axis=1)
        furthest = tails.normal_two_sided(float(np.abs(sums).max()) / sqrt(length))
        together = tails.chi_square_two_sided(float(sums @ sums) / length, len(sums))
        yield tails.any_of([odd_sizes((blocks * blocks).sum(axis=1), length), len(sums) * furthest, together])
        length *= 2
