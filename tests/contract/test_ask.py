"""Buying precision where answers are reused."""

from __future__ import annotations

import pytest

from contract.ledger import AGE, ANN, BOB, HEIGHT, UNKNOWN, Ledger, publish, refused, request
from contract.reference import MAX_PRECISION


def ledger_of(budget: int = 1000, ceiling: int = 0) -> Ledger:
    ledger = publish(budget=budget)
    ledger.register("age", ceiling=ceiling)
    ledger.register("height", 2)
    return ledger


def asked(query: bytes, precision: int, cost: int, by: str = ANN) -> tuple[str, dict[str, object]]:
    fields = {"query": query, "analyst": by, "edition": 0, "precision": precision, "epsilon": 0, "delta": 0}
    return "Asked", {**fields, "cost": cost}


def test_the_papers_example_is_priced_as_in_the_paper() -> None:
    """Noise of deviation 3, 2, 2.5, 1.5 and 1."""
    ledger, total = ledger_of(budget=3600), 0
    for precision, cost in [(400, 400), (900, 500), (576, 0), (1600, 700), (3600, 2000)]:
        assert ledger.read("price", AGE, 0, precision) == (precision, cost)
        assert ledger.ask((AGE, precision)) == [asked(AGE, precision, cost)]
        total += cost
        assert ledger.spent() == total
    assert ledger.path(AGE).bought == 3600


def test_asking_again_is_free_for_everyone() -> None:
    ledger = ledger_of()
    ledger.ask((AGE, 5), by=ANN)
    assert ledger.ask((AGE, 5), by=BOB) == [asked(AGE, 5, cost=0, by=BOB)]
    assert ledger.ask((AGE, 4), by=BOB) == [asked(AGE, 4, cost=0, by=BOB)]
    assert ledger.spent() == 5


def test_queries_are_bought_apart() -> None:
    ledger = ledger_of()
    ledger.ask((AGE, 5))
    assert ledger.ask((HEIGHT, 3)) == [asked(HEIGHT, 3, cost=3)]
    assert (ledger.path(AGE).bought, ledger.path(HEIGHT).bought, ledger.spent()) == (5, 3, 8)


@pytest.mark.parametrize("epsilon", [0, 1, 2**110, 2**255 - 1, 2**256 - 1])
def test_what_the_analyst_had_in_mind_is_recorded(epsilon: int) -> None:
    ((_, fields),) = ledger_of().ask(request(AGE, 5, epsilon=epsilon, delta=77))
    assert (fields["epsilon"], fields["delta"]) == (epsilon, 77)
    ((_, fields),) = ledger_of().ask(request(AGE, 5, epsilon=77, delta=epsilon))
    assert (fields["epsilon"], fields["delta"]) == (77, epsilon)


@pytest.mark.parametrize("budget", [1, 2, 1000, MAX_PRECISION])
def test_the_budget_can_be_spent_to_the_last_unit_and_no_further(budget: int) -> None:
    ledger = ledger_of(budget)
    ledger.ask((AGE, budget))
    assert ledger.spent() == budget
    with refused(ledger, "BudgetExceeded(1, 0)"):
        ledger.ask((HEIGHT, 1))
    assert ledger.ask((AGE, budget)) == [asked(AGE, budget, cost=0)]


def test_a_refusal_says_what_it_would_cost_and_what_is_left() -> None:
    ledger = ledger_of()
    with refused(ledger, "BudgetExceeded(1001, 1000)"):
        ledger.ask((AGE, 1001))
    ledger.ask((AGE, 300))
    with refused(ledger, "BudgetExceeded(701, 700)"):
        ledger.ask((AGE, 1001))
    with refused(ledger, f"BudgetExceeded({MAX_PRECISION}, 700)"):
        ledger.ask((HEIGHT, MAX_PRECISION))


@pytest.mark.parametrize("precision", [0, 2**110, 2**110 + 5, 2**220, 2**255 - 1, 2**256 - 1])
def test_a_precision_out_of_range_is_refused(precision: int) -> None:
    ledger = ledger_of(MAX_PRECISION)
    with refused(ledger, "ledger: precision out of range"):
        ledger.ask((AGE, precision))
    ledger.ask((AGE, 5))
    with refused(ledger, "ledger: precision out of range"):
        ledger.ask((AGE, precision))


def test_an_unknown_query_is_refused() -> None:
    ledger = ledger_of()
    with refused(ledger, "ledger: unknown query"):
        ledger.ask((UNKNOWN, 5))
    assert ledger.read("meter", UNKNOWN, 0) == (0, 0, 0)


def test_nothing_is_sold_while_paused() -> None:
    ledger = ledger_of()
    ledger.ask((AGE, 5))
    ledger.pause()
    for requests in ([], [(AGE, 4)], [(AGE, 6)]):
        with refused(ledger, "ledger: paused"):
            ledger.ask(*requests)
    ledger.pause(False)
    assert ledger.ask((AGE, 6)) == [asked(AGE, 6, cost=1)]


@pytest.mark.parametrize("ceiling", [1, 2, 499])
def test_a_query_sells_up_to_its_ceiling(ceiling: int) -> None:
    ledger = ledger_of(ceiling=ceiling)
    for _ in range(2):
        with refused(ledger, "ledger: above the ceiling"):
            ledger.ask((AGE, ceiling + 1))
        ledger.ask((AGE, ceiling))
    assert ledger.path(AGE).bought == ceiling
    ledger.ask((HEIGHT, ceiling + 1))


@pytest.mark.parametrize("ceiling", [0, 2**110 - 1])
def test_no_ceiling_and_the_largest_one_are_the_same(ceiling: int) -> None:
    ledger = ledger_of(MAX_PRECISION, ceiling)
    assert ledger.ask((AGE, MAX_PRECISION)) == [asked(AGE, MAX_PRECISION, cost=MAX_PRECISION)]


def test_buying_does_not_touch_what_is_revealed_or_the_dimension() -> None:
    ledger = ledger_of(MAX_PRECISION)
    ledger.ask((HEIGHT, 7))
    ledger.reveal(HEIGHT, 0, 7, [1, -1])
    ledger.ask((HEIGHT, MAX_PRECISION))
    assert ledger.read("meter", HEIGHT, 0) == (2, MAX_PRECISION, 7)
    assert list(ledger.read("point", HEIGHT, 0)) == [1, -1]
