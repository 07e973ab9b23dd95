"""Test whether the low-order digits of integers are random. They are not if noise is drawn on a grid or in floating point.

Why they must be random: round a normal variable whose standard deviation is at least ``2 m``. Each remainder modulo ``m`` is
then equally likely, up to one part in 10**34, whatever the mean (the next term of the Poisson summation formula is
exp(-2 pi^2 2^2)). The smallest standard deviation in a ledger, that of one unit of precision, is 16,666 path units.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from math import gcd, inf, log

from noiseledger.auditing import p_values

#: How many endings are counted for each base: all of twelve binary digits or of three decimal digits.
_LAST = {2: 2**12, 10: 10**3}
#: How many endings are compared with each other: those of four binary digits or of one decimal digit.
_FEW = {2: 16, 10: 10}


class LastDigitTest:
    """Tests the last digits of many numbers. It keeps sums and at most 5,096 counts, however many numbers there are."""

    def __init__(self, *bases: int) -> None:
        """Start without numbers; look at them in base 2, in base 10, or in both."""
        self._numbers = 0
        self._zeros = dict.fromkeys(bases, 0)
        self._ends: dict[int, Counter[int]] = {base: Counter() for base in bases}
        self._divisor = 0
        self._smallest_deviation = inf

    def add(self, number: int, deviation: float) -> None:
        """Add a number that was rounded from a normal variable with this standard deviation."""
        self._numbers += 1
        self._smallest_deviation = min(self._smallest_deviation, deviation)
        self._divisor = gcd(self._divisor, number)
        for base, ends in self._ends.items():
            self._zeros[base] += _trailing_zeros(number, base, deviation)
            if deviation >= 2 * _LAST[base]:
                ends[number % _LAST[base]] += 1

    def p_value(self) -> float:
        """Return the p-value of the hypothesis that the digits are random."""
        return p_values.bonferroni(self._p_values())

    def _p_values(self) -> Iterator[float]:
        yield self._common_divisor()
        for base in self._ends:
            yield self._trailing_zeros(base)
            yield self._most_frequent_ending(base)
            yield self._last_digit(base)

    def _trailing_zeros(self, base: int) -> float:
        """Test the trailing zeros: their number is geometric for each number, so their sum is negative binomial."""
        zeros, numbers = self._zeros[base], self._numbers
        return p_values.binomial_at_least(zeros, numbers + zeros - 1, 1 / base) if zeros else 1.0

    def _most_frequent_ending(self, base: int) -> float:
        """Test the most frequent ending, corrected for the number of endings."""
        ends = self._ends[base]
        most = max(ends.values(), default=0)
        return min(_LAST[base] * p_values.binomial_at_least(most, ends.total(), 1 / _LAST[base]), 1.0)

    def _last_digit(self, base: int) -> float:
        counts = [0] * _FEW[base]
        for end, times in self._ends[base].items():
            counts[end % _FEW[base]] += times
        return p_values.equal_cells(counts)

    def _common_divisor(self) -> float:
        """Test the greatest common divisor: all ``n`` numbers are multiples of ``d`` with probability ``d**-n``.

        A larger divisor would have been just as extreme. The sum over all divisors from ``d`` on is below ``2 d**(1-n)`` if
        ``d`` is far below the standard deviations, so ``d`` is capped.
        """
        divisor = min(self._divisor, int(self._smallest_deviation / 1000))
        if divisor < 2 or self._numbers < 2:
            return 1.0
        return min(2 * 10 ** max((1 - self._numbers) * log(divisor, 10), -300), 1.0)


def _trailing_zeros(number: int, base: int, deviation: float) -> int:
    """Count the trailing zeros of a number, but only at digits that the noise is wide enough to make random."""
    zeros, unit = 0, base
    while unit <= deviation / 2 and number % unit == 0:
        zeros += 1
        unit *= base
    return zeros
