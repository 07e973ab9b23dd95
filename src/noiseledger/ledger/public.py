"""The public part of a query's path on a chain: the revealed points, and one function for the points between them.

Why the promise holds: the only inputs are revealed points, so this is post-processing of public values. Points are only added
at the end of a path, so once a path is revealed up to a precision, the neighbouring points of that precision stay the same: a
recorded request has one answer, the same for everyone at any time. Before that it has none. The answer is a function of what
is on the chain: if a reorganisation removes a reveal and the path is revealed in other steps, the answer is computed from
these.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from noiseledger.chain.values import to_units
from noiseledger.core.coins import Coins, Known, bridge
from noiseledger.core.path import Point
from noiseledger.core.query import Query
from noiseledger.ledger.query_state import LoggedRequest, QueryState


@dataclass(frozen=True)
class PublicPath:
    """The revealed points of one query, by increasing precision, and the public coins for the points between them."""

    coins: Coins
    ends: Sequence[Fraction]
    points: Sequence[Point]

    @classmethod
    def of(cls, chain_id: int, address: str, query: Query, state: QueryState) -> PublicPath:
        """Return the path of a query of one ledger, as far as it is revealed."""
        return cls(Coins(chain_id, address, query.identifier), state.ends, state.points)

    @property
    def furthest(self) -> Fraction:
        """The highest revealed precision."""
        return self.ends[-1] if self.ends else Fraction(0)

    def point(self, precision: Fraction) -> Point | None:
        """Return the path's point at a precision; None beyond the highest revealed precision."""
        place = bisect_left(self.ends, precision)
        if place == len(self.ends):
            return None
        if self.ends[place] == precision:
            return self.points[place]
        return bridge(self.coins, self._known(place - 1), self._known(place), to_units(precision))

    def answer(self, request: LoggedRequest) -> Point | None:
        """Return the point that answers a request: on the path or, without reuse, on its own stretch."""
        start, end = request.stretch
        last = self.point(end)
        if last is None or not start:
            return last
        first = self.point(start)
        return None if first is None else tuple(b - a for a, b in zip(first, last, strict=True))

    def _known(self, place: int) -> Known:
        if place < 0:
            return 0, (0,) * len(self.points[0])
        return to_units(self.ends[place]), self.points[place]
