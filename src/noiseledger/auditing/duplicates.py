"""Test whether random numbers were used twice. Noise that is used for two answers can be removed from both.

The test looks for the closest pair. If one given pair is this close with probability at most ``c``, then some pair of ``n``
numbers is this close with probability at most ``c n^2 / 2``. Duplicates therefore stand out if the numbers have many digits,
and a path has eighteen decimal places.

Memory is bounded: beyond a limit, a number is kept or dropped depending on a hash of its leading digits, so that two equal
numbers are either both kept or both dropped.
"""

from __future__ import annotations

from array import array
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from noiseledger.auditing import p_values

_Floats: TypeAlias = npt.NDArray[np.float64]

#: The maximum number of numbers to keep.
LIMIT = 2**17
_BITS = 64
_MASK = 2**_BITS - 1
#: A multiplicative hash that spreads consecutive numbers evenly (2**64 divided by the golden ratio, made odd).
_SPREAD = 0x9E3779B97F4A7C15
#: With fewer numbers than this, the third closest pair is not tested.
_MANY = 100
#: When memory is short, a pair counts as a duplicate if fewer pairs than this are expected to be as close.
_RARE = 1e-3


class DuplicateTest:
    """Looks for close pairs in a sequence of numbers."""

    def __init__(self, cell: int, limit: int = LIMIT) -> None:
        """Start without numbers; numbers in the same cell, ``cell`` units wide, are kept or dropped together."""
        self._cell = cell
        self._limit = limit
        self._seen = 0
        self._level = 0
        self._values, self._blurs, self._chances = array("Q"), array("d"), array("d")
        #: The probabilities of the three closest pairs among those that were dropped.
        self._closest = np.ones(3)

    def add(self, value: int, blur: float, chance: float) -> None:
        """Add an integer.

        Args:
            value: The number; only its remainder modulo 2**64 matters.
            blur: Two numbers that were equal before rounding may differ by half the sum of their blurs.
            chance: An upper bound on the probability that another such number hits a given unit.
        """
        self._seen += 1
        kept = value & _MASK
        if self._level and (((kept // self._cell) + 1) * _SPREAD & _MASK) >> (_BITS - self._level):
            return
        self._values.append(kept)
        self._blurs.append(blur)
        self._chances.append(chance)
        if len(self._values) > self._limit:
            self._thin_out()

    def p_value(self) -> float:
        """Return the p-value of the distances of the closest pair and of the third closest pair."""
        if self._seen < 2:
            return 1.0
        order = self._order()
        expected = _three_smallest(self._closest, self._pair_chances(order)) * self._pairs()
        one = max(float(expected[0]), p_values.SMALLEST)
        # Pairs are nearly independent, so the number of close pairs is nearly Poisson; the bound is doubled to be safe.
        three = max(float(expected[2]), 1e-90) ** 3 / 3 if self._seen >= _MANY else 1.0
        return p_values.bonferroni([min(one, 1.0), min(three, 1.0)])

    def _pairs(self) -> float:
        return self._seen * (self._seen - 1) / 2

    def _order(self) -> npt.NDArray[np.intp]:
        return np.argsort(np.frombuffer(self._values, dtype=np.uint64), kind="stable")

    def _pair_chances(self, order: npt.NDArray[np.intp]) -> _Floats:
        """Return, for each pair of consecutive values, the probability that a given pair is this close."""
        gaps = np.diff(np.frombuffer(self._values, dtype=np.uint64)[order]).astype(np.float64)
        blurs, chances = (np.frombuffer(column)[order] for column in (self._blurs, self._chances))
        pairs: _Floats = (2 * gaps + blurs[:-1] + blurs[1:]) * np.minimum(chances[:-1], chances[1:])
        return pairs

    def _thin_out(self) -> None:
        """Record duplicates and drop one of each pair; then drop every other cell until enough memory is free."""
        order = self._order()
        chances = self._pair_chances(order)
        self._closest = _three_smallest(self._closest, chances)
        self._keep(order[np.concatenate([[True], chances * self._pairs() > _RARE])])
        while len(self._values) > self._limit // 2:
            self._level += 1
            cells = np.frombuffer(self._values, dtype=np.uint64) // np.uint64(self._cell)
            hashes = (cells + np.uint64(1)) * np.uint64(_SPREAD)
            self._keep(np.flatnonzero(hashes >> np.uint64(_BITS - self._level) == 0))

    def _keep(self, positions: npt.NDArray[np.intp]) -> None:
        self._values = array("Q", np.array(self._values)[positions].tobytes())
        self._blurs = array("d", np.array(self._blurs)[positions].tobytes())
        self._chances = array("d", np.array(self._chances)[positions].tobytes())


def _three_smallest(first: _Floats, second: _Floats) -> _Floats:
    both: _Floats = np.sort(np.concatenate([first, second]))[:3]
    return both
