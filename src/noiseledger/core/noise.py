"""Gaussian noise, rounded to the integers, without floating point.

Why the promise holds: each sample is exactly the rounding of a real-valued Gaussian, so what is published is a
post-processing of the ideal Gaussian mechanism and inherits its guarantee to the last bit. No state is kept between
calls, so a forked process can never repeat another's noise.

The method is rejection sampling after von Neumann and Karney (2016), with a table for the leading digit; the proof is
in docs/explanation/mathematics.md. Write ``|Z| = (k + x) / 16`` with a whole number ``k`` and ``0 < x < 1``:

1. draw the cell ``k`` with probability proportional to ``exp(-k^2 / 512)``;
2. draw ``x`` uniformly, with only as many digits as are needed;
3. accept with probability ``exp(-x (2k + x) / 512)``, else start again;
4. draw the sign, and reveal digits of ``x`` until the rounding of ``mean + deviation * Z`` is certain.

``Sampler`` also computes public answers (core/coins.py), so the order in which it reads its words is a format: it must not
change. A new sampler is a new class, used only by ``rounded_gaussians``.
"""

from __future__ import annotations

import os
from array import array
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from decimal import ROUND_HALF_EVEN, Context, Decimal
from fractions import Fraction
from functools import lru_cache
from math import isqrt

from noiseledger.errors import InvalidInput

#: A standard deviation is divided into 2^CELL_BITS = 16 cells: wide enough for a short table, narrow enough that 97% of
#: the draws are accepted.
CELL_BITS = 4
#: Cell k has weight exp(-k^2 / SPREAD).
SPREAD = 2 * 4**CELL_BITS


def rounded_gaussian(mean: Fraction, variance: Fraction) -> int:
    """Return one draw from ``Normal(mean, variance)``, rounded to an integer."""
    return rounded_gaussians([mean], variance)[0]


def rounded_gaussians(means: Sequence[Fraction | int], variance: Fraction | int) -> list[int]:
    """Return independent draws from ``Normal(mean, variance)``, one for each mean, rounded to integers.

    >>> len(rounded_gaussians([0, Fraction(1, 3)], Fraction(10**12)))
    2
    """
    if variance <= 0:
        raise InvalidInput(f"The variance of the noise must be above 0, not {variance}.")
    return Sampler(secure_words()).rounded(means, Fraction(variance))


def secure_words() -> Iterator[int]:
    """Yield 64-bit words from the operating system's secure generator."""
    while True:
        yield from array("Q", os.urandom(512))


class Uniform:
    """A uniform number between 0 and 1; ``digits`` holds its first ``length`` words as one integer."""

    __slots__ = ("digits", "length")

    def __init__(self, word: int) -> None:
        self.digits = word
        self.length = 1


