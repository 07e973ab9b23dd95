"""What is fixed for good when a budget is published, and what the contract is."""

from __future__ import annotations

from typing import Any

import boa
import pytest

from contract.ledger import ANN, BOB, CUSTODIAN, EVE, TERMS, WORKER, Ledger, compiled, publish
from contract.reference import MAX_DEFINITION, MAX_PRECISION, NOBODY, Edition, Refused, State, identifier


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"commitment": bytes(range(32)), "rows": 0, "replaces": False},
        {"reuses": False},
        {"requires_allowance": True},
        {"replaces": False, "requires_allowance": True, "budget": 1, "smallest": 1},
        {
            "budget": MAX_PRECISION,
            "smallest": MAX_PRECISION,
            "rows": 2**256 - 1,
            "epsilon": 2**256 - 1,
            "delta": 2**255 - 1,
        },
        {"zones": 2},
        {"zones": 255},
        {"zones": 256},
    ],
)
def test_terms_are_kept_and_published_as_they_were_given(changes: dict[str, Any]) -> None:
    terms = TERMS._replace(**changes)
    ledger = Ledger(ANN, terms, BOB)
    assert ledger.events == [("Published", {"terms": terms, "zone_list": "", "custodian": ANN, "worker": BOB})]
    state = State(terms, custodian=ANN, worker=BOB, heir=NOBODY, paused=False, closed=False)
    state.editions = [Edition(terms.commitment, terms.rows, [0] * terms.zones, is_open=True)]
    assert ledger.state() == state


@pytest.mark.parametrize("zone_list", ["north\nsouth", "x" * MAX_DEFINITION, "é" * (MAX_DEFINITION // 2)])
def test_the_list_of_zones_is_published_and_its_hash_is_kept(zone_list: str) -> None:
    terms = TERMS._replace(zones=2, zone_list=identifier(zone_list))
    ledger = Ledger(ANN, terms, BOB, zone_list)
    assert (ledger.events[0][1]["zone_list"], ledger.terms) == (zone_list, terms)


def test_a_longer_list_of_zones_is_refused() -> None:
    zone_list = "x" * (MAX_DEFINITION + 1)
    with pytest.raises(Refused, match=r"^$"):
        Ledger(ANN, TERMS._replace(zone_list=identifier(zone_list)), BOB, zone_list)


@pytest.mark.parametrize("zone_list", ["", "north"])
def test_another_list_of_zones_is_refused(zone_list: str) -> None:
    with pytest.raises(Refused, match=r"^ledger: another list of zones$"):
        Ledger(CUSTODIAN, TERMS._replace(zone_list=identifier("south")), WORKER, zone_list)


@pytest.mark.parametrize("zones", [0, 257, 2**255, 2**256 - 1])
def test_a_number_of_zones_out_of_range_is_refused(zones: int) -> None:
    with pytest.raises(Refused, match=r"^ledger: zones out of range$"):
        publish(zones=zones)


@pytest.mark.parametrize("budget", [0, 2**110, 2**255 - 1, 2**256 - 1])
def test_a_budget_out_of_range_is_refused(budget: int) -> None:
    with pytest.raises(Refused, match=r"^ledger: budget out of range$"):
        publish(budget=budget)


@pytest.mark.parametrize("smallest", [1001, 2**110, 2**255 - 1, 2**256 - 1])
def test_a_smallest_purchase_beyond_the_budget_is_refused(smallest: int) -> None:
    with pytest.raises(Refused, match=r"^ledger: smallest purchase out of range$"):
        publish(smallest=smallest)


def test_a_ledger_without_a_worker_is_refused() -> None:
    with pytest.raises(Refused, match=r"^ledger: no worker$"):
        Ledger(CUSTODIAN, TERMS, NOBODY)


def test_nothing_else_can_change_a_ledger() -> None:
    abi = publish().contract.abi
    changing = {entry["name"] for entry in abi if entry.get("stateMutability") == "nonpayable" and "name" in entry}
    custody = {"change_worker", "offer_custody", "take_custody"}
    selling = {"ask", "ask_signed", "pause", "pause_query", "close", "retire"}
    assert changing == {"open_edition", "register", "reveal", "reveal_piece", "allow"} | selling | custody
    assert not [entry for entry in abi if entry.get("stateMutability") == "payable" or entry["type"] == "fallback"]


def test_money_and_unknown_calls_are_refused() -> None:
    contract = publish().contract
    boa.env.set_balance(EVE, 1)
    pay = contract.ask.prepare_calldata([], 0)
    for call in ({"data": pay, "value": 1}, {"value": 1}, {"data": b""}, {"data": b"\0\0\0\0"}):
        assert boa.env.execute_code(to_address=contract.address, sender=EVE, **call).is_error
    assert not boa.env.execute_code(to_address=contract.address, sender=EVE, data=pay).is_error


def test_it_runs_on_any_chain() -> None:
    data = compiled().compiler_data
    assert data.settings.evm_version == "london"
    assert len(data.bytecode_runtime) <= 24576  # EIP-170


def test_ledgers_are_apart() -> None:
    one, other = publish(), publish()
    before = other.state()
    one.register("age")
    one.ask((one.events[-1][1]["query"], 5))
    one.open_edition()
    assert other.state() == before
