"""Test for cross-correlation: whether any two lists of noise are correlated, as they are or shifted.

The direction of a list of ``n`` honest numbers is uniform on the sphere, whatever the other list is. If two lists have no
number in common, the squared cosine between them therefore has a Beta(1/2, (n-1)/2) distribution. It exceeds ``c`` with
probability

    1/B * integral from c to 1 of u^(-1/2) (1-u)^((n-3)/2) du  <=  1/B * c^(-1/2) * 2/(n-1) * (1-c)^((n-1)/2),

since ``u^(-1/2) <= c^(-1/2)`` there. The bound is never too small, and it is tight where it matters. The test corrects for the
number of pairs and shifts.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from math import exp, lgamma, log, log2, pi
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from noiseledger.auditing import p_values

_Floats: TypeAlias = npt.NDArray[np.float64]

#: Lists with fewer numbers than this are not compared.
FEWEST = 6
#: With more different lengths than this, lists are shortened, by at most a sixth, so that fewer lengths remain.
_LENGTHS = 24
#: Up to the first number of products, all shifts are compared; up to the second, unshifted lists; beyond it, nothing.
_SHIFTED, _ALIGNED = 4e8, 4e10
_AT_ONCE = 2**21


class CrossCorrelationTest:
    """Compares lists with each other; ``is_complete`` says whether all shifts of all pairs are compared."""

    def __init__(self, lists: Sequence[_Floats], shifted: bool = True) -> None:
        """Compare lists that have no number in common: as they are, and optionally also shifted against each other."""
        self._by_length = _by_length([noise for noise in lists if len(noise) >= FEWEST])
        size = {length: 1 << (2 * length - 1).bit_length() for length in self._by_length}
        pair_counts = {length: _pair_count(self._by_length, length) for length in self._by_length}
        self._shifts = shifted and sum(pair_counts[length] * size[length] for length in size) <= _SHIFTED
        self.is_complete = self._shifts or not shifted or not any(pair_counts.values())
        self._is_feasible = sum(pair_counts[length] * length for length in size) <= _ALIGNED
        self._hypotheses = sum(
            pair_counts[length] * (2 * (length - FEWEST) + 1 if self._shifts else 1) for length in pair_counts
        )

    def p_value(self) -> float:
        """Return the p-value of the strongest positive or negative correlation between two lists."""
        if not self._hypotheses or not self._is_feasible:
            return 1.0
        smallest = min(self._smallest_log_p_value(length) for length in self._by_length)
        return min(max(exp(min(smallest + log(self._hypotheses), 0.0)), p_values.SMALLEST), 1.0)

    def _smallest_log_p_value(self, length: int) -> float:
        """Return the logarithm of the smallest probability among pairs whose shorter list has this length."""
        here = self._by_length[length]
        longer = [noise[:length] for other, some in self._by_length.items() if other > length for noise in some]
        there = np.array([*here, *longer])
        firsts = range(min(len(here), len(there) - 1))
        if self._shifts:
            return _shifted(there, firsts)
        return min((_aligned(there, number) for number in firsts), default=0.0)


def _by_length(lists: Sequence[_Floats]) -> dict[int, list[_Floats]]:
    is_many = len({len(noise) for noise in lists}) > _LENGTHS
    found = defaultdict(list)
    for noise in lists:
        length = int(2 ** (int(4 * log2(len(noise))) / 4)) if is_many else len(noise)
        found[length].append(noise[:length])
    return dict(found)


def _pair_count(by_length: dict[int, list[_Floats]], length: int) -> int:
    here = len(by_length[length])
    longer = sum(len(some) for other, some in by_length.items() if other > length)
    return here * (here - 1) // 2 + here * longer


def _aligned(lists: _Floats, number: int) -> float:
    one, others = lists[number], lists[number + 1 :]
    cosines = (others @ one) ** 2 / (np.einsum("ij,ij->i", others, others) * (one @ one))
    return _log_p_value(float(cosines.max()), len(one))


def _shifted(lists: _Floats, firsts: range) -> float:
    """Compare each of the first lists with all lists after it: at shift k, ``other[i + k]`` with ``one[i]``."""
    length = lists.shape[1]
    size = 1 << (2 * length - 1).bit_length()
    shifts = np.arange(-(length - FEWEST), length - FEWEST + 1)
    spectra, energies = np.fft.rfft(lists, size), _energies(lists, shifts)
    best, step = np.zeros(len(shifts)), max(_AT_ONCE // size, 1)
    for number in firsts:
        turned, ours = np.conj(spectra[number]), energies[number, ::-1]
        for start in range(number + 1, len(lists), step):
            some = slice(start, start + step)
            products = np.fft.irfft(spectra[some] * turned, size)
            products = (
                np.concatenate([products[:, shifts[0] :], products[:, : shifts[-1] + 1]], axis=1)
                if shifts[0]
                else products[:, :1]
            )
            best = np.maximum(best, (products**2 / (energies[some] * ours)).max(axis=0))
    return min(_log_p_value(float(c), length - abs(int(k))) for c, k in zip(best, shifts, strict=True))


def _energies(lists: _Floats, shifts: npt.NDArray[np.int_]) -> _Floats:
    """Return, for each shift, the sum of squares of the part that is compared: all but the first k, or the last -k."""
    sums = np.concatenate([np.zeros((len(lists), 1)), np.cumsum(lists * lists, axis=1)], axis=1)
    length = lists.shape[1]
    found: _Floats = np.where(
        shifts >= 0, sums[:, [-1]] - sums[:, np.maximum(shifts, 0)], sums[:, length + np.minimum(shifts, 0)]
    )
    return np.maximum(found, 1e-9)


def _log_p_value(cosine: float, length: int) -> float:
    """Return the logarithm of the bound; twelve digits of the squared cosine are assumed to be correct."""
    if cosine <= 0:
        return 0.0
    beyond = max(1 - cosine, 1e-12)
    half = (length - 1) / 2
    inverse_beta = lgamma(length / 2) - lgamma(half) - 0.5 * log(pi)
    return min(inverse_beta - 0.5 * log(cosine) - log(half) + half * log(beyond), 0.0)
