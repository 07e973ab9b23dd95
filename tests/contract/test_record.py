"""The events alone tell everything."""

from __future__ import annotations

import pytest

from contract.ledger import AGE, ANN, BOB, CUSTODIAN, EVE, HEIGHT, WORKER, publish, refused
from contract.record import APPLY, rebuild
from contract.reference import MAX_PRECISION, Request


@pytest.mark.parametrize("reuses", [True, False], ids=["reuse", "naive"])
@pytest.mark.parametrize("requires_allowance", [True, False], ids=["invited", "open"])
def test_a_busy_life_is_rebuilt_from_its_events(reuses: bool, requires_allowance: bool) -> None:
    ledger = publish(reuses=reuses, requires_allowance=requires_allowance, smallest=2)
    ledger.register("age", 2, 3, 7, ceiling=100)
    ledger.allow(ANN, 300)
    ledger.allow(BOB, 40)
    ledger.ask(Request(AGE, 10, 5, 6), (AGE, 10), (AGE, 3), by=ANN)
    ledger.reveal(AGE, 0, 9, [5, -5])
    ledger.register("height")
    ledger.ask((HEIGHT, 20), (AGE, 15), by=BOB)
    with refused(ledger, "ledger: above the ceiling"):
        ledger.ask((AGE, 101), by=ANN)
    ledger.send(CUSTODIAN, "change_worker", EVE)
    ledger.send(EVE, "reveal", [AGE, HEIGHT], [9, 0], [15, 20], [2**200, 4, -(2**200)])
    ledger.send(CUSTODIAN, "offer_custody", BOB)
    ledger.send(BOB, "take_custody")
    ledger.send(BOB, "offer_custody", WORKER)
    ledger.allow(EVE, MAX_PRECISION, by=BOB)
    ledger.allow(ANN, -5, by=BOB)
    ledger.allow(BOB, -MAX_PRECISION, by=BOB)
    ledger.pause_query(AGE, by=BOB)
    ledger.pause(by=BOB)
    assert rebuild(ledger.events) == ledger.state()
    ledger.close(by=BOB)
    assert rebuild(ledger.events) == ledger.state()
    assert {name for name, _ in ledger.events} == {"Published", *APPLY}


def test_there_are_no_other_events() -> None:
    declared = {entry["name"] for entry in publish().contract.abi if entry["type"] == "event"}
    assert declared == {"Published", *APPLY}


def test_events_can_be_found_by_query_and_by_analyst() -> None:
    events = [entry for entry in publish().contract.abi if entry["type"] == "event"]
    indexed = {entry["name"]: {field["name"] for field in entry["inputs"] if field["indexed"]} for entry in events}
    assert {name: fields for name, fields in indexed.items() if fields} == {
        "Registered": {"query"},
        "Asked": {"query", "analyst"},
        "Revealed": {"query"},
        "Allowed": {"analyst"},
        "QueryPaused": {"query"},
    }
