"""The best linear unbiased estimate: sums over cells, each measured with independent normal noise of known size.

With the information ``J = sum of a a' / s`` over the measurements (row ``a``, variance ``s``), the best estimate of ``b'y``
has the variance ``b' J^+ b``, if ``b`` is a combination of the rows; otherwise there is none. J itself is never formed, since
forming it loses half of the digits. Instead, one measurement at a time, two matrices are kept:

* an orthonormal basis ``Q`` of the rows seen so far;
* a square root ``L`` of the covariance of the estimate in that basis: ``Q J^+ Q' = L L'``. A measurement of something new
  adds a row and a column to it; any other changes it by a matrix of rank one (Potter's update).

How the error bar is bounded: an estimate is returned as the weights of the measurements that it was made from. Whatever
rounding did to Q and L, ``sum of w_i x_i`` with these weights has the variance ``sum of w_i^2 s_i``, which is what is
returned, up to the rounding of one sum. Its expectation is that of the query up to ``mismatch``, the largest entry of ``b
- sum of w_i a_i``, times the sum of the absolute values of the cells. So rounding can make an estimate slightly worse than
the best, but it cannot make a stated error too small. An estimate with a mismatch above ``TOLERANCE`` is refused.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import fsum, inf, isfinite, sqrt
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from noiseledger.errors import InvalidInput, NotDetermined

Vector: TypeAlias = npt.NDArray[np.float64]
#: The largest mismatch of an estimate that is returned.
TOLERANCE = 1e-9
#: A row that is further than this, relative to its length, from all combinations of earlier rows measures something new.
_NEW = 1e-6
#: A row that is nearer than this is a combination of them. Whether one in between is new is uncertain, so it is left out.
_OLD = 1e-10
#: Each one adds the estimate of what the weights still miss, which is the smaller, the more of them came before.
_REFINEMENTS = 3


@dataclass(frozen=True)
class Row:
    """A linear function of the cells: the cells with a coefficient other than 0, and the coefficients."""

    cells: tuple[int, ...]
    coefficients: tuple[float, ...]

    @classmethod
    def total(cls, cells: Sequence[int]) -> Row:
        """Return the sum over some cells."""
        return cls(tuple(cells), (1.0,) * len(cells))


@dataclass(frozen=True)
class LinearEstimate:
    """The best estimate of one row."""

    value: float
    variance: float
    #: One for each measurement, in the order in which they were learned.
    weights: Vector
    #: The largest coefficient by which the weighted measurements differ from the row.
    mismatch: float


class LinearRecord:
    """Measurements of sums over cells, and the best estimates that follow from them.

    >>> record = LinearRecord(2)
    >>> for cells, answer in ((0,), 10.0), ((0, 1), 31.0), ((1,), 20.0):
    ...     assert record.learn(Row.total(cells), answer, variance=1.0)
    >>> best = record.estimate(Row.total([1]))
    >>> round(best.value, 9), round(best.variance, 9), best.weights.round(9).tolist()
    (20.333333333, 0.666666667, [-0.333333333, 0.333333333, 0.666666667])
    """

    def __init__(self, size: int) -> None:
        """Begin without measurements of ``size`` cells."""
        if size < 1:
            raise InvalidInput(f"There must be at least one cell, not {size}.")
        self._size = size
        self._rank = 0
        self._basis = np.zeros((min(size, 16), size))
        self._root = np.zeros((min(size, 16), min(size, 16)))
        self._rows: list[Row] = []
        self._answers: list[float] = []
        self._variances: list[float] = []
        self._flat: tuple[npt.NDArray[np.intp], npt.NDArray[np.intp], Vector] | None = None

    @property
    def rank(self) -> int:
        """The number of linearly independent rows."""
        return self._rank

    @property
    def count(self) -> int:
        """The number of measurements."""
        return len(self._rows)

    def learn(self, row: Row, answer: float, variance: float) -> bool:
        """Add a measurement; return False if it was left out, because rounding hides whether it measures something new.

        What follows from the others stays correct without it. The work is proportional to the square of the number of cells.
        """
        if not (variance > 0 and isfinite(variance) and isfinite(answer)):
            raise InvalidInput("A measurement needs a finite answer, and a variance that is finite and above 0.")
        dense = self._dense(row)
        length = float(np.linalg.norm(dense))
        if length == 0:
            return True  # it measures nothing, so it tells nothing
        inside, outside = self._project(dense)
        distance = float(np.linalg.norm(outside))
        if _OLD * length < distance <= _NEW * length:
            return False
        spread = self._square_root.T @ inside
        if distance > _NEW * length:
            self._extend(outside / distance, spread, distance, variance)
        else:
            # Potter: L L' - L f f' L' / (f'f + s), as the square of one matrix, without cancellation.
            total = float(spread @ spread) + variance
            step = np.outer(self._square_root @ spread, spread)
            step /= total + sqrt(total * variance)
            self._square_root[...] -= step
        self._rows.append(row)
        self._answers.append(answer)
        self._variances.append(variance)
        self._flat = None
        return True

    def variance(self, row: Row) -> float:
        """Return the variance of the best estimate of a row, or infinity if there is none.

        This is the fast one, for prices; :meth:`estimate` returns the variance of the weights that it uses.
        """
        dense = self._dense(row)
        inside = self._directions @ dense
        if self._rank < self._size:
            outside = dense - self._directions.T @ inside
            if float(np.linalg.norm(outside)) > _OLD * float(np.linalg.norm(dense)):
                return inf
        spread = self._square_root.T @ inside
        return float(spread @ spread)

    def estimate(self, row: Row) -> LinearEstimate:
        """Return the best estimate of a row, or refuse if the measurements do not determine it."""
        dense = self._dense(row)
        missing = dense
        weights = np.zeros(self.count)
        for _ in range(_REFINEMENTS):
            weights = weights + self._times(self._solve(missing)) / np.array(self._variances)
            missing = dense - self._transposed(weights)
        mismatch = float(np.abs(missing).max())
        if not mismatch <= TOLERANCE:
            raise NotDetermined
        return LinearEstimate(
            value=fsum((weights * np.array(self._answers)).tolist()),
            variance=fsum((weights * weights * np.array(self._variances)).tolist()),
            weights=weights,
            mismatch=mismatch,
        )

    def covariance(self, estimates: Sequence[LinearEstimate]) -> Vector:
        """Return the covariance matrix of several estimates that were made from the same measurements."""
        if any(len(each.weights) != self.count for each in estimates):
            raise InvalidInput("Measurements were added between these estimates: make all of them anew.")
        weights = np.array([each.weights for each in estimates]).reshape(len(estimates), self.count)
        found: Vector = (weights * np.array(self._variances)) @ weights.T
        return found

    @property
    def _directions(self) -> Vector:
        return self._basis[: self._rank]

    @property
    def _square_root(self) -> Vector:
        return self._root[: self._rank, : self._rank]

    def _dense(self, row: Row) -> Vector:
        dense = np.zeros(self._size)
        dense[list(row.cells)] = row.coefficients
        return dense

    def _project(self, dense: Vector) -> tuple[Vector, Vector]:
        """Return the coordinates in the basis, and what lies outside of it; projected twice, so that rounding stays small."""
        inside = self._directions @ dense
        outside = dense - self._directions.T @ inside
        again = self._directions @ outside
        return inside + again, outside - self._directions.T @ again

    def _extend(self, direction: Vector, spread: Vector, distance: float, variance: float) -> None:
        """Add a direction, which was measured together with known ones: what is uncertain of these is uncertain of it."""
        old = self._rank
        if old == len(self._basis):
            more = min(2 * old, self._size)
            self._basis, basis = np.zeros((more, self._size)), self._basis
            self._root, root = np.zeros((more, more)), self._root
            self._basis[:old] = basis
            self._root[:old, :old] = root
        self._basis[old] = direction
        self._root[old, :old] = -spread / distance
        self._root[old, old] = sqrt(variance) / distance
        self._rank += 1

    def _solve(self, dense: Vector) -> Vector:
        """Return J^+ b."""
        inside = self._directions @ dense
        found: Vector = self._directions.T @ (self._square_root @ (self._square_root.T @ inside))
        return found

    @property
    def _entries(self) -> tuple[npt.NDArray[np.intp], npt.NDArray[np.intp], Vector]:
        """The rows as three lists: measurement, cell, coefficient."""
        if self._flat is None:
            lengths = [len(row.cells) for row in self._rows]
            self._flat = (
                np.repeat(np.arange(self.count), lengths),
                np.array([cell for row in self._rows for cell in row.cells], dtype=np.intp),
                np.array([factor for row in self._rows for factor in row.coefficients], dtype=np.float64),
            )
        return self._flat

    def _times(self, cells: Vector) -> Vector:
        measurement, cell, factor = self._entries
        found: Vector = np.bincount(measurement, factor * cells[cell], self.count).astype(np.float64)
        return found

    def _transposed(self, weights: Vector) -> Vector:
        measurement, cell, factor = self._entries
        found: Vector = np.bincount(cell, factor * weights[measurement], self._size).astype(np.float64)
        return found
