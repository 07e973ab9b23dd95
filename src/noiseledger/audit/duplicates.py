"""Did random numbers come twice? Noise that was used for two answers can be taken out of both.

What is looked for is the closest pair. If one pair comes as close with probability ``c`` at most, some pair of ``n`` numbers
does so with probability ``c n^2 / 2`` at most; so repeats stand out as long as numbers have many digits, and a path has
eighteen behind the point.

Memory is bounded: past a limit, only numbers are kept whose leading digits have a hash of a certain kind, so that of two
equal ones both are kept or neither.
"""

from __future__ import annotations

from array import array
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from noiseledger.audit import tails

_Floats: TypeAlias = npt.NDArray[np.float64]

#: So many numbers are kept at most.
LIMIT = 2**17
_BITS = 64
_MASK = 2**_BITS - 1
#: Spreads consecutive numbers evenly (2**64 over the golden ratio, made odd).
_SPREAD = 0x9E3779B97F4A7C15
#: Among fewer numbers than this, the third closest pair is not looked at.
_MANY = 100
#: Pairs that are expected less often than this are taken for repeats when memory is short.
_RARE = 1e-3


class Repeats:
    """Looks for pairs among numbers that come one by one."""

    def __init__(self, cell: int, limit: int = LIMIT) -> None:
        """Begin without numbers; those in the same ``cell``, so many units wide, are kept or dropped together."""
        self._cell = cell
        self._limit = limit
        self._seen = 0
        self._level = 0
        self._values, self._blurs, self._chances = array("Q"), array("d"), array("d")
        #: Of the pairs that are not kept any more, how likely the three closest were.
        self._closest = np.ones(3)

    def take(self, value: int, blur: float, chance: float) -> None:
        """Take in a whole number.

        Args:
            value: The number; only its remainder by 2**64 matters.
            blur: Two numbers that were the same before they were rounded may differ by half the sum of their blurs.
            chance: A bound on the probability that another such number falls on a given unit.
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
        """Return how likely pairs are that are as close: the closest, and the third closest."""
        if self._seen < 2:
            return 1.0
        order = self._order()
        expected = _three_smallest(self._closest, self._pair_chances(order)) * self._pairs()
        one = max(float(expected[0]), tails.LEAST)
        # Pairs are nearly independent, so their number is nearly Poisson's; doubled for what "nearly" leaves out.
        three = max(float(expected[2]), 1e-90) ** 3 / 3 if self._seen >= _MANY else 1.0
        return tails.any_of([min(one, 1.0), min(three, 1.0)])

    def _pairs(self) -> float:
        return self._seen * (self._seen - 1) / 2

    def _order(self) -> npt.NDArray[np.intp]:
        return np.argsort(np.frombuffer(self._values, dtype=np.uint64), kind="stable")

    def _pair_chances(self, order: npt.NDArray[np.intp]) -> _Floats:
        """Return for each two neighbours by size the chance that one pair is as close."""
        gaps = np.diff(np.frombuffer(self._values, dtype=np.uint64)[order]).astype(np.float64)
        blurs, chances = (np.frombuffer(column)[order] for column in (self._blurs, self._chances))
        pairs: _Floats = (2 * gaps + blurs[:-1] + blurs[1:]) * np.minimum(chances[:-1], chances[1:])
        return pairs

    def _thin_out(self) -> None:
        """Note repeats and drop their second halves; then, until it helps, drop every other cell."""
        order = self._order()
        chances = self._pair_chances(order)
        self._closest = _three_smallest(self._closest, chances)
        self._keep(order[np.concatenate([[True], chances * self._pairs() > _RARE])])
        while len(self._values) > self._limit // 2:
            self._level += 1
            cells = np.frombuffer(self._values, dtype=np.uint64) // np.uint64(self._cell)
            hashes = (cells + np.uint64(1)) * np.uint64(_SPREAD)
            self._keep(np.flatnonzero(hashes >> np.uint64(_BITS - self._level) == 0))

    def _keep(self, places: npt.NDArray[np.intp]) -> None:
        self._values = array("Q", np.array(self._values)[places].tobytes())
        self._blurs = array("d", np.array(self._blurs)[places].tobytes())
        self._chances = array("d", np.array(self._chances)[places].tobytes())


def _three_smallest(first: _Floats, second: _Floats) -> _Floats:
    both: _Floats = np.sort(np.concatenate([first, second]))[:3]
    return both
