"""Zones: a purchase is charged to the zones that the query reaches, and to no other."""

from __future__ import annotations

import pytest

from contract.ledger import AGE, HEIGHT, UNKNOWN, Ledger, publish, refused, request
from contract.reference import MAX_PRECISION, identifier

INCOME = identifier("income")


def ledger_of(zones: int, *reaches: int, budget: int = 1000) -> Ledger:
    ledger = publish(zones=zones, budget=budget)
    for definition, reach in zip(("age", "height", "income"), reaches, strict=False):
        ledger.register(definition, reach=reach)
    return ledger


@pytest.mark.parametrize("reach", range(1, 16))
def test_every_zone_that_is_reached_pays_the_cost(reach: int) -> None:
    ledger = ledger_of(4, reach, 15)
    ledger.ask((AGE, 7))
    assert ledger.read("spent", 0) == [7 if reach >> zone & 1 else 0 for zone in range(4)]
    ledger.ask((HEIGHT, 5), (AGE, 9))
    assert ledger.read("spent", 0) == [14 if reach >> zone & 1 else 5 for zone in range(4)]


@pytest.mark.parametrize("zone", [0, 1, 2, 253, 254, 255])
def test_one_zone_of_256(zone: int) -> None:
    ledger = ledger_of(256, 1 << zone, budget=MAX_PRECISION)
    ledger.open_edition()
    for edition in (0, 1):
        ledger.ask(request(AGE, MAX_PRECISION, edition))
        assert ledger.read("spent", edition) == [MAX_PRECISION if other == zone else 0 for other in range(256)]
        assert ledger.read("edition", edition)[2] is True
    assert (ledger.read("paused"), ledger.read("closed"), ledger.read("editions")) == (False, False, 2)


@pytest.mark.parametrize("zones", [1, 2, 3, 255, 256])
def test_all_zones_are_spent_to_the_last_unit_and_no_further(zones: int) -> None:
    ledger = ledger_of(zones, 2**zones - 1, 1 << zones - 1, budget=MAX_PRECISION)
    ledger.ask((AGE, MAX_PRECISION - 1))
    ledger.ask((AGE, MAX_PRECISION))
    assert ledger.read("spent", 0) == [MAX_PRECISION] * zones
    with refused(ledger, "BudgetExceeded(1, 0)"):
        ledger.ask((HEIGHT, 1))


def test_questions_about_different_zones_do_not_add_up() -> None:
    ledger = ledger_of(3, 1, 2, 4)
    ledger.ask((AGE, 1000), (HEIGHT, 1000), (INCOME, 1000))
    assert ledger.read("spent", 0) == [1000] * 3


@pytest.mark.parametrize(("reach", "left"), [(3, 400), (5, 600), (6, 400), (7, 400), (1, 1000), (2, 400), (4, 600)])
def test_the_zone_that_has_least_left_decides(reach: int, left: int) -> None:
    ledger = ledger_of(3, 2, 4, reach)
    ledger.ask((AGE, 600), (HEIGHT, 400))
    with refused(ledger, f"BudgetExceeded({left + 1}, {1000 if reach & 1 and left == 1000 else left})"):
        ledger.ask((INCOME, left + 1))
    ledger.ask((INCOME, left))


def test_the_first_zone_that_cannot_pay_is_named() -> None:
    ledger = ledger_of(2, 1, 2, 3)
    ledger.ask((AGE, 300), (HEIGHT, 600))
    with refused(ledger, "BudgetExceeded(800, 700)"):
        ledger.ask((INCOME, 800))
    with refused(ledger, "BudgetExceeded(500, 400)"):
        ledger.ask((INCOME, 500))


def test_requests_in_a_row_that_reach_the_same_are_charged_as_one() -> None:
    ledger = ledger_of(2, 1, 1, 3)
    with refused(ledger, "BudgetExceeded(1100, 1000)"):
        ledger.ask((AGE, 500), (HEIGHT, 600))
    with refused(ledger, "BudgetExceeded(600, 499)"):
        ledger.ask((AGE, 500), (INCOME, 1), (HEIGHT, 600))
    with refused(ledger, "BudgetExceeded(1100, 1000)"):
        ledger.ask((AGE, 500), (HEIGHT, 600), (INCOME, 1), (UNKNOWN, 1))


def test_one_that_cannot_be_paid_refuses_all() -> None:
    ledger = ledger_of(2, 1, 2)
    with refused(ledger, "BudgetExceeded(1001, 1000)"):
        ledger.ask((AGE, 500), (HEIGHT, 1001))
    with refused(ledger, "BudgetExceeded(1001, 1000)"):
        ledger.ask((HEIGHT, 1001), (AGE, 500))
    with refused(ledger, "LimitExceeded(1500, 1499)"):
        ledger.ask((AGE, 500), (HEIGHT, 1000), limit=1499)
    ledger.ask((AGE, 500), (HEIGHT, 1000), limit=1500)


def test_a_naive_ledger_charges_the_zones_that_are_reached() -> None:
    ledger = publish(zones=3, reuses=False)
    ledger.register("age", reach=5)
    ledger.ask((AGE, 5), (AGE, 5))
    assert ledger.read("spent", 0) == [10, 0, 10]


def test_pausing_and_closing_do_not_touch_what_was_spent() -> None:
    ledger = ledger_of(3, 7, budget=MAX_PRECISION)
    ledger.ask((AGE, MAX_PRECISION))
    ledger.pause()
    assert ledger.read("spent", 0) == [MAX_PRECISION] * 3
    ledger.pause(False)
    assert ledger.read("spent", 0) == [MAX_PRECISION] * 3
    ledger.close()
    assert ledger.read("spent", 0) == [MAX_PRECISION] * 3


def test_a_pause_of_a_query_does_not_touch_its_reach_or_ceiling() -> None:
    ledger = publish(zones=2)
    ledger.register("age", reach=2, ceiling=7)
    ledger.pause_query(AGE)
    ledger.pause_query(AGE, False)
    ledger.ask((AGE, 7))
    assert ledger.read("spent", 0) == [0, 7]
    with refused(ledger, "ledger: above the ceiling"):
        ledger.ask((AGE, 8))
