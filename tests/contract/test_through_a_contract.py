"""A contract, such as a wallet with several keys, may hold any role; who stands behind it does not count."""

from __future__ import annotations

from typing import Any

import boa
import pytest

from contract.ledger import (
    AGE,
    ANN,
    CUSTODIAN,
    HEIGHT,
    TERMS,
    WORKER,
    Ledger,
    compiled,
    creation,
    publish,
    refused,
    request,
    stretch,
)

WALLET = """
@external
def create(code: Bytes[24576]) -> address:
    return raw_create(code)

@external
def forward(target: address, data: Bytes[4096]):
    raw_call(target, data)
"""


READER = """
interface Ledger:
    def point(query: bytes32, edition: uint256) -> DynArray[int256, 8]: view
    def meter(query: bytes32, edition: uint256) -> (uint256, uint256, uint256): view
    def piece(query: bytes32, edition: uint256) -> (uint256, uint256, bytes32): view

@external
@view
def best(ledger: address, query: bytes32, edition: uint256) -> DynArray[int256, 8]:
    found: DynArray[int256, 8] = []
    dimension: uint256 = 0
    bought: uint256 = 0
    revealed: uint256 = 0
    dimension, bought, revealed = staticcall Ledger(ledger).meter(query, edition)
    for value: int256 in staticcall Ledger(ledger).point(query, edition):
        found.append(value // convert(revealed, int256))
    assert len(found) == dimension
    return found

@external
@view
def holds(ledger: address, query: bytes32, edition: uint256, end: uint256, increments: DynArray[int256, 256]) -> bool:
    done: uint256 = 0
    ends: uint256 = 0
    digest: bytes32 = empty(bytes32)
    done, ends, digest = staticcall Ledger(ledger).piece(query, edition)
    first: uint256 = 0
    return done == 0 and digest == keccak256(abi_encode(query, end, first, increments))
"""


@pytest.fixture
def wallet() -> Any:
    return boa.loads(WALLET)


def forward(wallet: Any, ledger: Ledger, sender: str, function: str, *arguments: Any) -> None:
    wallet.forward(ledger.contract, getattr(ledger.contract, function).prepare_calldata(*arguments), sender=sender)


def test_a_wallet_that_publishes_is_the_custodian(wallet: Any) -> None:
    contract = compiled().at(wallet.create(creation(TERMS, WORKER), sender=CUSTODIAN))
    (published,) = contract.get_logs(wallet._computation)
    assert contract.custodian() == published.custodian == wallet.address


def test_a_wallet_can_hold_every_role(wallet: Any) -> None:
    ledger = publish(requires_allowance=True)
    ledger.register("age")
    ledger.allow(wallet.address, 10)
    forward(wallet, ledger, ANN, "ask", [request(AGE, 7)], 7)
    (asked,) = ledger.contract.get_logs(wallet._computation)
    assert (asked.analyst, asked.cost) == (wallet.address, 7)
    assert (ledger.read("allowance", wallet.address), ledger.read("allowance", ANN)) == (3, 0)
    ledger.send(CUSTODIAN, "change_worker", wallet.address)
    forward(wallet, ledger, ANN, "reveal", [stretch(AGE, 0, 7)], [5])
    assert ledger.path(AGE).point == [5]
    ledger.send(CUSTODIAN, "offer_custody", wallet.address)
    forward(wallet, ledger, ANN, "take_custody")
    (appointed,) = ledger.contract.get_logs(wallet._computation)
    assert ledger.read("custodian") == appointed.who == wallet.address


@pytest.mark.parametrize(
    ("sender", "call"),
    [(CUSTODIAN, ("pause", True)), (CUSTODIAN, ("offer_custody", ANN)), (WORKER, ("reveal", [], []))],
    ids=["pause", "offer_custody", "reveal"],
)
def test_a_contract_that_custodian_or_worker_calls_cannot_act_for_them(
    wallet: Any, sender: str, call: tuple[Any, ...]
) -> None:
    ledger = publish()
    with pytest.raises(boa.BoaError, match="ledger: not for you"):
        forward(wallet, ledger, sender, *call)
    with refused(ledger, "ledger: not for you"):
        ledger.send(wallet.address, *call)


def test_a_contract_reads_small_answers_and_checks_large_ones() -> None:
    ledger, reader = publish(), boa.loads(READER)
    ledger.register("age", 8)
    ledger.register("height", 9)
    ledger.open_edition()
    ledger.ask(request(AGE, 10, edition=1), (HEIGHT, 10))
    ledger.reveal(AGE, 0, 5, [500, -500, 0, 1, 2, 3, 4, 5], edition=1)
    assert reader.best(ledger.contract, AGE, 1) == [100, -100, 0, 0, 0, 0, 0, 1]
    ledger.reveal_piece(HEIGHT, 0, 10, 0, list(range(9)))
    assert reader.holds(ledger.contract, HEIGHT, 0, 10, list(range(9))) is True
    assert reader.holds(ledger.contract, HEIGHT, 0, 10, list(range(1, 10))) is False
