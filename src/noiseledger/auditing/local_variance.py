"""Test whether the noise has the right size everywhere, and not only on average.

Put the numbers in some order and divide it into blocks of length 2, 4, 8 and so on. In every block of honest noise the sum of
squares is chi-square distributed and the sum is normal. A run of weak noise therefore stands out in the block that fits it
best; the test corrects for the number of blocks. All blocks of one length together show whether consecutive numbers cancel out.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import sqrt

import numpy as np
import numpy.typing as npt

from noiseledger.auditing import p_values

_Floats = npt.NDArray[np.float64]


def block_test(noise: _Floats) -> float:
    """Return the p-value of the most extreme block, and of all blocks of one length together, in this order."""
    return p_values.bonferroni(_by_block_length(noise)) if len(noise) > 1 else 1.0


def extreme_sizes_test(energies: _Floats, degrees: int) -> float:
    """Return the p-value of the smallest and the largest of some independent sums of squares."""
    ends = (float(energies.min()), float(energies.max()))
    return min(len(energies) * min(p_values.chi_square_two_sided(end, degrees) for end in ends), 1.0)


def _by_block_length(noise: _Floats) -> Iterator[float]:
    length = 2
    while length <= len(noise):
        blocks = noise[: len(noise) // length * length].reshape(-1, length)
        sums = blocks.sum(axis=1)
        furthest = p_values.normal_two_sided(float(np.abs(sums).max()) / sqrt(length))
        together = p_values.chi_square_two_sided(float(sums @ sums) / length, len(sums))
        yield p_values.bonferroni(
            [extreme_sizes_test((blocks * blocks).sum(axis=1), length), len(sums) * furthest, together]
        )
        length *= 2
