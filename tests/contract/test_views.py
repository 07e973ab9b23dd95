"""What anyone can read without a transaction."""

from __future__ import annotations

import pytest

from contract.ledger import AGE, ANN, EVE, HEIGHT, UNKNOWN, Ledger, publish, refused


@pytest.fixture
def ledger() -> Ledger:
    ledger = publish(budget=100, requires_allowance=True)
    ledger.register("age", 2, ceiling=500)
    ledger.register("height", 3)
    ledger.allow(ANN, 60)
    ledger.ask((AGE, 50))
    ledger.reveal(AGE, 0, 40, [-7, 9])
    return ledger


def test_the_meter_and_the_point_of_a_path(ledger: Ledger) -> None:
    assert ledger.read("meter", AGE, 0) == (2, 50, 40)
    assert list(ledger.read("point", AGE, 0)) == [-7, 9]
    assert ledger.read("meter", HEIGHT, 0) == (3, 0, 0)
    assert list(ledger.read("point", HEIGHT, 0)) == [0, 0, 0]


def test_an_unknown_query_has_nothing(ledger: Ledger) -> None:
    assert ledger.read("meter", UNKNOWN, 0) == (0, 0, 0)
    assert ledger.read("ceiling", UNKNOWN) == 0
    assert ledger.read("query_paused", UNKNOWN) is False
    assert ledger.read("reach", UNKNOWN) == 0
    for view in ("point", "piece"):
        with refused(ledger, "ledger: unknown query"):
            ledger.read(view, UNKNOWN, 0)


def test_allowances_ceilings_and_spent_are_public(ledger: Ledger) -> None:
    assert (ledger.read("allowance", ANN), ledger.read("allowance", EVE)) == (10, 0)
    assert (ledger.read("ceiling", AGE), ledger.read("ceiling", HEIGHT)) == (500, 0)
    assert ledger.spent() == 50
