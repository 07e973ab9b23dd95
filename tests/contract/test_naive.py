"""The naive scheme, for comparison: every request pays in full."""

from __future__ import annotations

import pytest

from contract.ledger import AGE, HEIGHT, Ledger, publish, refused
from contract.reference import MAX_PRECISION


def ledger_of(budget: int = 1000, ceiling: int = 0) -> Ledger:
    ledger = publish(reuses=False, budget=budget)
    ledger.register("age", ceiling=ceiling)
    ledger.register("height")
    return ledger


def test_every_request_pays_in_full() -> None:
    ledger, total = ledger_of(), 0
    for precision in (400, 400, 1, 150):
        assert ledger.read("price", AGE, 0, precision) == (precision, precision)
        ((_, fields),) = ledger.ask((AGE, precision))
        assert (fields["precision"], fields["cost"]) == (precision, precision)
        total += precision
        assert (ledger.path(AGE).bought, ledger.spent()) == (total, total)
    with refused(ledger, "BudgetExceeded(50, 49)"):
        ledger.ask((AGE, 50))


def test_the_same_query_twice_in_a_batch_pays_twice() -> None:
    ledger = ledger_of()
    assert [fields["cost"] for _, fields in ledger.ask((AGE, 5), (HEIGHT, 2), (AGE, 5))] == [5, 2, 5]
    assert (ledger.path(AGE).bought, ledger.path(HEIGHT).bought, ledger.spent()) == (10, 2, 12)


def test_each_release_is_a_stretch_of_its_own() -> None:
    ledger = ledger_of()
    ledger.ask((AGE, 5), (AGE, 5))
    ledger.reveal(AGE, 0, 5, [7])
    ledger.reveal(AGE, 5, 10, [-2])
    with refused(ledger, "ledger: not bought"):
        ledger.reveal(AGE, 10, 11, [1])
    assert ledger.path(AGE).point == [5]


def test_the_ceiling_holds_against_the_sum() -> None:
    ledger = ledger_of(ceiling=10)
    ledger.ask((AGE, 6))
    with refused(ledger, "ledger: above the ceiling"):
        ledger.ask((AGE, 5))
    ledger.ask((AGE, 4))
    with refused(ledger, "ledger: above the ceiling"):
        ledger.ask((AGE, 1))


@pytest.mark.parametrize("precision", [0, 2**110, 2**255 - 1, 2**256 - 1])
def test_a_precision_out_of_range_is_refused(precision: int) -> None:
    ledger = ledger_of(MAX_PRECISION)
    ledger.ask((AGE, 5))
    with refused(ledger, "ledger: precision out of range"):
        ledger.ask((AGE, precision))


def test_a_path_ends_at_the_largest_precision() -> None:
    ledger = ledger_of(MAX_PRECISION)
    ledger.ask((AGE, MAX_PRECISION - 1), (AGE, 1))
    assert ledger.read("meter", AGE, 0) == (1, MAX_PRECISION, 0)
    for precision in (1, MAX_PRECISION):
        with refused(ledger, "ledger: above the ceiling"):
            ledger.ask((AGE, precision))
