"""Where an allowance is needed to ask."""

from __future__ import annotations

import pytest

from contract.ledger import AGE, ANN, BOB, CUSTODIAN, EVE, HEIGHT, WORKER, Ledger, publish, refused


@pytest.fixture
def ledger() -> Ledger:
    ledger = publish(invites=True)
    ledger.register("age")
    ledger.register("height")
    return ledger


def test_an_allowance_is_spent_to_the_last_unit_and_no_further(ledger: Ledger) -> None:
    assert ledger.allow(ANN, 10) == [("Allowed", {"analyst": ANN, "allowance": 10})]
    ledger.ask((AGE, 4))
    assert ledger.read("allowance", ANN) == 6
    with refused(ledger, "AllowanceExceeded(7, 6)"):
        ledger.ask((AGE, 11))
    ledger.ask((AGE, 10))
    assert ledger.read("allowance", ANN) == 0
    with refused(ledger, "AllowanceExceeded(1, 0)"):
        ledger.ask((AGE, 11))


def test_who_was_not_invited_cannot_buy(ledger: Ledger) -> None:
    ledger.allow(ANN, 10)
    for who in (BOB, EVE, WORKER, CUSTODIAN):
        with refused(ledger, "AllowanceExceeded(1, 0)"):
            ledger.ask((AGE, 1), by=who)


def test_what_is_free_needs_no_allowance(ledger: Ledger) -> None:
    ledger.allow(ANN, 5)
    ledger.ask((AGE, 5))
    ((_, fields),) = ledger.ask((AGE, 5), by=BOB)
    assert (fields["analyst"], fields["cost"]) == (BOB, 0)


def test_analysts_pay_for_what_they_buy_and_not_for_each_other(ledger: Ledger) -> None:
    ledger.allow(ANN, 10)
    ledger.allow(BOB, 10)
    ledger.ask((AGE, 6), by=ANN)
    ledger.ask((AGE, 8), (HEIGHT, 1), by=BOB)
    assert (ledger.read("allowance", ANN), ledger.read("allowance", BOB)) == (4, 7)
    with refused(ledger, "AllowanceExceeded(8, 7)"):
        ledger.ask((AGE, 9), (HEIGHT, 8), by=BOB)


def test_setting_an_allowance_replaces_what_was_left(ledger: Ledger) -> None:
    ledger.allow(ANN, 10)
    ledger.ask((AGE, 6))
    ledger.allow(ANN, 1)
    with refused(ledger, "AllowanceExceeded(2, 1)"):
        ledger.ask((AGE, 8))
    ledger.allow(ANN, 0)
    with refused(ledger, "AllowanceExceeded(1, 0)"):
        ledger.ask((AGE, 7))
    assert ledger.spent() == 6


@pytest.mark.parametrize("allowance", [1000, 1001, 2**112, 2**255 - 1, 2**256 - 1])
def test_an_allowance_does_not_raise_the_budget(ledger: Ledger, allowance: int) -> None:
    ledger.allow(ANN, allowance)
    with refused(ledger, "BudgetExceeded(1001, 1000)"):
        ledger.ask((AGE, 1001))
    ledger.ask((AGE, 1000))
    assert ledger.read("allowance", ANN) == allowance - 1000


def test_the_budget_is_named_first(ledger: Ledger) -> None:
    with refused(ledger, "BudgetExceeded(1001, 1000)"):
        ledger.ask((AGE, 1001))


def test_an_open_ledger_needs_and_spends_no_allowance() -> None:
    ledger = publish(invites=False)
    ledger.register("age")
    ledger.allow(ANN, 3)
    ledger.ask((AGE, 5), by=ANN)
    ledger.ask((AGE, 6), by=BOB)
    assert (ledger.read("allowance", ANN), ledger.spent()) == (3, 6)
