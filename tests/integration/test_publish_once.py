"""Whatever happens while a ledger is published, there is one in the end."""

# ruff: noqa: F401, F811 - fixtures are imported by name
from __future__ import annotations

import shutil
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from threading import Barrier

import pytest

from integration.conftest import ANALYST, CUSTODIAN, WORKER
from integration.test_worker import CATALOGUE, Crash, Wire, catalogue, data, wire
from noiseledger.chain import Key, PrivacyLedgerContract, Rpc, Sender
from noiseledger.core.access import Access
from noiseledger.custodian import Custody
from noiseledger.custodian.intent import Intent
from noiseledger.custodian.publish import find, publish
from noiseledger.data.catalogue import Catalogue, read_catalogue
from noiseledger.data.pinned import Pinned
from noiseledger.errors import ChainMismatch, CustodyDamaged, DataMismatch, InvalidInput, NotAllowed, PublishedBefore

NOWHERE = "0x000000000000000000000000000000000000dEaD"


def ledgers(rpc: Rpc) -> set[str]:
    """Return the addresses of all ledgers on the chain."""
    from noiseledger.chain import abi

    logs = rpc.call("eth_getLogs", {"fromBlock": "0x0", "topics": [abi.event_topic("Published")]})
    return {log["address"].lower() for log in logs}


def crash_while_publishing(moment: str, wire: Wire, catalogue: Catalogue, data: Pinned) -> None:
    wire.crash = moment
    with pytest.raises(Crash):
        publish(catalogue, data, Sender(wire, CUSTODIAN), WORKER.address)
    wire.crash = None
    assert Custody.of(catalogue).read_ledger_file() is None


@pytest.mark.parametrize("moment", ["sign", "send", "confirm"])
def test_a_crash_leads_to_one_ledger(moment: str, rpc: Rpc, wire: Wire, catalogue: Catalogue, data: Pinned) -> None:
    before = ledgers(rpc)
    crash_while_publishing(moment, wire, catalogue, data)
    contract = publish(catalogue, data, Sender(rpc, CUSTODIAN), WORKER.address)
    assert ledgers(rpc) - before == {contract.address.lower()}
    assert not Custody.of(catalogue).intent_file.exists()
    assert publish(catalogue, data, Sender(rpc, CUSTODIAN), WORKER.address).address == contract.address


@pytest.mark.parametrize("crashes", [False, True])
def test_readers_are_told_to_begin_before_the_ledger(
    crashes: bool, rpc: Rpc, wire: Wire, catalogue: Catalogue, data: Pinned
) -> None:
    """Shortly before, since blocks may be replaced; after a crash, which leaves the block unknown, with the first of all."""
    rpc.call("anvil_mine", hex(150))
    newest = int(rpc.call("eth_blockNumber"), 16)
    if crashes:
        crash_while_publishing("send", wire, catalogue, data)
    for _ in range(2):  # publishing again keeps it
        publish(catalogue, data, Sender(rpc, CUSTODIAN), WORKER.address)
        known = Custody.of(catalogue).read_ledger_file()
        assert known is not None
        assert known.block == (0 if crashes else newest - 100)