class Sampler:
    """Convert random words to Gaussian noise.

    Tests pass words of one or two bits: a comparison that is undecided once in 2^64 draws with the default width is then
    undecided all the time, and the distribution of the samples must still be exact.
    """

    def __init__(self, words: Iterator[int], width: int = 64) -> None:
        """Read random words of ``width`` bits."""
        self._word = words.__next__
        self._width = width

    def rounded(self, means: Sequence[Fraction | int], variance: Fraction) -> list[int]:
        """Return the rounding of ``Normal(mean, variance)`` for each mean."""
        deviation = _Root(variance)
        return [self._round(mean.numerator, mean.denominator, deviation) for mean in means]

    def _round(self, m: int, d: int, deviation: _Root) -> int:
        """Return one rounded draw, for the mean ``m / d``; the number of words it reads does not depend on the mean."""
        # Exact halves have probability 0, so the rounding is symmetric: handle a negative sign by mirroring the mean.
        negative = self._word() & 1
        k, x = self.half_normal()
        # One word more than the integers need. Only the event that this is not enough depends on the mean, and its
        # probability is below 2^-66 for every mean and denominator (mathematics page, Theorem 7.3).
        while self._width * (x.length - 1) < deviation.whole_bits:
            self._extend(x)
        # Round mean + 1/2 + noise down, in units of 1 / 2d.
        unit = 2 * d
        start = d - 2 * m if negative else d + 2 * m
        while True:
            bits = self._width * x.length
            low, high, scale = deviation.times((k << bits) | x.digits, bits + CELL_BITS)
            below, above = (start + (unit * low >> scale)) // unit, (start + (unit * high >> scale)) // unit
            if below == above:
                return -below if negative else below
            self._extend(x)

    def half_normal(self) -> tuple[int, Uniform]:
        """Return ``(k, x)`` such that ``(k + x) / 16`` is the absolute value of a standard normal."""
        while True:
            k = self._cell()
            x = Uniform(self._word())
            if self._accept(k, x):
                return k, x

    def _cell(self) -> int:
        u = Uniform(self._word())
        while True:
            low, high = _thresholds(self._width * u.length)
            k = bisect_right(low, u.digits) - 1
            # The true threshold lies in [low, high]: the cell is certain when u is clear of both its ends. The last
            # upper bound is above every u, so the far tail is never certain here and low[k + 1] exists where it is read.
            if high[k] <= u.digits < low[k + 1]:
                return k
            self._extend(u)

    def _accept(self, k: int, x: Uniform) -> bool:
        """Return True with probability ``exp(-x (2k + x) / 512)``, as a product of factors whose exponents are below 1."""
        factors = 2 * k // SPREAD + 1
        return all(self._accept_factor(2 * k, SPREAD * factors, x) for _ in range(factors))

    def _accept_factor(self, doubled_k: int, scale: int, x: Uniform) -> bool:
        """Return True with probability ``exp(-x g)`` for ``g = (2k + x) / scale``.

        A run continues with probability ``g`` times the probability that a fresh uniform falls below the last one, so it
        reaches length n with probability ``(x g)^n / n!`` and has even length with probability ``exp(-x g)``.
        """
        last, even = x, True
        while True:
            slot = self._below(scale)
            if slot > doubled_k or (slot == doubled_k and not self._less(Uniform(self._word()), x)):
                return even
            fresh = Uniform(self._word())
            if not self._less(fresh, last):
                return even
            last, even = fresh, not even

    def _below(self, bound: int) -> int:
        """Return a uniform whole number from 0 to ``bound - 1``."""
        bits = (bound - 1).bit_length()
        while True:
            number = available = 0
            while available < bits:
                number = (number << self._width) | self._word()
                available += self._width
            number >>= available - bits
            if number < bound:
                return number

    def _less(self, a: Uniform, b: Uniform) -> bool:
        """Compare two uniforms exactly; draw more digits while the known ones agree."""
        while True:
            if a.length == b.length and a.digits != b.digits:
                return a.digits < b.digits
            shared = min(a.length, b.length)
            left = a.digits >> self._width * (a.length - shared)
            right = b.digits >> self._width * (b.length - shared)
            if left != right:
                return left < right
            self._extend(a if a.length == shared else b)

    def _extend(self, u: Uniform) -> None:
        u.digits = (u.digits << self._width) | self._word()
        u.length += 1


class _Root:
    """The square root of a variance, to any requested number of binary digits."""

    #: Extra bits of the root beyond those of the number it is multiplied by: 6 would be enough for numbers below 64.
    _SPARE_BITS = 12

    def __init__(self, variance: Fraction) -> None:
        self._variance = variance
        #: The root is below 2^whole_bits.
        self.whole_bits = ((variance.numerator // variance.denominator).bit_length() + 1) // 2
        # The root is at least 2^-small_bits.
        self._small_bits = (variance.denominator.bit_length() - variance.numerator.bit_length() + 2) // 2
        self._bounds: dict[int, tuple[int, int]] = {}

    def times(self, digits: int, bits: int) -> tuple[int, int, int]:
        """Return ``low, high, scale``: the root times ``z`` is between ``low`` and ``high``, both over ``2^scale``.

        The known bounds of z are ``digits <= z * 2^bits <= digits + 1``.
        """
        if bits not in self._bounds:
            shift = max(bits + self._SPARE_BITS + self._small_bits, 0)
            square = (self._variance.numerator << 2 * shift) // self._variance.denominator
            self._bounds[bits] = isqrt(square), shift
        root, shift = self._bounds[bits]
        return root * digits, (root + 1) * (digits + 1), shift + bits


@lru_cache(maxsize=64)
def _thresholds(bits: int) -> tuple[list[int], list[int]]:
    """Return integer bounds below and above ``2^bits * P(cell < j)``, for j = 0, 1, ... up to the last that differs from 1.

    ``Decimal.exp`` rounds correctly, so each weight, truncated to a whole number of units, is less than 2 units off; the
    omitted weights add up to less than 2 units. With 64 guard bits the bounds are at most 2 apart.
    """
    unit = Decimal(1 << bits + 64)
    # The caller may have changed the current context, so do not use it.
    context = Context(prec=(bits + 64) // 3 + 20, rounding=ROUND_HALF_EVEN, Emin=-(10**6), Emax=10**6, traps=[])
    weights: list[int] = []
    while not weights or weights[-1] > 0:
        exponent = context.divide(Decimal(-(len(weights) ** 2)), Decimal(SPREAD))
        weights.append(int(context.multiply(context.exp(exponent), unit)))
    total = sum(weights)
    slack = 2 * len(weights) + 2
    low, high, below = [0], [0], 0
    for weight in weights:
        below += weight
        low.append(max((below - slack << bits) // (total + slack), 0))
        high.append(-(-(below + slack << bits) // (total - slack)))
    return low, high
