"""Test for autocorrelation: whether a number depends on an earlier number, at any lag.

Fresh noise multiplied by the sign of any older number is still standard normal, and independent of the past. For each lag, the
sum of such products divided by the square root of their number is therefore exactly standard normal. The test takes the
largest sum and corrects for the number of lags. One Fourier transform computes the sums for all lags.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from noiseledger.auditing import p_values

_Floats: TypeAlias = npt.NDArray[np.float64]


def autocorrelation_test(sequences: Sequence[_Floats]) -> float:
    """Return the p-value of the strongest autocorrelation at any lag, in one sequence or in all of them together."""
    longest = max(map(len, sequences), default=0)
    if longest < 2:
        return 1.0
    sums, counts = np.zeros(longest), np.zeros(longest)
    furthest, lags = 0.0, 0
    for noise in sequences:
        found = _correlate_signs(noise)
        pairs = np.arange(len(noise), 0, -1, dtype=np.float64)
        sums[: len(noise)] += found
        counts[: len(noise)] += pairs
        if len(noise) > 1:
            furthest = max(furthest, float(np.max(np.abs(found[1:]) / np.sqrt(pairs[1:]))))
            lags += len(noise) - 1
    alone = min(lags * p_values.normal_two_sided(furthest), 1.0)
    if len(sequences) == 1:
        return alone
    pooled = float(np.max(np.abs(sums[1:]) / np.sqrt(counts[1:])))
    return p_values.bonferroni([alone, min((longest - 1) * p_values.normal_two_sided(pooled), 1.0)])


def ragged_autocorrelation_test(rows: Sequence[_Floats]) -> float:
    """Return the same for consecutive rows that may differ in length, comparing them column by column."""
    width = max(map(len, rows), default=0)
    noise, there = np.zeros((len(rows), 2 * width)), np.zeros((len(rows), 2 * width))
    for number, row in enumerate(rows):
        noise[number, : len(row)], there[number, : len(row)] = row, 1.0
    sums = _correlate_signs(noise.ravel())[1:]
    counts = np.rint(_correlate(there.ravel(), there.ravel())[1:])
    kept = counts >= 1
    if not kept.any():
        return 1.0
    furthest = float(np.max(np.abs(sums[kept]) / np.sqrt(counts[kept])))
    return min(int(kept.sum()) * p_values.normal_two_sided(furthest), 1.0)


def _correlate_signs(noise: _Floats) -> _Floats:
    return _correlate(noise, np.sign(noise))


def _correlate(later: _Floats, earlier: _Floats) -> _Floats:
    """Return the sum of ``later[i + k] * earlier[i]`` for each lag ``k``."""
    size = 1 << (2 * len(later) - 1).bit_length()
    product = np.fft.rfft(later, size) * np.conj(np.fft.rfft(earlier, size))
    found: _Floats = np.fft.irfft(product, size)[: len(later)]
    return found
