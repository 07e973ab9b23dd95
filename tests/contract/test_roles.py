"""Who may do what, and how that changes hands."""

from __future__ import annotations

from typing import Any

import pytest

from contract.ledger import AGE, ANN, BOB, CUSTODIAN, EVE, WORKER, Ledger, publish, refused
from contract.reference import NOBODY


@pytest.fixture
def ledger() -> Ledger:
    ledger = publish()
    ledger.register("age")
    ledger.ask((AGE, 10))
    return ledger


@pytest.mark.parametrize(
    "call",
    [
        ("register", "height", 1, 1, 1, 1, 0),
        ("open_edition", b"d" * 32, 5),
        ("retire", 0),
        ("allow", ANN, 5),
        ("pause", True),
        ("pause", False),
        ("pause_query", AGE, True),
        ("close",),
        ("change_worker", EVE),
        ("offer_custody", EVE),
        ("take_custody",),
    ],
    ids=lambda call: call[0],
)
def test_what_is_for_the_custodian_is_for_nobody_else(ledger: Ledger, call: tuple[Any, ...]) -> None:
    ledger.send(CUSTODIAN, "offer_custody", BOB)
    for who in (WORKER, ANN, EVE) if call == ("take_custody",) else (WORKER, ANN, EVE, BOB):
        with refused(ledger, "ledger: not for you"):
            ledger.send(who, *call)


def test_selling_stops_and_goes_on(ledger: Ledger) -> None:
    assert ledger.pause() == [("Paused", {"paused": True})]
    assert ledger.read("paused") is True
    assert ledger.pause(False) == [("Paused", {"paused": False})]
    assert ledger.read("paused") is False


def test_the_custodian_works_on_while_paused(ledger: Ledger) -> None:
    ledger.pause()
    ledger.register("height")
    ledger.allow(ANN, 5)
    ledger.send(CUSTODIAN, "change_worker", EVE)
    assert ledger.read("allowance", ANN) == 5


def test_the_right_to_reveal_moves_to_another_key(ledger: Ledger) -> None:
    ledger.reveal(AGE, 0, 4, [1])
    assert ledger.send(CUSTODIAN, "change_worker", BOB) == [("Appointed", {"role": "worker", "who": BOB})]
    assert ledger.read("worker") == BOB
    with refused(ledger, "ledger: not for you"):
        ledger.reveal(AGE, 4, 10, [1], by=WORKER)
    ledger.reveal(AGE, 4, 10, [1], by=BOB)
    assert ledger.read("custodian") == CUSTODIAN


def test_there_is_always_a_worker(ledger: Ledger) -> None:
    with refused(ledger, "ledger: no worker"):
        ledger.send(CUSTODIAN, "change_worker", NOBODY)


def test_custody_changes_hands_in_two_steps(ledger: Ledger) -> None:
    assert ledger.send(CUSTODIAN, "offer_custody", BOB) == [("Appointed", {"role": "heir", "who": BOB})]
    assert (ledger.read("custodian"), ledger.read("heir")) == (CUSTODIAN, BOB)
    ledger.register("before it was taken", by=CUSTODIAN)
    assert ledger.send(BOB, "take_custody") == [("Appointed", {"role": "custodian", "who": BOB})]
    assert (ledger.read("custodian"), ledger.read("heir")) == (BOB, NOBODY)
    with refused(ledger, "ledger: not for you"):
        ledger.register("afterwards", by=CUSTODIAN)
    ledger.register("afterwards", by=BOB)
    assert ledger.read("worker") == WORKER


def test_an_offer_is_taken_once(ledger: Ledger) -> None:
    ledger.send(CUSTODIAN, "offer_custody", BOB)
    ledger.send(BOB, "take_custody")
    ledger.send(BOB, "offer_custody", ANN)
    ledger.send(ANN, "take_custody")
    for who in (BOB, ANN, CUSTODIAN):
        with refused(ledger, "ledger: not for you"):
            ledger.send(who, "take_custody")


def test_an_offer_can_be_taken_back_or_replaced(ledger: Ledger) -> None:
    ledger.send(CUSTODIAN, "offer_custody", BOB)
    ledger.send(CUSTODIAN, "offer_custody", NOBODY)
    with refused(ledger, "ledger: not for you"):
        ledger.send(BOB, "take_custody")
    ledger.send(CUSTODIAN, "offer_custody", BOB)
    ledger.send(CUSTODIAN, "offer_custody", ANN)
    with refused(ledger, "ledger: not for you"):
        ledger.send(BOB, "take_custody")
    ledger.send(ANN, "take_custody")
    assert ledger.read("custodian") == ANN


def test_custody_is_not_there_for_the_taking(ledger: Ledger) -> None:
    for who in (CUSTODIAN, WORKER, EVE):
        with refused(ledger, "ledger: not for you"):
            ledger.send(who, "take_custody")
