"""What a worker refuses, what it waits out, and that one bad query stops no other."""

# ruff: noqa: F401, F811 - fixtures are imported by name
from __future__ import annotations

import time
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import pytest

from integration.conftest import ANALYST, CUSTODIAN, WORKER, as_seen_by
from integration.test_worker import (
    OVER_30,
    OVER_60,
    TOWNS,
    Wire,
    broadcast,
    buy,
    catalogue,
    check_all_answered,
    check_promise,
    data,
    published,
    start,
    wire,
)
from noiseledger.chain import ContractReveal, PrivacyLedgerContract, Rpc, Sender, Terms, encode_request, sender
from noiseledger.core.query import Query
from noiseledger.custodian import Custody, Worker
from noiseledger.custodian.worker import Step, Stretch
from noiseledger.data.catalogue import Catalogue
from noiseledger.errors import (
    ChainMismatch,
    DataMismatch,
    InvalidInput,
    LedgerFull,
    LedgerRefused,
    NoiseledgerError,
    NotAllowed,
    QueryClosed,
    TransactionPending,
)
from noiseledger.ledger import LocalLedger
from noiseledger.progress import Confirmed, Drawn, Looked, ProgressEvent, TransactionSent

Start = Callable[[], Worker]


def drawn(worker: Worker) -> int:
    return len(list(worker._journal.records()))


def test_a_key_that_is_no_longer_the_workers_draws_nothing(published: PrivacyLedgerContract, start: Start) -> None:
    worker = start()
    buy(published, OVER_60, "0.5")
    published.change_worker(ANALYST.address)
    with pytest.raises(NotAllowed, match="The ledger's worker is"):
        worker.step()
    assert drawn(worker) == 0
    published.change_worker(WORKER.address)
    worker.step()
    check_all_answered(published)


def test_a_chain_that_began_anew_is_refused(rpc: Rpc, published: PrivacyLedgerContract, start: Start) -> None:
    worker = start()
    buy(published, OVER_60, "0.5")
    code = rpc.call("eth_getCode", published.address, "latest")
    rpc.call("anvil_setCode", published.address, "0x")
    with pytest.raises(ChainMismatch, match="no longer at"):
        worker.step()
    assert drawn(worker) == 0
    rpc.call("anvil_setCode", published.address, code)
    worker.step()
    check_all_answered(published)


@pytest.mark.parametrize("code", ["0x60006000fd", "0x60206000f3", "0x60016000526020 6000f3".replace(" ", "")])
def test_another_contract_at_the_address_is_refused(
    code: str, rpc: Rpc, published: PrivacyLedgerContract, start: Start
) -> None:
    """One that reverts, one that returns a zero, one that returns a number: whatever it is asked."""
    worker = start()
    buy(published, OVER_60, "0.5")
    rpc.call("anvil_setCode", published.address, code)
    with pytest.raises(ChainMismatch, match="no longer at"):
        worker.step()
    assert drawn(worker) == 0


def test_a_ledger_with_other_terms_at_the_address_is_refused(
    rpc: Rpc, published: PrivacyLedgerContract, start: Start
) -> None:
    worker = start()
    buy(published, OVER_60, "0.5")
    terms = published.terms()
    other = Terms(bytes(32), terms.population, terms.budget, terms.epsilon, terms.delta)
    there = PrivacyLedgerContract.deploy(Sender(rpc, CUSTODIAN), other, WORKER.address)
    rpc.call("anvil_setCode", published.address, rpc.call("eth_getCode", there.address, "latest"))
    with pytest.raises(ChainMismatch, match="no longer at"):
        worker.step()
    assert drawn(worker) == 0


def test_requests_that_meet_are_one_stretch(published: PrivacyLedgerContract, start: Start) -> None:
    buy(published, OVER_60, "0.25")
    buy(published, OVER_60, "0.5")
    assert start().pending() == [Stretch(OVER_60, Fraction(0), Fraction(1, 2))]


def test_a_stretch_whose_beginning_the_journal_does_not_know_is_not_drawn(
    published: PrivacyLedgerContract, start: Start
) -> None:
    worker = start()
    with pytest.raises(QueryClosed, match="noiseledger recover"):
        worker._draw(Stretch(OVER_60, Fraction(1, 4), Fraction(1, 2)))
    assert drawn(worker) == 0


def test_a_head_before_the_ledger_has_nothing_to_answer(published: PrivacyLedgerContract, start: Start) -> None:
    """As on a local chain, where the final block is 64 behind."""
    buy(published, OVER_60, "0.5")
    worker = Worker(as_seen_by(WORKER, published), start()._journal, head=0)
    assert worker.step().receipts == []
    assert drawn(worker) == 0


