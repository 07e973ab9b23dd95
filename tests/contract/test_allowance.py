"""Where an allowance is needed to ask."""

from __future__ import annotations

import pytest

from contract.ledger import AGE, ANN, BOB, CUSTODIAN, EVE, HEIGHT, WORKER, Ledger, publish, refused
from contract.reference import MAX_PRECISION


@pytest.fixture
def ledger() -> Ledger:
    ledger = publish(requires_allowance=True)
    ledger.register("age")
    ledger.register("height")
    return ledger


def test_an_allowance_is_spent_to_the_last_unit_and_no_further(ledger: Ledger) -> None:
    assert ledger.allow(ANN, 10) == [("Allowed", {"analyst": ANN, "change": 10, "allowance": 10})]
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


def test_what_is_free_uses_no_allowance_but_only_the_invited_may_record_it(ledger: Ledger) -> None:
    ledger.allow(ANN, 5)
    ledger.allow(BOB, 1)
    ledger.ask((AGE, 5))
    for requests in ([(AGE, 5)], [(AGE, 2), (AGE, 5)], []):
        events = ledger.ask(*requests, by=BOB)
        assert [(fields["analyst"], fields["cost"]) for _, fields in events] == [(BOB, 0)] * len(requests)
        for who in (ANN, EVE):  # used up, and never invited
            with refused(ledger, "ledger: not invited"):
                ledger.ask(*requests, by=who)
    assert ledger.read("allowance", BOB) == 1


def test_analysts_pay_for_what_they_buy_and_not_for_each_other(ledger: Ledger) -> None:
    ledger.allow(ANN, 10)
    ledger.allow(BOB, 10)
    ledger.ask((AGE, 6), by=ANN)
    ledger.ask((AGE, 8), (HEIGHT, 1), by=BOB)
    assert (ledger.read("allowance", ANN), ledger.read("allowance", BOB)) == (4, 7)
    with refused(ledger, "AllowanceExceeded(8, 7)"):
        ledger.ask((AGE, 9), (HEIGHT, 8), by=BOB)


def test_an_allowance_is_added_to_what_is_left(ledger: Ledger) -> None:
    ledger.allow(ANN, 10)
    ledger.ask((AGE, 6))
    assert ledger.allow(ANN, 3) == [("Allowed", {"analyst": ANN, "change": 3, "allowance": 7})]
    with refused(ledger, "AllowanceExceeded(8, 7)"):
        ledger.ask((AGE, 14))
    ledger.ask((AGE, 13))
    assert ledger.read("allowance", ANN) == 0


@pytest.mark.parametrize("taken", [4, 5, MAX_PRECISION])
def test_what_is_taken_away_is_at_most_what_is_left(ledger: Ledger, taken: int) -> None:
    ledger.allow(ANN, 10)
    ledger.ask((AGE, 6))
    assert ledger.allow(ANN, -taken) == [("Allowed", {"analyst": ANN, "change": -taken, "allowance": 0})]
    with refused(ledger, "AllowanceExceeded(1, 0)"):
        ledger.ask((AGE, 7))
    assert ledger.spent() == 6


def test_part_of_an_allowance_is_taken_away(ledger: Ledger) -> None:
    ledger.allow(ANN, 10)
    assert ledger.allow(ANN, -1) == [("Allowed", {"analyst": ANN, "change": -1, "allowance": 9})]
    assert ledger.allow(ANN, 0) == [("Allowed", {"analyst": ANN, "change": 0, "allowance": 9})]


@pytest.mark.parametrize("purchase", [None, 4, 10])
def test_a_purchase_before_a_change_does_not_make_it_worth_more(ledger: Ledger, purchase: int | None) -> None:
    """Whoever sees the change coming and buys first has no more in all than who does not: there is no approve race."""
    ledger.allow(ANN, 10)
    if purchase:
        ledger.ask((AGE, purchase))
    ledger.allow(ANN, -10)
    ledger.allow(ANN, 3)
    bought = purchase or 0
    assert ledger.spent() + ledger.read("allowance", ANN) <= max(10, bought + 3)
    assert ledger.read("allowance", ANN) == 3


@pytest.mark.parametrize("change", [2**110, 2**255 - 1, -(2**110), 1 - 2**255])
def test_a_change_out_of_range_is_refused(ledger: Ledger, change: int) -> None:
    with refused(ledger, "ledger: allowance out of range"):
        ledger.allow(ANN, change)


def test_the_smallest_number_of_all_is_refused(ledger: Ledger) -> None:
    with refused(ledger, ""):
        ledger.allow(ANN, -(2**255))


@pytest.mark.parametrize("allowance", [1000, 1001, MAX_PRECISION])
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
    ledger = publish(requires_allowance=False)
    ledger.register("age")
    ledger.allow(ANN, 3)
    ledger.ask((AGE, 5), by=ANN)
    ledger.ask((AGE, 6), by=BOB)
    assert (ledger.read("allowance", ANN), ledger.spent()) == (3, 6)