def test_a_crash_before_any_file_is_in_its_place_leads_to_one_ledger(
    rpc: Rpc, catalogue: Catalogue, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The secret, the journal's name, both registers, the intent, the ledger file, and registers and ledger file again."""
    before, replace_file = ledgers(rpc), Path.replace
    done: list[str] = []
    crashed: list[str] = []

    def crash_once(self: Path, target: Path) -> Path:
        moment = f"{target.name} {done.count(target.name)}"
        if moment not in crashed:
            crashed.append(moment)
            raise Crash
        done.append(target.name)
        return replace_file(self, target)

    monkeypatch.setattr(Path, "replace", crash_once)
    for _ in range(20):
        with suppress(Crash):
            sender = Sender(rpc, CUSTODIAN)
            contract = publish(catalogue, Custody.of(catalogue).pin(catalogue), sender, WORKER.address)
            break
    assert {"secret 0", "journal.identity 0", "publish.intent 0", "ledger.json 0", "ledger.json 1"} <= {*crashed}
    assert len(crashed) == 9
    assert ledgers(rpc) - before == {contract.address.lower()}
    assert not Custody.of(catalogue).intent_file.exists()


@pytest.mark.parametrize("second_promise", [False, True])
def test_a_lost_ledger_file_does_not_lead_to_a_second_ledger(
    second_promise: bool, rpc: Rpc, catalogue: Catalogue, data: Pinned
) -> None:
    """Not even one that was asked for: two ledgers cannot share a journal. A careless custodian found this."""
    contract = publish(catalogue, data, Sender(rpc, CUSTODIAN), WORKER.address)
    before = ledgers(rpc)
    Custody.of(catalogue).ledger_file.unlink()
    with pytest.raises(CustodyDamaged, match=f"ledger.json is missing.*{contract.address}.*restore the file"):
        publish(catalogue, data, Sender(rpc, CUSTODIAN), WORKER.address, second_promise=second_promise)
    assert ledgers(rpc) == before


def test_what_no_chain_takes_is_refused_before_anything_is_made(rpc: Rpc, catalogue: Catalogue) -> None:
    before = ledgers(rpc)
    with catalogue.file.open("a") as stream:
        towns = [f"{number:0200}" for number in range(125)]  # no more groups than may be, but long names
        stream.write(f'[queries.long]\nmeasure = "count"\nby = "town"\ngroups = {towns}\n')
    larger = read_catalogue(catalogue.file)
    with pytest.raises(
        InvalidInput, match="Query long: A ledger on a chain accepts definitions of at most 24,576 bytes"
    ):
        publish(larger, Custody.of(larger).pin(larger), Sender(rpc, CUSTODIAN), WORKER.address)
    assert ledgers(rpc) == before
    assert not Custody.of(larger).folder.exists()


def test_what_still_waits_for_a_block_is_not_published_twice(
    rpc: Rpc, wire: Wire, catalogue: Catalogue, data: Pinned
) -> None:
    before = ledgers(rpc)
    rpc.call("evm_setAutomine", False)
    crash_while_publishing("send", wire, catalogue, data)
    rpc.call("anvil_setIntervalMining", 1)
    try:
        contract = publish(catalogue, data, Sender(rpc, CUSTODIAN), WORKER.address)
    finally:
        rpc.call("anvil_setIntervalMining", 0)
        rpc.call("evm_setAutomine", True)
    assert ledgers(rpc) - before == {contract.address.lower()}


def test_a_nonce_that_something_else_used_leads_to_another_address(
    rpc: Rpc, wire: Wire, catalogue: Catalogue, data: Pinned
) -> None:
    before = ledgers(rpc)
    crash_while_publishing("sign", wire, catalogue, data)
    intended = Intent.read(Custody.of(catalogue).intent_file)
    assert intended is not None
    other = Sender(rpc, CUSTODIAN)
    other.wait(other.send(NOWHERE, "0x"))
    contract = publish(catalogue, data, Sender(rpc, CUSTODIAN), WORKER.address)
    assert contract.address.lower() != intended.address
    assert ledgers(rpc) - before == {contract.address.lower()}


def test_another_contract_at_the_intended_address_is_not_taken_for_ours(
    rpc: Rpc, wire: Wire, catalogue: Catalogue, data: Pinned
) -> None:
    crash_while_publishing("sign", wire, catalogue, data)
    other = Sender(rpc, CUSTODIAN)
    other.wait(other.send(None, "0x6001600c60003960016000f300"))
    contract = publish(catalogue, data, Sender(rpc, CUSTODIAN), WORKER.address)
    assert contract.terms().epsilon == 8


def test_another_key_or_chain_must_not_publish_a_second_one(
    rpc: Rpc, wire: Wire, catalogue: Catalogue, data: Pinned, monkeypatch: pytest.MonkeyPatch
) -> None:
    crash_while_publishing("sign", wire, catalogue, data)
    with pytest.raises(NotAllowed, match="continue with that key"):
        publish(catalogue, data, Sender(rpc, ANALYST), WORKER.address)
    monkeypatch.setattr(rpc, "chain_id", 5)
    with pytest.raises(ChainMismatch, match="finish it there first"):
        publish(catalogue, data, Sender(rpc, CUSTODIAN), WORKER.address)


def test_other_terms_than_those_that_were_published_are_refused(
    rpc: Rpc, wire: Wire, catalogue: Catalogue, data: Pinned
) -> None:
    crash_while_publishing("confirm", wire, catalogue, data)
    catalogue.file.write_text(CATALOGUE.replace("epsilon = 8", "epsilon = 9"))
    with pytest.raises(DataMismatch, match="with other terms"):
        publish(read_catalogue(catalogue.file), data, Sender(rpc, CUSTODIAN), WORKER.address)


def test_a_spoiled_note_is_not_guessed_at(rpc: Rpc, wire: Wire, catalogue: Catalogue, data: Pinned) -> None:
    crash_while_publishing("sign", wire, catalogue, data)
    Custody.of(catalogue).intent_file.write_text("{")
    with pytest.raises(InvalidInput, match="check whether"):
        publish(catalogue, data, Sender(rpc, CUSTODIAN), WORKER.address)


@pytest.mark.parametrize("moment", ["sign", "send", "confirm"])
def test_after_a_crash_nobody_finds_an_open_ledger_that_should_be_by_invitation(
    moment: str, rpc: Rpc, wire: Wire, catalogue: Catalogue, data: Pinned
) -> None:
    """Publishing an open ledger crashed; the custodian thinks better of it, and asks for one by invitation."""
    before = ledgers(rpc)
    assert catalogue.access is Access.OPEN
    crash_while_publishing(moment, wire, catalogue, data)
    catalogue.file.write_text(CATALOGUE.replace('access = "open"', ""))
    later = read_catalogue(catalogue.file)
    if moment == "sign":
        # Nothing had been sent, so it becomes what it should be.
        assert publish(later, data, Sender(rpc, CUSTODIAN), WORKER.address).terms().requires_allowance
        assert len(ledgers(rpc) - before) == 1
        return
    with pytest.raises(DataMismatch, match="restore epsilon, delta, neighbours and access in the catalogue"):
        publish(later, data, Sender(rpc, CUSTODIAN), WORKER.address)
    # The open one is there for ever, but nobody is told of it.
    assert Custody.of(catalogue).read_ledger_file() is None
    assert len(ledgers(rpc) - before) == 1


@pytest.mark.parametrize("moment", ["sign", "send", "confirm"])
def test_a_crash_never_leads_to_an_open_ledger(
    moment: str, rpc: Rpc, wire: Wire, catalogue: Catalogue, data: Pinned
) -> None:
    before = ledgers(rpc)
    catalogue.file.write_text(CATALOGUE.replace('access = "open"', ""))
    silent = read_catalogue(catalogue.file)
    crash_while_publishing(moment, wire, silent, data)
    for address in ledgers(rpc) - before:  # already there, and nobody can ask
        assert PrivacyLedgerContract(rpc, address).terms().requires_allowance
    assert publish(silent, data, Sender(rpc, CUSTODIAN), WORKER.address).terms().requires_allowance


def test_a_ledger_is_not_taken_for_that_of_other_data(rpc: Rpc, catalogue: Catalogue, data: Pinned) -> None:
    """As many people, one of them with another age: the ledger that was published is not theirs."""
    sender = Sender(rpc, CUSTODIAN)
    contract = publish(catalogue, data, sender, WORKER.address)
    found = find(catalogue, data, sender)
    assert found is not None
    assert found.address == contract.address
    people = catalogue.file.with_name("people.csv")
    people.write_text(people.read_text().replace("61,", "62,", 1))
    other = Custody.of(catalogue).pin(catalogue)
    with pytest.raises(DataMismatch, match="not published with the data that is now in"):
        find(catalogue, other, sender)
    with pytest.raises(DataMismatch):
        publish(catalogue, other, sender, WORKER.address)


def test_two_that_publish_the_same_data_at_the_same_moment_do_not_make_two_promises(
    rpc: Rpc, catalogue: Catalogue, data: Pinned
) -> None:
    """Without a lock both look before either has entered its promise."""
    other = read_catalogue(Path(shutil.copy(catalogue.file, catalogue.file.with_name("other.toml"))))
    both = [(catalogue, data, CUSTODIAN), (other, Custody.of(other).pin(other), ANALYST)]
    before, barrier = ledgers(rpc), Barrier(2)

    def publish_one(one: Catalogue, pinned: Pinned, key: Key) -> str:
        barrier.wait()
        try:
            return publish(one, pinned, Sender(rpc, key), WORKER.address).address
        except PublishedBefore:
            return ""

    with ThreadPoolExecutor(2) as pool:
        found = sorted(pool.map(lambda given: publish_one(*given), both))
    assert found[0] == ""
    assert ledgers(rpc) - before == {found[1].lower()}