def test_a_retry_leaves_no_trace_in_the_journal(
    published: PrivacyLedgerContract, start: Start, wire: Wire, rpc: Rpc
) -> None:
    buy(published, OVER_60, "0.5")
    before = rpc.call("evm_snapshot")
    worker = start()
    worker.step()
    rpc.call("evm_revert", before)
    worker.step()
    assert drawn(worker) == 1
    assert len(broadcast(wire)) == 2
    check_promise(wire, published.terms().budget)


class Stubborn(Worker):
    """Spoils the increments' number for one query, so that the contract refuses any batch with it."""

    def _draw(self, stretch: Stretch) -> ContractReveal:
        reveal = super()._draw(stretch)
        if stretch.query == TOWNS:
            return ContractReveal(reveal.query, reveal.start, reveal.end, reveal.increments[:1])
        return reveal


def test_a_batch_that_is_refused_is_tried_singly(published: PrivacyLedgerContract, start: Start) -> None:
    for query in (OVER_60, TOWNS, OVER_30):
        buy(published, query, "0.5")
    worker = Stubborn(as_seen_by(WORKER, published), start()._journal, head="latest")
    step = worker.step()
    assert set(step.refused) == {TOWNS.identifier}
    assert isinstance(step.refused[TOWNS.identifier], LedgerRefused)
    assert len(step.receipts) == 2
    assert (
        published.meter(OVER_60.identifier).revealed == published.meter(OVER_30.identifier).revealed == Fraction(1, 2)
    )


class Particular(Worker):
    """Cannot draw for one query, whatever the reason."""

    def _draw(self, stretch: Stretch) -> ContractReveal:
        if stretch.query == OVER_60:
            raise InvalidInput("Too many coordinates.")
        return super()._draw(stretch)


def test_a_query_that_cannot_be_drawn_stops_no_other(published: PrivacyLedgerContract, start: Start) -> None:
    for query in (OVER_60, TOWNS, OVER_30):
        buy(published, query, "0.5")
    step = Particular(as_seen_by(WORKER, published), start()._journal, head="latest").step()
    assert set(step.refused) == {OVER_60.identifier}
    assert len(step.receipts) == 1


def test_nonsense_from_analysts_stops_nobody(published: PrivacyLedgerContract, start: Start) -> None:
    analyst = as_seen_by(ANALYST, published)
    for request in (
        encode_request(Query.share("age > 99").identifier, Fraction(1)),  # of another ledger
        encode_request("ff" * 32, Fraction(1)),
        encode_request(OVER_60.identifier, Fraction(2**110 - 1, 3600 * 10**24)),  # an absurd precision
        encode_request(OVER_60.identifier, Fraction(0)),
    ):
        with pytest.raises(NoiseledgerError):
            analyst.ask([request])
    analyst.ask([encode_request(OVER_60.identifier, Fraction(1, 3600 * 10**24))])  # the least there is
    buy(published, TOWNS, "0.5")
    step = start().step()
    assert step.refused == {}
    check_all_answered(published)


@pytest.mark.parametrize("is_running", [False, True], ids=["after a restart", "while it runs"])
def test_an_old_copy_of_the_journal_is_refused_and_recovery_named(
    published: PrivacyLedgerContract, start: Start, catalogue: Catalogue, is_running: bool
) -> None:
    file = Custody.of(catalogue).journal_file
    old = file.read_bytes()
    buy(published, OVER_60, "0.5")
    worker = start()
    worker.step()
    worker.step()
    file.write_bytes(old)
    buy(published, TOWNS, "0.5")
    with pytest.raises(DataMismatch, match="noiseledger recover"):
        (worker if is_running else start()).step()
    assert LocalLedger.open(file).budget().spent == 0


def test_a_full_disk_sends_nothing_and_passes(published: PrivacyLedgerContract, start: Start, wire: Wire) -> None:
    buy(published, TOWNS, "0.125")
    worker = start()
    worker.step()
    sent = len(wire.sent)
    connection = worker._journal._store._connection
    connection.execute("PRAGMA cache_size = 1")
    pages = connection.execute("PRAGMA page_count").fetchone()[0]
    connection.execute(f"PRAGMA max_page_count = {pages}")
    for precision in range(130, 400):
        buy(published, TOWNS, f"{precision}/1000")
        try:
            worker.step()
        except LedgerFull:
            break
        sent = len(wire.sent)
    else:
        pytest.fail("the journal never filled")
    assert len(wire.sent) == sent
    connection.execute("PRAGMA max_page_count = 1000000")
    worker.step()
    check_all_answered(published)
    check_promise(wire, published.terms().budget)


