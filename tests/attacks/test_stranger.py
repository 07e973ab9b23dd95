"""Attack: a stranger with a funded key on a ledger that was published without a word about access.

They try every function of the contract that spends or governs, with arguments that would work for whoever may. The defence:
the ledger is by invitation from its first block on. The weakened copy is published as an open one, and there one transaction
takes all that is left of the budget, so that nobody can buy anything ever again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any, TypeAlias

import pytest

from noiseledger.chain import (
    ContractReveal,
    Key,
    PrivacyLedgerContract,
    Rpc,
    Sender,
    SignedAsk,
    Terms,
    abi,
    encode_request,
    local_chain,
)
from noiseledger.chain.contract import MAX_BATCH
from noiseledger.chain.rpc import Call
from noiseledger.chain.typed_data import AskData
from noiseledger.chain.values import to_units
from noiseledger.contracts import artifact
from noiseledger.core.query import Query
from noiseledger.core.sensitivity import Population
from noiseledger.custodian import Custodian, Custody
from noiseledger.custodian.publish import publish
from noiseledger.data.catalogue import read_catalogue
from noiseledger.errors import AllowanceExceeded, BudgetExceeded, NotAllowed

CUSTODIAN, WORKER, STRANGER = (Key.from_hex(key) for key in local_chain.PLAY_KEYS)
INVITED = Key.from_hex(local_chain.PLAY_ANALYSTS[1])
OVER_60, OVER_20 = Query.share("age > 60"), Query.share("age > 20")
#: So many numbers that they are revealed in a piece.
AGES = Query.histogram("age", range(0, 101, 10))
CATALOGUE = """
[source]
file = "people.csv"
[privacy]
epsilon = 8
delta = "1e-4"
neighbours = "replace"
[columns.age]
kind = "number"
[queries.over_60]
measure = "share"
where = "age > 60"
[queries.over_20]
measure = "share"
where = "age > 20"
[queries.ages]
measure = "count"
by = "age"
edges = [0, 10, 20, 30, 40, 50, 60, 70, 80, 90, 100]
"""
Attack: TypeAlias = Callable[[PrivacyLedgerContract], Any]


def _ask(*requests: tuple[Query, Fraction]) -> Attack:
    return lambda contract: contract.ask([encode_request(query.identifier, precision) for query, precision in requests])


def _rest(contract: PrivacyLedgerContract) -> Fraction:
    return contract.terms().budget - contract.spent()


def _signed(contract: PrivacyLedgerContract) -> SignedAsk:
    """Their own signature, which nobody else's allowance pays for."""
    wanted = encode_request(OVER_20.identifier, _rest(contract))
    data = AskData(contract.rpc.chain_id, contract.address, (wanted,), 2**112, 0, 2**50)
    return SignedAsk.sign(data, STRANGER)


#: What a stranger tries, by the contract's function.
ATTACKS: dict[str, list[Attack]] = {
    "ask": [
        lambda contract: _ask((OVER_20, _rest(contract)))(contract),
        _ask((OVER_20, Fraction(1, 3600 * 10**24))),  # the least there is
        _ask((OVER_60, Fraction(1, 16)), (OVER_60, Fraction(1))),  # something free first
        _ask(*[(OVER_60, Fraction(1, 8))] * MAX_BATCH),  # only free: each would be recorded for ever
        _ask(*[(OVER_20, Fraction(n, 10**6)) for n in range(1, MAX_BATCH + 1)]),
    ],
    "ask_signed": [lambda contract: contract.ask_signed(_signed(contract))],
    "reveal": [
        lambda contract: contract.reveal([ContractReveal(OVER_60.identifier, Fraction(0), Fraction(1, 8), (10**18,))])
    ],
    "reveal_piece": [
        lambda contract: contract.reveal(
            [ContractReveal(AGES.identifier, Fraction(0), Fraction(1, 8), (10**18,) * AGES.dimension)]
        )
    ],
    "open_edition": [lambda contract: contract.open_edition(bytes(32), None)],
    "retire": [lambda contract: contract.retire(0)],
    "register": [lambda contract: contract.register(Query.share("age > 99"), Fraction(1, 2))],
    "allow": [lambda contract: contract.allow(STRANGER.address, _rest(contract))],
    "pause": [lambda contract: contract.pause(True), lambda contract: contract.pause(False)],
    "pause_query": [lambda contract: contract.pause_query(OVER_20.identifier, True)],
    "close": [lambda contract: contract.close()],
    "change_worker": [lambda contract: contract.change_worker(STRANGER.address)],
    "offer_custody": [lambda contract: contract.offer_custody(STRANGER.address)],
    "take_custody": [lambda contract: contract.take_custody()],
}


