"""All public answers of one edition, and what they determine together: estimates with errors, weights, covariances and prices.

Why the promise holds: this is post-processing of public numbers, see :mod:`noiseledger.core.combination`.

>>> from fractions import Fraction
>>> young, old, everyone = Query.count("age < 40"), Query.count("age >= 40"), Query.count("age IS NOT NULL")
>>> public = PublicAnswers([young, old, everyone], Population.add_remove())
>>> public.add(young, Fraction(1, 4), [300])
>>> public.add(old, Fraction(1, 4), [700])
>>> (both,) = public.estimate(everyone)
>>> round(both.value, 6), round(both.variance, 6), [(str(weight.query), round(weight.weight, 6)) for weight in both.weights]
(1000.0, 8.0, [('count of rows where age < 40', 1.0), ('count of rows where age >= 40', 1.0)])
>>> public.price(everyone, wanted=4)  # asked alone, a variance of 4 costs 1/4
Fraction(1, 8)
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import inf, isfinite, sqrt

import numpy as np

from noiseledger.core.combination.cells import MAX_CELLS, Measured, cells_of
from noiseledger.core.combination.linear import LinearEstimate, LinearRecord, Vector
from noiseledger.core.combination.price import price
from noiseledger.core.combination.rows import CellRows, KnownPart, is_public, scale_of
from noiseledger.core.query import Query
from noiseledger.core.sensitivity import Population, sensitivity
from noiseledger.errors import InvalidInput, NotDetermined


@dataclass(frozen=True)
class Weight:
    """How much one coordinate of one public answer counts in an estimate."""

    query: Query
    coordinate: int
    weight: float


@dataclass(frozen=True)
class Estimate:
    """The best estimate of one coordinate of a query, in its own units: ``constant`` plus the weighted public answers."""

    value: float
    #: Of the noise. The error is exactly normal if purchases did not depend on earlier answers.
    variance: float
    constant: float
    weights: tuple[Weight, ...]
    #: How well the weights add up to the query, see :mod:`noiseledger.core.combination.linear`.
    mismatch: float

    @property
    def deviation(self) -> float:
        """The standard deviation of the noise."""
        return sqrt(self.variance)


@dataclass(frozen=True)
class _Answer:
    """The most precise public answer to a query."""

    precision: Fraction
    values: tuple[Fraction, ...]


class _Part:
    """The answers that measure one thing."""

    def __init__(self, rows: CellRows) -> None:
        self.rows = rows
        self.record = LinearRecord(rows.size)
        #: For each measurement, what was measured, what one unit of it is worth, and what was known of it before.
        self.sources: list[tuple[Query, int, Fraction, Fraction]] = []


class PublicAnswers:
    """The public answers to queries about one edition; new ones are added as they are revealed.

    The queries are all those that are answered or asked for; the cells follow from them. Answers of different editions are
    about different records, so each edition needs one of its own.
    """

    def __init__(self, queries: Iterable[Query], population: Population, limit: int = MAX_CELLS) -> None:
        """Find the cells of the queries; refuse them if there are more than ``limit`` of one kind."""
        self._population = population
        found = cells_of(queries, limit)
        self._parts: dict[Measured, _Part] = {
            measured: _Part(CellRows.of(cells, population)) for measured, cells in found.items()
        }
        self._known: dict[Query, _Answer] = {}
        self._left_out: list[Query] = []

    @property
    def left_out(self) -> tuple[Query, ...]:
        """The answers that are not used, because rounding hides what they tell; estimates are correct without them."""
        return tuple(self._left_out)

    def add(self, query: Query, precision: Fraction, values: Sequence[float | Fraction]) -> None:
        """Add the public answer to a query at a precision, in the query's units.

        Of several answers to one query, the most precise one tells everything: only its increment over the one before is
        new, and that is independent of it. A less precise one tells nothing, and is ignored.
        """
        given = _answer(query, precision, values)
        before = self._known.get(query, _Answer(Fraction(0), (Fraction(0),) * query.dimension))
        if precision <= before.precision:
            if precision == before.precision and given != before:
                raise InvalidInput(
                    f"There are two different answers to {query} at one precision: give the published one."
                )
            return
        part, scale = self._part(query), scale_of(query, self._population)
        step = precision - before.precision
        variance = float((sensitivity(query, self._population) / scale) ** 2 / step)
        used = True
        for coordinate, known in enumerate(part.rows.parts(query)):
            fresh = precision * given.values[coordinate] - before.precision * before.values[coordinate]
            count = part.record.count
            used &= part.record.learn(known.row, float(fresh / step / scale - known.offset), variance)
            if part.record.count > count:
                part.sources.append((query, coordinate, scale, known.offset))
        if not used:
            self._left_out.append(query)
        self._known[query] = given

    def estimate(self, query: Query) -> tuple[Estimate, ...]:
        """Return the best estimate of each coordinate; refuse if the public answers do not determine one of them."""
        part, scale = self._part(query), scale_of(query, self._population)
        return tuple(
            self._estimate(part, scale, known, found)
            for known, found in zip(part.rows.parts(query), self._solve(query), strict=True)
        )

    def variances(self, query: Query) -> tuple[float, ...]:
        """Return the variance of the best estimate of each coordinate, infinity where there is none."""
        part, scale = self._part(query), scale_of(query, self._population)
        found = []
        for known in part.rows.parts(query):
            try:
                found.append(part.record.estimate(known.row).variance * float(scale) ** 2)
            except NotDetermined:
                found.append(inf)
        return tuple(found)

    def covariance(self, queries: Sequence[Query]) -> Vector:
        """Return the covariance matrix of the estimates of all coordinates of several queries, in their order.

        What different columns measure has independent noise, so its covariance is 0.
        """
        found = [
            (self._part(query), scale_of(query, self._population), each)
            for query in queries
            for each in self._solve(query)
        ]
        matrix = np.zeros((len(found), len(found)))
        for part in {id(part): part for part, _, _ in found}.values():
            places = [place for place, (other, _, _) in enumerate(found) if other is part]
            scales = np.array([float(found[place][1]) for place in places])
            block = part.record.covariance([found[place][2] for place in places])
            matrix[np.ix_(places, places)] = block * np.outer(scales, scales)
        return matrix

    def price(self, query: Query, wanted: Fraction | float, smallest: Fraction = Fraction(0)) -> Fraction:
        """Return the precision to buy on the query so that each coordinate's best estimate has the variance ``wanted``.

        It is the least one for a single number. For several coordinates it is what the worst one needs by itself; the
        others, which are bought with it, may make it more than the least.
        """
        if is_public(query, self._population):
            return Fraction(0)
        known = self._known.get(query)
        bought = Fraction(0) if known is None else known.precision
        distance = sensitivity(query, self._population)
        return price(distance, wanted, max(self.variances(query)), bought, smallest)

    def _part(self, query: Query) -> _Part:
        if query.column not in self._parts:
            raise InvalidInput(f"The query {query} is not in the list that the cells were found for: add it there.")
        return self._parts[query.column]

    def _solve(self, query: Query) -> list[LinearEstimate]:
        part = self._part(query)
        try:
            return [part.record.estimate(known.row) for known in part.rows.parts(query)]
        except NotDetermined:
            raise NotDetermined(str(query)) from None

    def _estimate(self, part: _Part, scale: Fraction, known: KnownPart, found: LinearEstimate) -> Estimate:
        weights: dict[tuple[Query, int], float] = {}
        constant = float(known.offset)
        for weight, (query, coordinate, unit, offset) in zip(found.weights.tolist(), part.sources, strict=True):
            constant -= weight * float(offset)
            if weight:
                place = (query, coordinate)
                weights[place] = weights.get(place, 0.0) + weight * float(scale / unit)
        return Estimate(
            value=(float(known.offset) + found.value) * float(scale),
            variance=found.variance * float(scale) ** 2,
            constant=constant * float(scale),
            weights=tuple(Weight(query, coordinate, weight) for (query, coordinate), weight in weights.items()),
            mismatch=found.mismatch,
        )


def _answer(query: Query, precision: Fraction, values: Sequence[float | Fraction]) -> _Answer:
    """Check an answer: floats are read as exactly what they are."""
    if precision <= 0:
        raise InvalidInput(f"The precision of an answer must be above 0, not {precision}.")
    if len(values) != query.dimension or not all(isfinite(value) for value in values):
        raise InvalidInput(
            f"The answer to {query} has {query.dimension:,} finite numbers, one for each group: give these."
        )
    return _Answer(precision, tuple(Fraction(value) for value in values))
