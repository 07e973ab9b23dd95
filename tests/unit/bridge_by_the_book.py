"""The bridge from public coins once more, from the words of docs/explanation/mathematics.md, section 7.1, and nothing else.

Slow and plain on purpose: fractions, one function for each paragraph, and an exponential that is summed up here.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from fractions import Fraction
from functools import cache
from math import ceil, floor, isqrt

U = 3600 * 10**24
HALF = Fraction(1, 2)


def bytes32(number: int) -> bytes:
    return number.to_bytes(32, "big", signed=number < 0)


def point(
    chain_id: int, address: bytes, query: bytes, q: int, r: int, s_q: Sequence[int], s_r: Sequence[int], p: int
) -> tuple[int, ...]:
    """Return the point at ``p`` between ``q`` and ``r``."""
    text = b"noiseledger bridge 1" + bytes32(chain_id) + address + query + bytes32(q) + bytes32(r)
    for number in (*s_q, *s_r):
        text += bytes32(number)
    seed = hashlib.sha256(text).digest()
    return tuple(coordinate(seed, i, q, r, s_q[i], s_r[i], p) for i in range(len(s_q)))


def coordinate(seed: bytes, i: int, a: int, b: int, s_a: int, s_b: int, p: int) -> int:
    c = floor(Fraction(a + b, 2))
    mean = Fraction((b - c) * s_a + (c - a) * s_b, b - a)
    variance = Fraction((c - a) * (b - c), b - a) * Fraction(10**36, U)
    s_c = rounded_normal(Stream(seed + bytes32(i) + bytes32(c)), mean, variance)
    if p == c:
        return s_c
    return coordinate(seed, i, a, c, s_a, s_c, p) if p < c else coordinate(seed, i, c, b, s_c, s_b, p)


class Stream:
    def __init__(self, name: bytes) -> None:
        self._bytes = hashlib.shake_256(name).digest(8000)
        self._place = 0

    def word(self) -> int:
        self._place += 8
        word = self._bytes[self._place - 8 : self._place]
        assert len(word) == 8
        return sum(byte << 8 * (7 - place) for place, byte in enumerate(word))


class Uniform:
    """Words of a uniform number, as many as are known."""

    def __init__(self, stream: Stream) -> None:
        self._stream = stream
        self.words = [stream.word()]

    def look(self) -> None:
        self.words.append(self._stream.word())

    def interval(self) -> tuple[Fraction, Fraction]:
        low = sum((Fraction(word, 2 ** (64 * place)) for place, word in enumerate(self.words, 1)), Fraction(0))
        return low, low + Fraction(1, 2 ** (64 * len(self.words)))

    def is_below(self, other: Uniform) -> bool:
        for place in range(1000):
            while len(self.words) <= place or len(other.words) <= place:
                (self if len(self.words) <= len(other.words) else other).look()
            if self.words[place] != other.words[place]:
                return self.words[place] < other.words[place]
        raise AssertionError


def rounded_normal(stream: Stream, mean: Fraction, variance: Fraction) -> int:
    sign = -1 if stream.word() % 2 else 1
    k, x = accepted(stream)
    while True:
        h = 64 * len(x.words) + 200
        root = isqrt(floor(variance * 4**h))
        low, high = x.interval()
        near = mean + sign * Fraction(root, 2**h) * (k + low) / 16
        far = mean + sign * Fraction(root + 1, 2**h) * (k + high) / 16
        if floor(near + HALF) == floor(far + HALF):
            return floor(near + HALF)
        x.look()


def accepted(stream: Stream) -> tuple[int, Uniform]:
    while True:
        k = cell(stream)
        x = Uniform(stream)
        m = 2 * k // 512 + 1
        # Not a generator: each trial reads words, and a failure ends the attempt at once.
        if next((False for _ in range(m) if not trial(stream, k, x, 512 * m)), True):
            return k, x


def cell(stream: Stream) -> int:
    u = Uniform(stream)
    while True:
        bits = 64 * len(u.words)
        lo, hi = thresholds(bits)
        a = int(u.interval()[0] * 2**bits)
        k = max(j for j in range(len(lo)) if lo[j] <= a)
        if hi[k] <= a and a + 1 <= lo[k + 1]:
            return k
        u.look()


def trial(stream: Stream, k: int, x: Uniform, scale: int) -> bool:
    y, n = x, 0
    while True:
        f = below(stream, scale)
        if f > 2 * k or (f == 2 * k and not Uniform(stream).is_below(x)):
            return n % 2 == 0
        z = Uniform(stream)
        if not z.is_below(y):
            return n % 2 == 0
        y, n = z, n + 1


def below(stream: Stream, bound: int) -> int:
    bits = len(f"{bound - 1:b}")
    while True:
        f = int(f"{stream.word():064b}"[:bits], 2)
        if f < bound:
            return f


@cache
def thresholds(bits: int) -> tuple[list[int], list[int]]:
    weights = list(whole_weights(2 ** (bits + 64)))
    total, slack = sum(weights), 2 * len(weights) + 2
    sums = [sum(weights[:j]) for j in range(1, len(weights) + 1)]
    lo = [0, *(max(0, floor(Fraction(2**bits * (c - slack), total + slack))) for c in sums)]
    hi = [0, *(ceil(Fraction(2**bits * (c + slack), total - slack)) for c in sums)]
    return lo, hi


def whole_weights(unit: int) -> Iterator[int]:
    k = 0
    while True:
        weight = floor(unit * exp_minus(Fraction(k * k, 512), unit))
        yield weight
        if weight == 0:
            return
        k += 1


def exp_minus(exponent: Fraction, unit: int) -> Fraction:
    """Return exp(-exponent) to far more digits than it is cut to: the inverse of the exponential series, in fixed point."""
    one = unit * 2**200
    total, term, n = 0, one, 0
    while term:
        total += term
        n += 1
        term = term * exponent.numerator // (exponent.denominator * n)
    return Fraction(one, total)