@pytest.fixture(scope="module")
def rpc() -> Iterator[Rpc]:
    with local_chain.running() as chain, Rpc(chain.url) as rpc:
        yield rpc


def published(rpc: Rpc, folder: Path, text: str) -> PrivacyLedgerContract:
    """Publish a catalogue, and let somebody who may ask buy something that nobody has revealed yet."""
    (folder / "people.csv").write_text("\n".join(["age", *map(str, range(100)), ""]))
    (folder / "people.toml").write_text(text)
    catalogue = read_catalogue(folder / "people.toml")
    contract = publish(catalogue, Custody.of(catalogue).pin(catalogue), Sender(rpc, CUSTODIAN), WORKER.address)
    if catalogue.access.requires_allowance:
        Custodian(contract).allow(INVITED.address, precision=1)
    requests = [encode_request(query.identifier, Fraction(1, 8)) for query in (OVER_60, AGES)]
    seen_by(INVITED, contract).ask(requests)
    return contract


def seen_by(key: Key, contract: PrivacyLedgerContract) -> PrivacyLedgerContract:
    return PrivacyLedgerContract(contract.rpc, contract.address, Sender(contract.rpc, key))


def state(contract: PrivacyLedgerContract) -> tuple[Any, ...]:
    roles = contract.custodian(), contract.heir(), contract.worker(), contract.paused()
    identifiers = [query.identifier for query in (OVER_60, OVER_20, AGES)]
    meters = contract.meters(identifiers), contract.pieces(identifiers)
    editions = contract.rpc.batch([_read(contract, "editions"), _read(contract, "edition", 0)])
    allowances = [contract.allowance(key.address) for key in (INVITED, STRANGER)]
    return contract.terms(), contract.spent(), roles, meters, allowances, editions


def _read(contract: PrivacyLedgerContract, function: str, *arguments: int) -> Call:
    return "eth_call", [{"to": contract.address, "data": abi.encode_call(function, *arguments)}, "latest"]


def test_every_function_that_changes_something_is_tried() -> None:
    changing = {e["name"] for e in artifact()["abi"] if e["type"] == "function" and e["stateMutability"] != "view"}
    assert changing == ATTACKS.keys()


def test_a_ledger_without_a_word_about_access_refuses_a_stranger(rpc: Rpc, tmp_path: Path) -> None:
    contract = published(rpc, tmp_path, CATALOGUE)
    stranger, before = seen_by(STRANGER, contract), state(contract)
    for function, attacks in ATTACKS.items():
        for attack in attacks:
            with pytest.raises(NotAllowed):
                attack(stranger)
            assert state(contract) == before, function
    # Who was invited goes on as before.
    seen_by(INVITED, contract).ask([encode_request(OVER_20.identifier, Fraction(1, 4))])
    assert contract.spent() == Fraction(1, 2)


def test_the_refusals_are_the_chains_and_not_only_the_simulations(rpc: Rpc, tmp_path: Path) -> None:
    """Send what the simulation would hold back: the block takes it, and nothing changes."""
    contract = published(rpc, tmp_path, CATALOGUE)
    before, sender = state(contract), Sender(rpc, STRANGER)
    request = encode_request(OVER_20.identifier, _rest(contract))
    for data in (abi.encode_call("ask", [request], to_units(_rest(contract))), abi.encode_call("pause", True)):
        receipt = sender.wait(sender.send(contract.address, data, gas=500_000))
        assert not receipt.succeeded
        assert state(contract) == before


def test_a_ledger_made_in_python_without_a_word_about_access_refuses_a_stranger_too(rpc: Rpc) -> None:
    terms = Terms(bytes(32), Population.replace(100), Fraction(1), Fraction(8), Fraction(1, 10_000))
    contract = PrivacyLedgerContract.deploy(Sender(rpc, CUSTODIAN), terms, WORKER.address)
    contract.register(OVER_20, Fraction(1, 100))
    with pytest.raises(AllowanceExceeded):
        ATTACKS["ask"][0](seen_by(STRANGER, contract))


def test_an_open_ledger_is_ended_by_one_transaction(rpc: Rpc, tmp_path: Path) -> None:
    contract = published(rpc, tmp_path, CATALOGUE.replace('"replace"', '"replace"\naccess = "open"'))
    ATTACKS["ask"][0](seen_by(STRANGER, contract))
    assert _rest(contract) == 0
    with pytest.raises(BudgetExceeded):
        seen_by(INVITED, contract).ask([encode_request(OVER_60.identifier, Fraction(1, 2))])
