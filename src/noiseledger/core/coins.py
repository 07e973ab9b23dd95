"""The answer between two public points of a path, from public coins: the same answer for everyone.

Why the promise holds: the result is computed from numbers that are already public and from a hash of public numbers, so it
is post-processing and reveals nothing about the data. Anyone can compute the coins, and that does no harm: removing them
from the answer leaves the two public points, which everyone has.

Between revealed neighbours ``q < r`` the path is filled in by Lévy's midpoint construction: the point in the middle is drawn
from the Brownian bridge between the two ends, then the middle of the half that contains the request, and so on down to one
unit of precision. Each normal number is derived from a hash of its position, so two requests in one gap see the same
path. The hash also includes the points at both ends, which nobody knows before they are revealed: whoever chooses ``q`` and
``r`` cannot choose the coins.

All arithmetic is in whole numbers, so that every machine agrees to the last bit. Section 7.1 of
docs/explanation/mathematics.md specifies the bytes and gives the proof. The order in which the sampler reads its words is
part of this format: tests check golden values.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from hashlib import sha256, shake_256
from typing import TypeAlias

from noiseledger.core.noise import Sampler
from noiseledger.core.path import PATH_UNITS, Point
from noiseledger.core.privacy import UNITS
from noiseledger.errors import InvalidInput

#: A revealed point: its precision in whole units of 1/UNITS, and its coordinates.
Known: TypeAlias = tuple[int, Point]

#: Changed together with the format, so that no two formats share coins.
_TAG = b"noiseledger bridge 1"
#: The variance of a path over one unit of precision, in squared path units.
_VARIANCE_PER_UNIT = Fraction(PATH_UNITS**2, UNITS)
#: The output of one permutation of SHAKE-256: 17 words; most draws need fewer than ten.
_BLOCK_BYTES = 136
#: The number of points kept in memory. A point of 512 coordinates, the most on a chain, takes half a second to compute and
#: 20 kB to keep.
_REMEMBERED = 2048


@dataclass(frozen=True)
class Coins:
    """The source of public coins for one query of one ledger on one chain."""

    chain_id: int
    #: The address of the contract and the identifier of the query, both in hexadecimal digits.
    ledger: str
    query: str

    def seed(self, left: Known, right: Known) -> bytes:
        """Return the seed of all coins between two neighbouring points."""
        names = bytes.fromhex(self.ledger.removeprefix("0x")) + bytes.fromhex(self.query)
        ends = (left[0], right[0], *left[1], *right[1])
        return sha256(_TAG + _word(self.chain_id) + names + b"".join(map(_word, ends))).digest()


@lru_cache(maxsize=_REMEMBERED)
def bridge(coins: Coins, left: Known, right: Known, precision: int) -> Point:
    """Return the path's point at a precision strictly between two neighbouring revealed points.

    >>> coins = Coins(chain_id=1, ledger="0x" + "11" * 20, query="22" * 32)
    >>> start, end = (0, (0,)), (UNITS, (1000 * PATH_UNITS,))
    >>> bridge(coins, start, end, UNITS // 2)
    (500561145728601014847,)
    """
    (q, start), (r, end) = left, right
    if not q < precision < r:
        raise InvalidInput("The precision of a bridge must lie strictly between its two ends.")
    seed = coins.seed(left, right)
    while True:
        middle = (q + r) // 2
        before, after = middle - q, r - middle
        variance = Fraction(before * after, r - q) * _VARIANCE_PER_UNIT
        means = (Fraction(after * a + before * b, r - q) for a, b in zip(start, end, strict=True))
        point = tuple(
            Sampler(_words(seed, coordinate, middle)).rounded([mean], variance)[0]
            for coordinate, mean in enumerate(means)
        )
        if middle == precision:
            return point
        if precision < middle:
            r, end = middle, point
        else:
            q, start = middle, point


def _words(seed: bytes, coordinate: int, position: int) -> Iterator[int]:
    """Yield the coins of one coordinate of one midpoint, as big-endian 64-bit words."""
    stream = shake_256(seed + _word(coordinate) + _word(position))
    read, size = 0, _BLOCK_BYTES
    while True:
        yield from struct.unpack(f">{(size - read) // 8}Q", stream.digest(size)[read:])
        read, size = size, 2 * size


def _word(number: int) -> bytes:
    """Return a whole number in the chain's encoding: 32 bytes, big-endian, two's complement."""
    return (number % 2**256).to_bytes(32, "big")
