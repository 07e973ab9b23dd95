"""Several requests in one call: all of them or none."""

from __future__ import annotations

import pytest

from contract.ledger import AGE, ANN, HEIGHT, UNKNOWN, Ledger, publish, refused
from contract.reference import MAX_BATCH, MAX_PRECISION


@pytest.fixture
def ledger() -> Ledger:
    ledger = publish()
    ledger.register("age")
    ledger.register("height", 2, ceiling=600)
    return ledger


def costs(ledger: Ledger, *requests: tuple[bytes, int]) -> list[int]:
    return [fields["cost"] for _, fields in ledger.ask(*requests)]


def test_nothing_is_asked_by_an_empty_batch(ledger: Ledger) -> None:
    before = ledger.state()
    assert ledger.ask() == []
    assert ledger.state() == before


def test_each_request_is_recorded_in_its_place(ledger: Ledger) -> None:
    events = ledger.ask((HEIGHT, 3), (AGE, 5))
    assert [(fields["query"], fields["precision"], fields["analyst"]) for _, fields in events] == [
        (HEIGHT, 3, ANN),
        (AGE, 5, ANN),
    ]
    assert (ledger.path(AGE).bought, ledger.path(HEIGHT).bought, ledger.spent()) == (5, 3, 8)


def test_the_same_query_twice_is_priced_one_after_the_other(ledger: Ledger) -> None:
    requests = [(AGE, 5), (AGE, 9), (AGE, 9), (AGE, 2), (HEIGHT, 1), (AGE, 10)]
    assert costs(ledger, *requests) == [5, 4, 0, 0, 1, 1]
    assert (ledger.path(AGE).bought, ledger.spent()) == (10, 11)


@pytest.mark.parametrize(
    ("request_", "reason"),
    [
        ((UNKNOWN, 5), "ledger: unknown query"),
        ((AGE, 0), "ledger: precision out of range"),
        ((AGE, MAX_PRECISION + 1), "ledger: precision out of range"),
        ((HEIGHT, 601), "ledger: above the ceiling"),
        ((HEIGHT, 600), "BudgetExceeded(1100, 1000)"),
    ],
)
def test_one_bad_request_refuses_all(ledger: Ledger, request_: tuple[bytes, int], reason: str) -> None:
    with refused(ledger, reason):
        ledger.ask((AGE, 500), request_)
    with refused(ledger, reason):
        ledger.ask(request_, (AGE, 500))


def test_the_budget_is_held_against_the_sum(ledger: Ledger) -> None:
    with refused(ledger, "BudgetExceeded(1001, 1000)"):
        ledger.ask((AGE, 500), (HEIGHT, 501))
    ledger.ask((AGE, 500), (HEIGHT, 500))
    assert ledger.spent() == 1000


def test_a_batch_has_a_largest_size(ledger: Ledger) -> None:
    requests = [(AGE, step) for step in range(1, MAX_BATCH + 2)]
    with refused(ledger, ""):
        ledger.ask(*requests)
    assert costs(ledger, *requests[:MAX_BATCH]) == [1] * MAX_BATCH
    assert ledger.spent() == MAX_BATCH


def test_a_full_batch_of_extremes_does_not_overflow() -> None:
    ledger = publish(budget=MAX_PRECISION)
    queries = [(fields["query"]) for n in range(MAX_BATCH) for _, fields in ledger.register(str(n))]
    with refused(ledger, f"BudgetExceeded({MAX_BATCH * MAX_PRECISION}, {MAX_PRECISION})"):
        ledger.ask(*((query, MAX_PRECISION) for query in queries))
