"""Gas is what the snapshot says, to the last unit, and the snapshot keeps the promises made about it."""

from __future__ import annotations

import pytest

from benchmarks import gas


def in_all(name: str) -> int:
    return sum(gas.read_snapshot()[name].values())


def test_gas_is_what_the_snapshot_says() -> None:
    # One test measures everything: workers of pytest-xdist would each measure it again.
    found = gas.differences(gas.measure())
    assert not found, found


def test_a_difference_is_named_with_what_to_do_about_it() -> None:
    rows = [{"purchase": "first", "dimension": 1, "batch": 1, "records": None, "where": None, "ask": 1, "reveal": 2}]
    found = gas.differences(rows)
    assert "first, dimension 1, batch of 1" in found
    assert "became {'ask': 1, 'reveal': 2}" in found
    assert "-m benchmarks.gas --update" in found


def test_first_purchase_alone_is_within_its_limit() -> None:
    assert in_all("first, dimension 1, batch of 1") <= 120_000


def test_repeat_in_a_full_batch_is_within_its_limit() -> None:
    assert in_all("repeat, dimension 1, batch of 100") <= 30_000 * 100


@pytest.mark.parametrize("purchase", ["first", "repeat"])
@pytest.mark.parametrize("records", [1000, 10_000])
def test_gas_does_not_grow_with_records(purchase: str, records: int) -> None:
    few = in_all(f"{purchase}, dimension 1, batch of 1, after 10 records")
    assert abs(in_all(f"{purchase}, dimension 1, batch of 1, after {records} records") / few - 1) <= 0.02


@pytest.mark.parametrize("purchase", ["first", "repeat"])
@pytest.mark.parametrize("dimension", [100, 1000, 10_000])
def test_a_number_of_a_large_answer_is_within_its_limit(purchase: str, dimension: int) -> None:
    assert gas.read_snapshot()[f"{purchase}, dimension {dimension}, batch of 1"]["reveal"] <= 1200 * dimension


def test_the_fullest_transaction_fits_where_one_may_use_2_to_the_24() -> None:
    # With the fifth that our sender adds to what it estimates.
    assert gas.read_snapshot()["first, dimension 5, batch of 100"]["reveal"] * 6 // 5 <= 2**24
