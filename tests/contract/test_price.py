"""What a request would cost, whether or not the budget can bear it."""

from __future__ import annotations

import pytest

from contract.ledger import AGE, ANN, HEIGHT, UNKNOWN, Ledger, publish, refused
from contract.reference import MAX_PRECISION


@pytest.fixture
def ledger() -> Ledger:
    ledger = publish(budget=100, requires_allowance=True)
    ledger.register("age", 2, ceiling=500)
    ledger.register("height", 3)
    ledger.allow(ANN, 60)
    ledger.ask((AGE, 50))
    return ledger


@pytest.mark.parametrize(
    ("precision", "cost"),
    [(1, 0), (40, 0), (49, 0), (50, 0), (51, 1), (100, 50), (101, 51), (500, 450)],
)
def test_a_price_depends_on_what_was_bought_alone(ledger: Ledger, precision: int, cost: int) -> None:
    before = ledger.state()
    assert ledger.read("price", AGE, 0, precision) == (precision, cost)
    ledger.allow(ANN, -10)
    ledger.pause()
    assert ledger.read("price", AGE, 0, precision) == (precision, cost)
    assert ledger.state().paths == before.paths


def test_a_query_that_is_paused_keeps_its_price(ledger: Ledger) -> None:
    ledger.pause_query(AGE)
    assert ledger.read("price", AGE, 0, 60) == (60, 10)


def test_the_first_price_is_the_precision(ledger: Ledger) -> None:
    for precision in (1, 100, 101, MAX_PRECISION):
        assert ledger.read("price", HEIGHT, 0, precision) == (precision, precision)


@pytest.mark.parametrize(
    ("query", "precision", "reason"),
    [
        (UNKNOWN, 5, "ledger: unknown query"),
        (UNKNOWN, 0, "ledger: unknown query"),
        (AGE, 0, "ledger: precision out of range"),
        (AGE, 501, "ledger: above the ceiling"),
        (AGE, MAX_PRECISION, "ledger: above the ceiling"),
        (HEIGHT, MAX_PRECISION + 1, "ledger: precision out of range"),
        (HEIGHT, 2**255 - 1, "ledger: precision out of range"),
        (HEIGHT, 2**256 - 1, "ledger: precision out of range"),
    ],
)
def test_what_can_never_be_sold_has_no_price(ledger: Ledger, query: bytes, precision: int, reason: str) -> None:
    with refused(ledger, reason):
        ledger.read("price", query, 0, precision)


def test_a_naive_price_is_refused_where_the_path_would_be_too_long() -> None:
    ledger = publish(reuses=False)
    ledger.register("age")
    assert ledger.read("price", AGE, 0, MAX_PRECISION) == (MAX_PRECISION, MAX_PRECISION)
    ledger.ask((AGE, 1))
    assert ledger.read("price", AGE, 0, MAX_PRECISION - 1) == (MAX_PRECISION - 1, MAX_PRECISION - 1)
    with refused(ledger, "ledger: above the ceiling"):
        ledger.read("price", AGE, 0, MAX_PRECISION)
