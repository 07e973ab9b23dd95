"""Does a number depend on one before it, at any distance?

New noise, turned over by the sign of anything older, is standard normal still, and independent of what was before. So for each
distance the sum of such products, over the root of their number, is exactly standard normal, and the largest of them over all
distances is judged by the number of distances. The sums over all distances come from one Fourier transform.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from noiseledger.audit import tails

_Floats: TypeAlias = npt.NDArray[np.float64]


def odd_lags(sequences: Sequence[_Floats]) -> float:
    """Return how likely it is that numbers follow the signs before them as closely at some distance: in one or in all."""
    longest = max(map(len, sequences), default=0)
    if longest < 2:
        return 1.0
    sums, counts = np.zeros(longest), np.zeros(longest)
    furthest, distances = 0.0, 0
    for noise in sequences:
        found = _follow(noise, noise)
        pairs = np.arange(len(noise), 0, -1, dtype=np.float64)
        sums[: len(noise)] += found
        counts[: len(noise)] += pairs
        if len(noise) > 1:
            furthest = max(furthest, float(np.max(np.abs(found[1:]) / np.sqrt(pairs[1:]))))
            distances += len(noise) - 1
    alone = min(distances * tails.normal_two_sided(furthest), 1.0)
    if len(sequences) == 1:
        return alone
    pooled = float(np.max(np.abs(sums[1:]) / np.sqrt(counts[1:])))
    return tails.any_of([alone, min((longest - 1) * tails.normal_two_sided(pooled), 1.0)])


def odd_steps(rows: Sequence[_Floats]) -> float:
    """Return the same for lists one after the other, compared place by place also where they are of different lengths."""
    width = max(map(len, rows), default=0)
    noise, there = np.zeros((len(rows), 2 * width)), np.zeros((len(rows), 2 * width))
    for number, row in enumerate(rows):
        noise[number, : len(row)], there[number, : len(row)] = row, 1.0
    sums = _follow(noise.ravel(), noise.ravel())[1:]
    counts = np.rint(_correlate(there.ravel(), there.ravel())[1:])
    kept = counts >= 1
    if not kept.any():
        return 1.0
    furthest = float(np.max(np.abs(sums[kept]) / np.sqrt(counts[kept])))
    return min(int(kept.sum()) * tails.normal_two_sided(furthest), 1.0)


def _follow(noise: _Floats, before: _Floats) -> _Floats:
    return _correlate(noise, np.sign(before))


def _correlate(later: _Floats, earlier: _Floats) -> _Floats:
    """Return for each distance ``k`` the sum of ``later[i + k] * earlier[i]``."""
    size = 1 << (2 * len(later) - 1).bit_length()
    product = np.fft.rfft(later, size) * np.conj(np.fft.rfft(earlier, size))
    found: _Floats = np.fft.irfft(product, size)[: len(later)]
    return found
