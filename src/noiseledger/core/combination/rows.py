"""A query as rows over the cells, with what is exactly known taken out.

A share is a count divided by the number of rows, which is public under replace, and a mean is a sum divided by it; so both
are rows with a scale. Under replace the number of all records is known without error. To use this, one cell is written as
"all records minus the other cells": it gets no column of its own, and each row that contains it becomes a known number of
records minus the cells that it leaves out. Rows keep the coefficients 0, 1 and -1, so this loses no digit.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Self

from noiseledger.core.combination.cells import Cells, Labels
from noiseledger.core.combination.linear import Row
from noiseledger.core.query import Measure, Query
from noiseledger.core.sensitivity import Population, sensitivity


@dataclass(frozen=True)
class KnownPart:
    """One coordinate of a query in cells: ``offset`` is exactly known, ``row`` is not."""

    offset: Fraction
    row: Row


@dataclass(frozen=True)
class CellRows:
    """The rows of the queries that measure one thing, where one cell may follow from the public number of all records."""

    cells: Cells
    #: The cell without a column of its own, if the total of all cells is public.
    implied: int | None
    total: int

    @classmethod
    def of(cls, cells: Cells, population: Population) -> Self:
        """Choose the implied cell: one that few queries count, so that few rows are turned around."""
        if cells.measured is not None or population.rows is None:
            return cls(cells, None, 0)
        return cls(cells, min(range(cells.count), key=cells.uses), population.rows)

    @property
    def size(self) -> int:
        """The number of columns: of the cells that are not exactly known from the others."""
        return max(self.cells.count - (self.implied is not None), 1)

    def parts(self, query: Query) -> tuple[KnownPart, ...]:
        """Return each coordinate of a query, before it is divided by the number of rows."""
        labels = self.cells.labels(query)
        turned = None if self.implied is None else labels[self.implied]
        return tuple(
            self._turned(labels, turned) if coordinate == turned else KnownPart(Fraction(0), self._row(row))
            for coordinate, row in enumerate(self.cells.rows(query))
        )

    def _row(self, cells: tuple[int, ...]) -> Row:
        return Row.total([self._column(cell) for cell in cells])

    def _turned(self, labels: Labels, coordinate: int | None) -> KnownPart:
        others = [self._column(cell) for cell, label in enumerate(labels) if label != coordinate]
        return KnownPart(Fraction(self.total), Row(tuple(others), (-1.0,) * len(others)))

    def _column(self, cell: int) -> int:
        return cell - (self.implied is not None and cell > self.implied)


def scale_of(query: Query, population: Population) -> Fraction:
    """Return what a sum over cells is multiplied by; refuse a query that is no such sum, such as the mean of a part."""
    if query.measure.divides:
        sensitivity(query, population)  # refuses, with the reason
        return Fraction(1, population.rows or 1)
    return Fraction(1)


def is_public(query: Query, population: Population) -> bool:
    """Return whether a query asks for the number of all records where that is public."""
    counts = query.measure in (Measure.COUNT, Measure.SHARE)
    return counts and query.where is None and query.groups is None and population.rows is not None
