"""Sampling error from public numbers alone: which bounds a record has, and what is refused."""

from __future__ import annotations

from math import sqrt

import pytest

from noiseledger.core.query import Query
from noiseledger.core.sampling import half_width
from noiseledger.core.sensitivity import Population
from noiseledger.errors import InvalidInput

ROWS = 400
PEOPLE = Population.replace(ROWS)
SHARE = half_width(Query.share("a = 1"), PEOPLE, 0.25, 0.01)


def test_without_noise_a_share_has_the_interval_of_wilson() -> None:
    z, n, p = 1.959963984540054, ROWS, 0.25
    end = (p + z * z / (2 * n) + z * sqrt(p * (1 - p) / n + z * z / (4 * n * n))) / (1 + z * z / n)
    assert half_width(Query.share("a = 1"), PEOPLE, p, 1e-12) == pytest.approx(end - p)


@pytest.mark.parametrize(
    ("query", "value", "unit"),
    [
        (Query.count("a = 1"), 0.25 * ROWS, ROWS),
        (Query.counts_by("a", [1, 2]), 0.25 * ROWS, ROWS),
        (Query.mean("x", lower=-20, upper=60), 0, 80),
        (Query.sum("x", lower=-20, upper=60), 0, 80 * ROWS),
        # A record that does not match contributes 0, which may lie outside the bounds.
        (Query.sum("x", "a = 1", lower=20, upper=80), 20 * ROWS, 80 * ROWS),
        (Query.sum("x", "a = 1", lower=-80, upper=-20), -60 * ROWS, 80 * ROWS),
    ],
)
def test_every_measure_is_a_mean_between_the_bounds_of_one_record(query: Query, value: float, unit: float) -> None:
    assert half_width(query, PEOPLE, value, 0.01 * unit) == pytest.approx(unit * SHARE)


@pytest.mark.parametrize("value", [-3.0, 0.0, 0.5, 1.0, 3.0])
def test_it_is_never_narrower_than_the_noise(value: float) -> None:
    for noise in (1e-6, 0.1, 10.0):
        assert half_width(Query.share("a = 1"), PEOPLE, value, noise) >= 1.9599 * noise


def test_a_private_number_of_rows_is_not_guessed() -> None:
    with pytest.raises(
        InvalidInput, match=r"number of rows, which is private on this ledger \(neighbours: add-remove\)"
    ):
        half_width(Query.count("a = 1"), Population.add_remove(), 100, 1)
