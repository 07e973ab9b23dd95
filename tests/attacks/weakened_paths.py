"""Weakened copies of a path, and the journals that draw from them: what the attacks must see through."""

from __future__ import annotations

import random
import sqlite3
from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from math import sqrt

from noiseledger.core.noise import rounded_gaussians
from noiseledger.core.path import PATH_UNITS, Point, Price, QueryPath
from noiseledger.custodian.journal import Journal
from noiseledger.ledger import book


class PaperPath(QueryPath):
    """Weakened, as in the paper: case 2C is the nearest better answer plus fresh noise, whatever else was sold.

    That is a bridge from 0, forgetting the lower neighbour: S(r)/r + Normal(0, 1/p - 1/r).
    """

    def _bridge(self, price: Price) -> Point:
        return super()._bridge(replace(price, sources=price.sources[:1]))


class OtherNoise(QueryPath):
    """A path that is extended with noise of another kind."""

    def _extend(self, price: Price, truth: Sequence[Fraction]) -> Point:
        start = self._points.get(self.furthest, (0,) * self.dimension)
        increments = (self._increment(price.cost, value) for value in truth)
        return tuple(known + new for known, new in zip(start, increments, strict=True))

    @abstractmethod
    def _increment(self, cost: Fraction, truth: Fraction) -> int:
        """Return an increment of the path, in path units."""


class NoNoise(OtherNoise):
    """Weakened: the noise is off."""

    def _increment(self, cost: Fraction, truth: Fraction) -> int:
        return round(cost * truth * PATH_UNITS)


class HalfTheNoise(OtherNoise):
    """Weakened: the noise deviates half as far as it must."""

    def _increment(self, cost: Fraction, truth: Fraction) -> int:
        return rounded_gaussians([cost * truth * PATH_UNITS], cost / 4 * PATH_UNITS**2)[0]


class FloatNoise(OtherNoise):
    """Weakened: the noise is drawn and added in floating point, from good randomness, and only then put on the grid."""

    _generator = random.SystemRandom()

    def _increment(self, cost: Fraction, truth: Fraction) -> int:
        return round(Fraction(self._generator.gauss(float(cost * truth), sqrt(cost))) * PATH_UNITS)


class WeakenedJournal(Journal):
    """A real journal, but for the kind of its paths."""

    kind: type[QueryPath]

    def _path(self, run: sqlite3.Connection, entry: book.StoredQuery, precision: Fraction) -> QueryPath:
        return self.kind(entry.query.dimension, self._known(run, entry, precision))


class PaperJournal(WeakenedJournal):
    kind = PaperPath


class NoNoiseJournal(WeakenedJournal):
    kind = NoNoise


class HalfTheNoiseJournal(WeakenedJournal):
    kind = HalfTheNoise


class FloatNoiseJournal(WeakenedJournal):
    kind = FloatNoise
