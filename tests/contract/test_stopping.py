"""Selling stops for one query, or for good."""

from __future__ import annotations

from typing import Any

import pytest

from contract.ledger import AGE, ANN, CUSTODIAN, EVE, HEIGHT, UNKNOWN, Ledger, publish, refused
from contract.reference import MAX_PRECISION, Query


@pytest.fixture
def ledger() -> Ledger:
    ledger = publish()
    ledger.register("age", 2)
    ledger.register("height")
    ledger.ask((AGE, 10))
    return ledger


def test_one_query_is_not_sold_and_the_others_are(ledger: Ledger) -> None:
    assert ledger.pause_query(AGE) == [("QueryPaused", {"query": AGE, "paused": True})]
    for requests in ([(AGE, 11)], [(AGE, 10)], [(HEIGHT, 1), (AGE, 11)]):
        with refused(ledger, "ledger: query paused"):
            ledger.ask(*requests)
    ledger.ask((HEIGHT, 5))
    assert (ledger.read("query_paused", AGE), ledger.read("query_paused", HEIGHT)) == (True, False)


def test_what_was_bought_of_a_paused_query_is_revealed(ledger: Ledger) -> None:
    ledger.pause_query(AGE)
    ledger.reveal(AGE, 0, 10, [4, -4])
    assert ledger.read("meter", AGE, 0) == (2, 10, 10)
    assert list(ledger.read("point", AGE, 0)) == [4, -4]
    assert ledger.read("query_paused", AGE) is True


def test_a_query_is_sold_again(ledger: Ledger) -> None:
    for _ in range(2):
        ledger.pause_query(AGE)
    for _ in range(2):
        assert ledger.pause_query(AGE, False) == [("QueryPaused", {"query": AGE, "paused": False})]
    ledger.ask((AGE, 12))
    assert ledger.read("meter", AGE, 0) == (2, 12, 0)


def test_pausing_a_query_changes_nothing_else_even_at_the_extremes() -> None:
    ledger = publish(budget=MAX_PRECISION)
    ledger.register("age", 8)
    ledger.ask((AGE, MAX_PRECISION))
    ledger.reveal(AGE, 0, MAX_PRECISION, [1] * 8)
    before = ledger.path(AGE)
    ledger.pause_query(AGE)
    assert (ledger.path(AGE), ledger.query(AGE)) == (before, Query(8, 1, 0, paused=True))
    ledger.pause_query(AGE, False)
    assert (ledger.path(AGE), ledger.query(AGE)) == (before, Query(8, 1, 0, paused=False))


@pytest.mark.parametrize("paused", [True, False])
def test_an_unknown_query_cannot_be_paused(ledger: Ledger, paused: bool) -> None:
    with refused(ledger, "ledger: unknown query"):
        ledger.pause_query(UNKNOWN, paused)
    assert ledger.read("query_paused", UNKNOWN) is False


@pytest.mark.parametrize("paused", [True, False])
def test_a_closed_ledger_sells_nothing_any_more(ledger: Ledger, paused: bool) -> None:
    ledger.pause(paused)
    assert ledger.close() == [("Closed", {})]
    assert (ledger.read("closed"), ledger.read("paused"), ledger.spent()) == (True, True, 10)
    calls: list[tuple[str, str, tuple[Any, ...]]] = [
        (ANN, "ask", ([], 0)),
        (ANN, "ask", ([(AGE, 0, 11, 0, 0)], 9)),
        (CUSTODIAN, "pause", (False,)),
        (CUSTODIAN, "pause", (True,)),
        (CUSTODIAN, "close", ()),
        (CUSTODIAN, "register", ("later", 1, 1, 1, 1, 0)),
        (CUSTODIAN, "open_edition", (b"d" * 32, 0)),
    ]
    for who, function, arguments in calls:
        with refused(ledger, "ledger: closed"):
            ledger.send(who, function, *arguments)


def test_what_was_bought_before_closing_is_revealed(ledger: Ledger) -> None:
    ledger.close()
    ledger.reveal(AGE, 0, 10, [4, -4])
    assert ledger.path(AGE).revealed == 10
    ledger.send(CUSTODIAN, "change_worker", EVE)
    assert ledger.read("worker") == EVE


def test_a_ledger_is_not_closed_by_a_pause(ledger: Ledger) -> None:
    ledger.pause()
    assert ledger.read("closed") is False
