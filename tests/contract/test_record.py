"""The events alone tell everything."""

from __future__ import annotations

import pytest

from contract.ledger import AGE, ANN, BOB, CUSTODIAN, EVE, HEIGHT, WORKER, publish, refused, request, stretch
from contract.record import APPLY, rebuild
from contract.reference import MAX_PRECISION, identifier

TABLE = identifier("table")


@pytest.mark.parametrize("reuses", [True, False], ids=["reuse", "naive"])
@pytest.mark.parametrize("requires_allowance", [True, False], ids=["invited", "open"])
def test_a_busy_life_is_rebuilt_from_its_events(reuses: bool, requires_allowance: bool) -> None:
    ledger = publish(reuses=reuses, requires_allowance=requires_allowance, smallest=2, zones=3)
    ledger.register("age", 2, 3, 7, reach=5, ceiling=100)
    ledger.allow(ANN, 300)
    ledger.allow(BOB, 80)
    ledger.ask(request(AGE, 10, epsilon=5, delta=6), (AGE, 10), (AGE, 3), by=ANN)
    ledger.reveal(AGE, 0, 9, [5, -5])
    ledger.register("height")
    ledger.register("table", 10, reach=2)
    ledger.open_edition(rows=9)
    ledger.ask((HEIGHT, 20), (AGE, 15), request(AGE, 12, edition=1), (TABLE, 8), by=BOB)
    with refused(ledger, "ledger: above the ceiling"):
        ledger.ask((AGE, 101), by=ANN)
    ledger.send(CUSTODIAN, "change_worker", EVE)
    stretches = [stretch(AGE, 9, 15), stretch(HEIGHT, 0, 20), stretch(AGE, 0, 12, edition=1)]
    ledger.send(EVE, "reveal", stretches, [2**200, 4, -(2**200), 8, 9])
    ledger.reveal_piece(TABLE, 0, 7, 0, [1] * 10, by=EVE)
    ledger.reveal_piece(TABLE, 7, 8, 0, [1] * 4, by=EVE)
    ledger.send(CUSTODIAN, "offer_custody", BOB)
    ledger.send(BOB, "take_custody")
    ledger.send(BOB, "offer_custody", WORKER)
    ledger.allow(EVE, MAX_PRECISION, by=BOB)
    ledger.allow(ANN, -5, by=BOB)
    ledger.allow(BOB, -MAX_PRECISION, by=BOB)
    ledger.pause_query(AGE, by=BOB)
    ledger.retire(0, by=BOB)
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
        "RevealedPiece": {"query"},
        "Allowed": {"analyst"},
        "QueryPaused": {"query"},
    }