@pytest.fixture
def hasty(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in (("_RESEND_SECONDS", 0.1), ("_RAISE_SECONDS", 0.1), ("_RAISE_BLOCKS", 1)):
        monkeypatch.setattr(sender, name, value)
    monkeypatch.setattr("noiseledger.custodian.worker.CONFIRM_SECONDS", 0.5)


def restarted(worker: Worker, wire: Wire, patience: float) -> Worker:
    """A new life of the worker: it knows nothing of what was sent before."""
    contract = PrivacyLedgerContract(wire, worker._contract.address, Sender(wire, WORKER))
    return Worker(contract, worker._journal, head="latest", patience=patience)


def test_what_an_earlier_life_left_in_the_pool_is_replaced(
    published: PrivacyLedgerContract, start: Start, wire: Wire, rpc: Rpc, hasty: None
) -> None:
    buy(published, OVER_60, "0.5")
    rpc.call("evm_setAutomine", False)
    try:
        first = start()
        with pytest.raises(TransactionPending):
            first.step()
        before = len(broadcast(wire))
        patient = restarted(first, wire, patience=60)
        assert patient.step().receipts == []  # it may yet be in a block
        assert len(broadcast(wire)) == before
        with pytest.raises(TransactionPending):
            restarted(first, wire, patience=0).step()
        rpc.call("evm_mine")
    finally:
        rpc.call("evm_setAutomine", True)
    check_all_answered(published)
    assert len(set(broadcast(wire))) == 1
    assert len(broadcast(wire)) > before
    check_promise(wire, published.terms().budget)


def test_nothing_is_drawn_while_a_transaction_waits_that_the_journal_does_not_know_of(
    published: PrivacyLedgerContract, start: Start, rpc: Rpc
) -> None:
    buy(published, OVER_60, "0.5")
    worker = start()
    rpc.call("anvil_impersonateAccount", WORKER.address)
    rpc.call("evm_setAutomine", False)
    try:
        rpc.call("eth_sendTransaction", {"from": WORKER.address, "to": WORKER.address, "value": "0x1"})
        assert worker.step() == Step()
        assert list(worker._journal.records()) == []
        rpc.call("evm_mine")
    finally:
        rpc.call("evm_setAutomine", True)
    worker.step()
    check_all_answered(published)


def test_what_is_in_flight_is_waited_for_and_not_sent_again(
    published: PrivacyLedgerContract, start: Start, wire: Wire, rpc: Rpc, hasty: None
) -> None:
    buy(published, OVER_60, "0.5")
    rpc.call("evm_setAutomine", False)
    try:
        worker = start()
        nonce = worker._contract.sender.counts()[0]
        for _ in range(2):
            with pytest.raises(TransactionPending):
                worker.step()
        rpc.call("evm_mine")
        assert len(worker.step().receipts) == 1
    finally:
        rpc.call("evm_setAutomine", True)
    check_all_answered(published)
    assert worker._contract.sender.counts() == (nonce + 1, nonce + 1)


def test_what_is_in_flight_is_not_sent_again_to_a_chain_without_the_ledger(
    published: PrivacyLedgerContract, start: Start, wire: Wire, rpc: Rpc, hasty: None
) -> None:
    buy(published, OVER_60, "0.5")
    rpc.call("evm_setAutomine", False)
    try:
        worker = start()
        with pytest.raises(TransactionPending):
            worker.step()
        rpc.call("anvil_setCode", published.address, "0x")
        before = len(wire.sent)
        with pytest.raises(ChainMismatch):
            worker.step()
        assert len(wire.sent) == before
    finally:
        rpc.call("evm_setAutomine", True)


def test_a_stuck_reveal_gets_through_at_a_higher_fee_as_the_same_bytes(
    published: PrivacyLedgerContract, start: Start, wire: Wire, rpc: Rpc, hasty: None
) -> None:
    buy(published, OVER_60, "0.5")
    worker = start()
    rpc.call("evm_setAutomine", False)
    try:
        with pytest.raises(TransactionPending):
            worker.step()
        rpc.call("anvil_setNextBlockBaseFeePerGas", hex(50 * 10**9))
        rpc.call("evm_mine")  # without it: too cheap
        assert published.meter(OVER_60.identifier).revealed == 0
        rpc.call("anvil_setIntervalMining", 1)
        give_up = time.monotonic() + 30
        while published.meter(OVER_60.identifier).revealed == 0:
            assert time.monotonic() < give_up
            try:
                worker.step()
            except TransactionPending:
                continue
    finally:
        rpc.call("anvil_setIntervalMining", 0)
        rpc.call("evm_setAutomine", True)
        rpc.call("anvil_setNextBlockBaseFeePerGas", hex(10**9))
    assert len(set(broadcast(wire))) == 1
    check_promise(wire, published.terms().budget)


def test_what_happens_is_told_without_any_number_of_an_answer(
    published: PrivacyLedgerContract, start: Start, wire: Wire
) -> None:
    told: list[ProgressEvent] = []
    worker = start()
    worker._notify = told.append
    buy(published, OVER_60, "0.5")
    worker.step()
    assert [type(event) for event in told] == [Looked, Drawn, TransactionSent, Confirmed]
    (_, _, _, increments) = broadcast(wire)[0]
    # What it looked at is left out: its balance in wei is long enough to contain any number by chance.
    assert all(str(increment) not in str(event) for event in told[1:] for increment in increments)
