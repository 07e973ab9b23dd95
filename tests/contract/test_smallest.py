"""The smallest purchase: a request that would move a path by less is rounded up to it."""

from __future__ import annotations

from contract.ledger import AGE, HEIGHT, Ledger, publish, refused
from contract.reference import MAX_PRECISION


def ledger_of(smallest: int = 10, reuses: bool = True, budget: int = 1000, ceiling: int = 0) -> Ledger:
    ledger = publish(smallest=smallest, reuses=reuses, budget=budget)
    ledger.register("age", ceiling=ceiling)
    ledger.register("height")
    return ledger


def asked(ledger: Ledger, *requests: tuple[bytes, int]) -> list[tuple[int, int]]:
    return [(fields["precision"], fields["cost"]) for _, fields in ledger.ask(*requests)]


def test_a_request_for_less_is_rounded_up() -> None:
    ledger = ledger_of()
    assert ledger.read("price", AGE, 0, 1) == (10, 10)
    assert asked(ledger, (AGE, 1)) == [(10, 10)]
    assert ledger.read("price", AGE, 0, 11) == (20, 10)
    assert asked(ledger, (AGE, 11)) == [(20, 10)]
    assert (ledger.path(AGE).bought, ledger.spent()) == (20, 20)


def test_a_request_for_as_much_or_more_is_not() -> None:
    ledger = ledger_of()
    assert asked(ledger, (AGE, 10), (AGE, 20), (AGE, 31)) == [(10, 10), (20, 10), (31, 11)]


def test_what_is_bought_stays_free() -> None:
    ledger = ledger_of()
    assert asked(ledger, (AGE, 3), (AGE, 3), (AGE, 10)) == [(10, 10), (3, 0), (10, 0)]


def test_without_reuse_each_request_is_rounded_up_on_its_own() -> None:
    ledger = ledger_of(reuses=False)
    assert ledger.read("price", AGE, 0, 3) == (10, 10)
    assert asked(ledger, (AGE, 3), (AGE, 12), (AGE, 1)) == [(10, 10), (12, 12), (10, 10)]
    assert ledger.path(AGE).bought == ledger.spent() == 32


def test_rounding_up_passes_neither_budget_nor_ceiling() -> None:
    ledger = ledger_of(budget=15, ceiling=12)
    ledger.ask((AGE, 1))
    with refused(ledger, "ledger: above the ceiling"):
        ledger.ask((AGE, 11))
    with refused(ledger, "BudgetExceeded(10, 5)"):
        ledger.ask((HEIGHT, 1))


def test_rounding_up_does_not_leave_the_range() -> None:
    ledger = ledger_of(smallest=MAX_PRECISION, budget=MAX_PRECISION)
    assert asked(ledger, (AGE, 1)) == [(MAX_PRECISION, MAX_PRECISION)]
    ledger = ledger_of(smallest=2, budget=MAX_PRECISION)
    ledger.ask((AGE, MAX_PRECISION - 1))
    with refused(ledger, "ledger: above the ceiling"):
        ledger.ask((AGE, MAX_PRECISION))
