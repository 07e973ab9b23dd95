"""Bridges from public coins have the law of Brownian bridges: over many queries, the hash is as good as chance.

Positions that are reached after a few midpoints, in a gap as long as real ones and in a short one with uneven halves: what
comes deeper in the tree is the same code.
"""

from __future__ import annotations

from math import sqrt

import numpy as np
import numpy.typing as npt
import pytest

from calibrated import check_deviation, check_normal_roundings
from noiseledger.core.coins import Coins, Known, bridge
from noiseledger.core.path import PATH_UNITS
from noiseledger.core.privacy import UNITS

QUERIES, COORDINATES = 1000, 50
SAMPLES = QUERIES * COORDINATES
#: A correlation of so many independent pairs goes further once in 10^9 times.
FAR = 6.2 / sqrt(SAMPLES)

#: Where a gap begins and ends, and two positions in it, in units.
GAPS = {
    "long": (UNITS // 4, UNITS, [UNITS // 4 + UNITS * 3 // 4 * eighths // 8 for eighths in (1, 4)]),
    "short": (1000, 1011, [1002, 1008]),
}


def simulate(q: int, r: int, positions: list[int]) -> npt.NDArray[np.float64]:
    """Return how far bridges lie from the straight line, in path units: positions x queries x coordinates."""
    ends = [tuple(10**6 * (place + 3 * side) for place in range(COORDINATES)) for side in (0, 1)]
    left, right = ((q, ends[0]), (r, ends[1]))
    return np.array([[offsets(number, left, right, p) for number in range(QUERIES)] for p in positions])


def offsets(number: int, left: Known, right: Known, precision: int) -> list[float]:
    coins = Coins(31337, "0x" + "c0" * 20, f"{number:064x}")
    share = (precision - left[0]) / (right[0] - left[0])
    found = bridge.__wrapped__(coins, left, right, precision)  # not kept: nobody asks for it again
    return [point - (a + share * (b - a)) for point, a, b in zip(found, left[1], right[1], strict=True)]


def variance(q: int, r: int, p: int, later: int) -> float:
    """Return the covariance of a bridge at two positions, in square path units."""
    return (p - q) * (r - later) / (r - q) * (PATH_UNITS**2 / UNITS)


@pytest.fixture(scope="module", params=GAPS)
def gap(request: pytest.FixtureRequest) -> tuple[int, int, list[int], npt.NDArray[np.float64]]:
    q, r, positions = GAPS[request.param]
    return q, r, positions, simulate(q, r, positions)


Gap = tuple[int, int, list[int], npt.NDArray[np.float64]]


def test_each_point_has_the_mean_the_deviation_and_the_shape_of_the_bridge(gap: Gap) -> None:
    q, r, positions, found = gap
    for p, points in zip(positions, found.reshape(len(positions), SAMPLES), strict=True):
        deviation = sqrt(variance(q, r, p, p))
        assert abs(points.mean()) < 6.2 * deviation / sqrt(SAMPLES)
        check_deviation(points, deviation)
        check_normal_roundings([round(1000 * point / deviation) for point in points], 0, 1000)


def test_two_points_of_a_gap_vary_together_as_on_one_path(gap: Gap) -> None:
    q, r, positions, found = gap
    expected = np.array([[variance(q, r, min(a, b), max(a, b)) for a in positions] for b in positions])
    spread = np.sqrt((np.outer(expected.diagonal(), expected.diagonal()) + expected**2) / SAMPLES)
    assert np.all(np.abs(np.cov(found.reshape(len(positions), SAMPLES)) - expected) < 6.2 * spread)


def test_queries_coordinates_and_gaps_are_independent(gap: Gap) -> None:
    q, r, positions, found = gap
    scaled = found / found.std(axis=(1, 2), keepdims=True)
    for points in scaled:
        for lag in (1, 2, 7):
            assert abs((points[lag:] * points[:-lag]).mean()) < 1.01 * FAR
            assert abs((points[:, lag:] * points[:, :-lag]).mean()) < 1.2 * FAR
    # The gap that begins where this one ends.
    (points,) = simulate(r, 2 * r - q, [positions[1] + r - q])
    assert abs((points / points.std() * scaled[1]).mean()) < FAR
