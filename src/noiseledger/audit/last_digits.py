"""Are the low-order digits of whole numbers random? They are not where noise was drawn on a coarse grid or in floating point.

Why they must be: the rounding of a normal number whose deviation is twice ``m`` or more falls on each remainder by ``m``
equally often, up to one part in 10**34 (the next term of the Poisson summation formula is exp(-2 pi^2 2^2)), whatever its
mean; and the smallest deviation that a ledger can have, that of one unit of precision, is 16,666 units of the path.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from math import gcd, inf, log

from noiseledger.audit import tails

#: The last digits that are counted in full, for each base: twelve binary ones and three decimal ones.
_LAST = {2: 2**12, 10: 10**3}
#: Those of them that are compared one by one.
_FEW = {2: 16, 10: 10}


class Digits:
    """Keeps what the digits tell: sums and at most 5,096 counts, however many numbers there were."""

    def __init__(self, *bases: int) -> None:
        """Begin without numbers; look at them in base 2, in base 10, or in both."""
        self._numbers = 0
        self._zeros = dict.fromkeys(bases, 0)
        self._ends: dict[int, Counter[int]] = {base: Counter() for base in bases}
        self._divisor = 0
        self._narrowest = inf

    def take(self, number: int, deviation: float) -> None:
        """Take in a number that was rounded from a normal one of this deviation."""
        self._numbers += 1
        self._narrowest = min(self._narrowest, deviation)
        self._divisor = gcd(self._divisor, number)
        for base, ends in self._ends.items():
            self._zeros[base] += _final_zeros(number, base, deviation)
            if deviation >= 2 * _LAST[base]:
                ends[number % _LAST[base]] += 1

    def p_value(self) -> float:
        """Return how likely digits are that are as little random."""
        return tails.any_of(self._p_values())

    def _p_values(self) -> Iterator[float]:
        yield self._common_divisor()
        for base in self._ends:
            yield self._final_zeros(base)
            yield self._crowd(base)
            yield self._evenness(base)

    def _final_zeros(self, base: int) -> float:
        """Zeros at the end are a geometric number each; their sum is large if fewer other digits came in as many tries."""
        zeros, numbers = self._zeros[base], self._numbers
        return tails.binomial_at_least(zeros, numbers + zeros - 1, 1 / base) if zeros else 1.0

    def _crowd(self, base: int) -> float:
        """The last digits that came most often; any could have been it."""
        ends = self._ends[base]
        most = max(ends.values(), default=0)
        return min(_LAST[base] * tails.binomial_at_least(most, ends.total(), 1 / _LAST[base]), 1.0)

    def _evenness(self, base: int) -> float:
        counts = [0] * _FEW[base]
        for end, times in self._ends[base].items():
            counts[end % _FEW[base]] += times
        return tails.evenly_filled(counts)

    def _common_divisor(self) -> float:
        """All numbers are multiples of ``d`` with probability ``d**-n``; any larger divisor would have been as odd.

        The sum over all of them is below ``2 d**(1-n)`` as long as ``d`` is far below the deviations: so it is cut there.
        """
        divisor = min(self._divisor, int(self._narrowest / 1000))
        if divisor < 2 or self._numbers < 2:
            return 1.0
        return min(2 * 10 ** max((1 - self._numbers) * log(divisor, 10), -300), 1.0)


def _final_zeros(number: int, base: int, deviation: float) -> int:
    """Count the zeros that a number ends in, but only those that chance could have made something else."""
    zeros, unit = 0, base
    while unit <= deviation / 2 and number % unit == 0:
        zeros += 1
        unit *= base
    return zeros
