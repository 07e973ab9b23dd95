"""The l2-sensitivity: how far one person can change an answer. It is derived from the query, never entered by hand.

Why the promise holds: each formula is the largest distance over *all* pairs of neighbouring datasets that the
definition allows (proofs in docs/explanation/mathematics.md); a query without a known formula is refused.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction
from typing import assert_never

from noiseledger.core.numbers import sqrt_up
from noiseledger.core.query import Column, Measure, Query
from noiseledger.errors import InvalidInput, SensitivityUnknown


class Neighbours(StrEnum):
    """The neighbouring relation: how two datasets that differ in one record are related."""

    REPLACE = "replace"
    ADD_REMOVE = "add-remove"


@dataclass(frozen=True)
class Population:
    """The public facts about a dataset: its neighbouring relation and, if records are replaced, its number of rows."""

    neighbours: Neighbours
    rows: int | None = None

    def __post_init__(self) -> None:
        """Refuse a number of rows if it is private, and require it if it is public."""
        if self.neighbours is Neighbours.ADD_REMOVE and self.rows is not None:
            raise InvalidInput("When one record is added or removed, the number of rows is private: leave it out.")
        if self.neighbours is Neighbours.REPLACE and (self.rows is None or self.rows < 1):
            raise InvalidInput("When one record is replaced, the number of rows is public: give it, at least 1.")

    @classmethod
    def replace(cls, rows: int) -> Population:
        """Neighbouring datasets have one record replaced, as in the paper; the number of rows is public."""
        return cls(Neighbours.REPLACE, rows)

    @classmethod
    def add_remove(cls) -> Population:
        """Neighbouring datasets have one record more or less; the number of rows is private."""
        return cls(Neighbours.ADD_REMOVE)


def sensitivity(query: Query, population: Population) -> Fraction:
    """Return the l2-sensitivity in natural units; an irrational one is rounded up.

    >>> income = Column.of("income", -10_000, 1_000_000)
    >>> sensitivity(Query.mean(income), Population.replace(rows=5000))
    Fraction(202, 1)
    """
    if query.measure.divides and population.rows is None:
        raise SensitivityUnknown(
            f"A {query.measure} divides by the number of rows, which is private when records are added or removed: "
            f"ask for a {'sum' if query.measure is Measure.MEAN else 'count'} instead."
        )
    if query.measure is Measure.MEAN and (query.where or query.groups):
        raise SensitivityUnknown(
            "A mean over a part of the rows divides by a private number: ask for a sum and a count instead, both with the "
            "same filter; add AND COLUMN IS NOT NULL to both, so that missing values do not count as rows."
        )
    distance = _distance(query, population)
    return distance / population.rows if query.measure.divides and population.rows else distance


def edition_sensitivity(query: Query, unit: Fraction, first: int | None, rows: int | None) -> Fraction:
    """Return a query's sensitivity in an edition with so many rows, from its sensitivity ``unit`` in one with ``first`` rows.

    Only what is divided by the number of rows depends on it, so nothing is derived anew: what was fixed when the query was
    added stays fixed.

    >>> edition_sensitivity(Query.share("age > 60"), Fraction(1, 50), first=50, rows=200)
    Fraction(1, 200)
    """
    return unit * first / rows if query.measure.divides and first and rows else unit


def _distance(query: Query, population: Population) -> Fraction:
    """Return the largest distance between the totals of neighbouring datasets, by the formula of the query's measure."""
    match query.measure:
        case Measure.COUNT | Measure.SHARE:
            return _counting(query, population)
        case Measure.SUM | Measure.MEAN:
            return _summing(query, query.summed, population)
        case _:
            assert_never(query.measure)


def _counting(query: Query, population: Population) -> Fraction:
    if population.neighbours is Neighbours.ADD_REMOVE:
        return Fraction(1)
    if query.groups is not None:
        # One record leaves a group and enters another; by several columns, too, it is in one cell at most.
        return sqrt_up(Fraction(2))
    if query.where is None:
        raise SensitivityUnknown(
            "The number of all rows is public when records are replaced, so it needs no query: remove this one."
        )
    return Fraction(1)


def _summing(query: Query, column: Column, population: Population) -> Fraction:
    largest = max(abs(column.lower), abs(column.upper))
    if population.neighbours is Neighbours.ADD_REMOVE:
        return largest
    if query.groups is not None:
        return max(column.upper - column.lower, sqrt_up(2 * largest**2))
    if query.where is None:
        return column.upper - column.lower
    # A record that does not match adds 0, which may lie outside the bounds.
    return max(column.upper, Fraction(0)) - min(column.lower, Fraction(0))
