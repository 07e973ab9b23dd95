"""The most that an analyst is willing to spend: a reorganisation, or somebody else, cannot raise the price beyond it."""

from __future__ import annotations

import pytest

from contract.ledger import AGE, ANN, HEIGHT, Ledger, publish, refused


@pytest.fixture
def ledger() -> Ledger:
    ledger = publish(requires_allowance=True)
    ledger.register("age")
    ledger.register("height")
    ledger.allow(ANN, 100)
    return ledger


def test_a_price_up_to_the_limit_is_charged(ledger: Ledger) -> None:
    ledger.ask((AGE, 10), limit=10)
    ledger.ask((AGE, 15), limit=2**256 - 1)
    assert (ledger.spent(), ledger.read("allowance", ANN)) == (15, 85)


def test_a_price_above_the_limit_is_refused(ledger: Ledger) -> None:
    with refused(ledger, "LimitExceeded(10, 9)"):
        ledger.ask((AGE, 10), limit=9)
    with refused(ledger, "LimitExceeded(10, 9)"):
        ledger.ask((AGE, 5), (HEIGHT, 5), limit=9)


def test_what_is_free_needs_no_limit(ledger: Ledger) -> None:
    ledger.ask((AGE, 10))
    ledger.ask((AGE, 10), (AGE, 3), limit=0)
    with refused(ledger, "LimitExceeded(1, 0)"):
        ledger.ask((AGE, 11), limit=0)


def test_the_budget_is_named_before_the_limit_and_the_limit_before_the_allowance(ledger: Ledger) -> None:
    with refused(ledger, "BudgetExceeded(1001, 1000)"):
        ledger.ask((AGE, 1001), limit=5)
    with refused(ledger, "LimitExceeded(101, 5)"):
        ledger.ask((AGE, 101), limit=5)
