"""A journal is lost: what the chain has is taken over, what may have been said is never said again."""

# ruff: noqa: F401, F811 - fixtures are imported by name
from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from integration.conftest import CUSTODIAN, WORKER, as_seen_by
from integration.test_worker import (
    OVER_30,
    OVER_60,
    TOWNS,
    Crash,
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
from noiseledger.chain import PrivacyLedgerContract, Rpc, Sender
from noiseledger.chain.rpc import Call
from noiseledger.core.query import Query
from noiseledger.custodian import Custody, Worker
from noiseledger.custodian.closed import still_sold, stop_selling
from noiseledger.custodian.governance import connect_custodian
from noiseledger.custodian.publish import find, propose, publish
from noiseledger.custodian.recover import recover
from noiseledger.data.catalogue import Catalogue, read_catalogue
from noiseledger.data.pinned import Pinned
from noiseledger.errors import (
    AnswerPending,
    ChainMismatch,
    DataMismatch,
    InvalidInput,
    JournalLost,
    LedgerError,
    LedgerExists,
    LedgerPaused,
    QueryClosed,
)

Start = Callable[[], Worker]
HALF = Fraction(1, 2)
OVER_60_ENTRY = '[queries.over_60]\nmeasure = "share"\nwhere = "age > 60"\n'


@pytest.fixture
def custody(catalogue: Catalogue) -> Custody:
    return Custody.of(catalogue)


def test_what_the_chain_has_goes_on_and_the_rest_is_closed(
    published: PrivacyLedgerContract, start: Start, wire: Wire, rpc: Rpc, catalogue: Catalogue, data: Pinned
) -> None:
    for precision in ("0.25", "0.5"):
        buy(published, OVER_60, precision)
        buy(published, TOWNS, precision)
        start().step()
    buy(published, TOWNS, "0.75")
    wire.crash = "sign"  # drawn and perhaps broadcast: nobody can know
    with pytest.raises(Crash):
        start().step()
    wire.crash = None
    custody = Custody.of(catalogue)
    custody.journal_file.unlink()
    recovery = recover(catalogue, data, rpc)
    assert recovery.known == {OVER_60: HALF, TOWNS: HALF, OVER_30: 0}
    assert recovery.closed == {TOWNS: Fraction(3, 4)}
    assert not custody.journal_file.exists()  # nothing counts yet
    recovery.carry_out()
    journal = custody.journal(data)
    assert journal.budget().spent == published.spent() == HALF + Fraction(3, 4)
    assert journal.known_point(OVER_60, Fraction(1, 4)) is not None
    journal.close()
    buy(published, OVER_60, "0.75")
    buy(published, OVER_30, "0.25")
    step = start().step()
    assert set(step.refused) == {TOWNS.identifier}
    assert isinstance(step.refused[TOWNS.identifier], QueryClosed)
    assert published.meter(OVER_60.identifier).revealed == Fraction(3, 4)
    assert published.meter(OVER_30.identifier).revealed == Fraction(1, 4)
    assert published.meter(TOWNS.identifier).revealed == HALF
    buy(published, TOWNS, "1")  # for ever: also beyond
    assert set(start().step().refused) == {TOWNS.identifier}
    check_promise(wire, published.terms().budget)


def test_what_is_closed_is_not_sold_and_never_sold_again_from_anywhere(
    published: PrivacyLedgerContract, rpc: Rpc, catalogue: Catalogue, data: Pinned, custody: Custody, tmp_path: Path
) -> None:
    for query in (OVER_60, TOWNS):
        buy(published, query, "0.5")
    custody.journal_file.unlink()
    recovery = recover(catalogue, data, rpc)
    closed = [query.identifier for query in recovery.closed]
    assert still_sold(published, closed) == closed == [OVER_60.identifier, TOWNS.identifier]
    as_custodian = as_seen_by(CUSTODIAN, published)
    as_custodian.pause_query(TOWNS.identifier, paused=True)
    assert still_sold(published, closed) == [OVER_60.identifier]
    stop_selling(as_custodian, [OVER_60.identifier])
    assert still_sold(published, closed) == []
    recovery.carry_out()
    with pytest.raises(LedgerPaused, match="this query"):
        buy(published, OVER_60, "0.75")
    elsewhere = Path(shutil.copy(custody.ledger_file, tmp_path / "elsewhere.json"))
    for ledger, error, why in (
        (custody.ledger_file, QueryClosed, "must not be sold, because it is not answered: a lost journal may"),
        (elsewhere, AnswerPending, "bought and is not answered since .* It must not be sold again before that"),
        (published.address, AnswerPending, "bought and is not answered since"),
    ):
        with connect_custodian(ledger, rpc=rpc.url, key=CUSTODIAN) as custodian:
            for identifier in (OVER_60.identifier, TOWNS.identifier[:12]):
                with pytest.raises(error, match=why):
                    custodian.resume(identifier)
            assert custodian.pause().transaction
            # Sales of everything can resume, since these queries are paused by themselves.
            assert custodian.resume().transaction
    assert not published.paused()
    assert still_sold(published, closed) == []


def test_sales_of_everything_do_not_resume_while_a_closed_query_would_be_sold(
    published: PrivacyLedgerContract, rpc: Rpc, catalogue: Catalogue, data: Pinned, custody: Custody, tmp_path: Path
) -> None:
    buy(published, TOWNS, "0.5")
    custody.journal_file.unlink()
    recover(catalogue, data, rpc).carry_out()
    with connect_custodian(custody.ledger_file, rpc=rpc.url, key=CUSTODIAN) as custodian:
        assert "0 requests are waiting; 1 more cannot be answered" in custodian.propose_close().says[-1]
        assert custodian.propose_close().warnings == ()
        custodian.pause()
        with pytest.raises(QueryClosed, match=r"First stop selling it by itself: noiseledger pause --query towns\."):
            custodian.resume()
    # On another machine, nobody can know whether the worker will answer; this is said.
    with connect_custodian(published.address, rpc=rpc.url, key=CUSTODIAN) as custodian:
        (warning,) = custodian.propose_resume().warnings
        assert "bought and is not answered since" in warning
        assert f"noiseledger pause --query {TOWNS.identifier[:12]}." in warning
        assert "1 request is waiting" in custodian.propose_close().says[-1]
        custodian.pause(TOWNS.identifier)
        assert custodian.propose_resume().warnings == ()
    with connect_custodian(custody.ledger_file, rpc=rpc.url, key=CUSTODIAN) as custodian:
        custodian.resume()
        # In an emergency, a journal that cannot be read stops nobody from pausing.
        custody.journal_file.write_text("spoiled " * 1000)
        assert custodian.pause().transaction
        assert custodian.propose_close().is_needed


def test_a_query_is_sold_again_once_it_is_answered(
    published: PrivacyLedgerContract, start: Start, rpc: Rpc, custody: Custody
) -> None:
    buy(published, OVER_60, "0.5")
    with connect_custodian(published.address, rpc=rpc.url, key=CUSTODIAN) as custodian:
        custodian.pause(OVER_60.identifier)
        with pytest.raises(AnswerPending):
            custodian.resume(OVER_60.identifier)
        start().step()
        assert custodian.resume(OVER_60.identifier).transaction
    buy(published, OVER_60, "0.75")


def test_the_lost_journals_own_transaction_may_still_arrive(
    published: PrivacyLedgerContract, start: Start, wire: Wire, rpc: Rpc, catalogue: Catalogue, data: Pinned
) -> None:
    buy(published, OVER_60, "0.5")
    rpc.call("evm_setAutomine", False)
    try:
        wire.crash = "send"
        with pytest.raises(Crash):
            start().step()
        wire.crash = None
        Custody.of(catalogue).journal_file.unlink()
        recovery = recover(catalogue, data, rpc)
        assert recovery.in_no_block == 1
        assert recovery.closed == {OVER_60: HALF}
        recovery.carry_out()
        with closing(Custody.of(catalogue).journal(None)) as journal:
            # What waits is accounted for by what is closed, so the worker need not wait for it.
            assert journal.sent_nonces(WORKER.address) == int(
                rpc.call("eth_getTransactionCount", WORKER.address, "pending"), 16
            )
        rpc.call("evm_mine")
    finally:
        rpc.call("evm_setAutomine", True)
    worker = start()
    assert worker.step().refused == {}
    buy(published, OVER_60, "0.75")  # all that was bought is known again
    worker.step()
    check_all_answered(published)
    check_promise(wire, published.terms().budget)


def test_an_old_copy_keeps_what_it_knows(
    published: PrivacyLedgerContract, start: Start, wire: Wire, rpc: Rpc, catalogue: Catalogue, data: Pinned
) -> None:
    custody = Custody.of(catalogue)
    buy(published, TOWNS, "0.5")
    wire.crash = "sign"
    with pytest.raises(Crash):
        start().step()  # drawn, not on the chain
    wire.crash = None
    copy = shutil.copy(custody.journal_file, custody.folder / "copy")
    buy(published, OVER_60, "0.5")
    start().step()
    shutil.move(copy, custody.journal_file)
    with pytest.raises(DataMismatch, match="noiseledger recover"):
        start().step()
    recovery = recover(catalogue, data, rpc)
    assert recovery.closed == {}
    old = custody.journal_file.read_bytes()
    recovery.carry_out()
    assert (
        (custody.folder / "journal.ledger.before-recovery-1").read_bytes() == old != custody.journal_file.read_bytes()
    )
    assert custody.journal_file.stat().st_mode & 0o777 == 0o600
    assert not recovery.new_file.exists()
    start().step()
    check_all_answered(published)
    check_promise(wire, published.terms().budget)


def test_an_old_copy_learns_the_queries_that_came_later(
    published: PrivacyLedgerContract, start: Start, rpc: Rpc, catalogue: Catalogue, data: Pinned
) -> None:
    custody = Custody.of(catalogue)
    copy = shutil.copy(custody.journal_file, custody.folder / "copy")
    with catalogue.file.open("a") as stream:
        stream.write('[queries.over_40]\nmeasure = "share"\nwhere = "age > 40"\n')
    longer, added = read_catalogue(catalogue.file), Query.share("age > 40")
    more = custody.pin(longer)
    publish(longer, more, Sender(rpc, CUSTODIAN), WORKER.address)
    buy(published, added, "0.5")
    with closing(custody.journal(more)) as journal:
        Worker(as_seen_by(WORKER, published), journal, head="latest").step()
    shutil.move(copy, custody.journal_file)
    recovery = recover(longer, more, rpc)
    assert recovery.known[added] == HALF
    assert recovery.closed == {}
    recovery.carry_out()
    buy(published, added, "1")
    with closing(custody.journal(more)) as journal:
        Worker(as_seen_by(WORKER, published), journal, head="latest").step()
    assert published.meter(added.identifier).revealed == 1


def test_a_final_head_closes_less(
    published: PrivacyLedgerContract, start: Start, rpc: Rpc, catalogue: Catalogue, data: Pinned
) -> None:
    before = int(rpc.call("eth_blockNumber"), 16)
    buy(published, OVER_60, "0.5")
    Custody.of(catalogue).journal_file.unlink()
    assert set(recover(catalogue, data, rpc).closed) == {OVER_60}
    assert recover(catalogue, data, rpc, head=before).closed == {}
    assert recover(catalogue, data, rpc, head=0).closed == {}


def test_a_journal_that_is_whole_is_not_rebuilt(
    published: PrivacyLedgerContract, start: Start, rpc: Rpc, catalogue: Catalogue, data: Pinned
) -> None:
    buy(published, OVER_60, "0.5")
    start().step()
    with pytest.raises(LedgerExists, match="nothing to recover"):
        recover(catalogue, data, rpc)


def test_a_running_worker_notices_that_its_journal_was_replaced(
    published: PrivacyLedgerContract, start: Start, wire: Wire, rpc: Rpc, catalogue: Catalogue, data: Pinned
) -> None:
    old = start()
    Custody.of(catalogue).journal_file.unlink()
    recover(catalogue, data, rpc).carry_out()
    buy(published, OVER_60, "0.5")
    with pytest.raises(LedgerError, match="removed or replaced"):
        old.step()
    assert wire.sent == []


def test_without_the_name_nothing_can_be_recovered(
    published: PrivacyLedgerContract, rpc: Rpc, catalogue: Catalogue, data: Pinned, custody: Custody
) -> None:
    assert custody.identity_file.stat().st_mode & 0o777 == 0o600
    custody.journal_file.unlink()
    custody.identity_file.rename(custody.folder / "hidden")
    with pytest.raises(JournalLost, match=r"journal\.identity is missing too"):
        recover(catalogue, data, rpc)
    custody.identity_file.write_text("ab" * 32)
    custody.identity_file.chmod(0o600)
    with pytest.raises(DataMismatch, match=r"journal's name in .* is not what the ledger was published with"):
        recover(catalogue, data, rpc)


def test_a_file_that_is_no_journal_or_anothers_is_left_alone(
    published: PrivacyLedgerContract, rpc: Rpc, catalogue: Catalogue, data: Pinned, custody: Custody
) -> None:
    custody.journal_file.write_text("spoiled " * 1000)
    with pytest.raises(LedgerError, match="Move it out of the folder"):
        recover(catalogue, data, rpc)
    assert custody.journal_file.read_text().startswith("spoiled")


def test_a_chain_or_endpoint_that_does_not_add_up_is_refused(
    published: PrivacyLedgerContract,
    start: Start,
    rpc: Rpc,
    catalogue: Catalogue,
    data: Pinned,
    custody: Custody,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    buy(published, OVER_60, "0.5")
    start().step()
    custody.journal_file.unlink()
    original = rpc.batch

    def forgetful(calls: Sequence[Call]) -> list[Any]:
        found = original(calls)
        return [r[:-1] if method == "eth_getLogs" else r for (method, _), r in zip(calls, found, strict=True)]

    monkeypatch.setattr(rpc, "batch", forgetful)
    with pytest.raises(ChainMismatch, match="do not add up"):
        recover(catalogue, data, rpc)
    monkeypatch.undo()
    monkeypatch.setattr(rpc, "chain_id", 5)
    with pytest.raises(ChainMismatch, match="this is chain 5"):
        recover(catalogue, data, rpc)


def test_only_the_ledgers_own_blocks_are_read_and_they_must_contain_every_sold_query(
    rpc: Rpc,
    catalogue: Catalogue,
    data: Pinned,
    custody: Custody,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A public chain has millions of blocks before the ledger's first one; a block that is too high hides sold queries."""
    rpc.call("anvil_mine", hex(200))
    published = publish(catalogue, data, Sender(rpc, CUSTODIAN), WORKER.address)
    buy(published, OVER_60, "0.5")
    custody.journal_file.unlink()
    known = custody.read_ledger_file()
    assert known is not None
    original, read = rpc.batch, list[int]()

    def listening(calls: Sequence[Call]) -> list[Any]:
        read.extend(int(params[0]["fromBlock"], 16) for method, params in calls if method == "eth_getLogs")
        return original(calls)

    monkeypatch.setattr(rpc, "batch", listening)
    recover(catalogue, data, rpc).drop()
    assert min(read) == known.block > 0
    later = published.newest().number
    replace(known, block=later).write(custody.ledger_file)
    catalogue.file.write_text(catalogue.file.read_text().replace(OVER_60_ENTRY, ""))
    with pytest.raises(ChainMismatch, match=f"from block {later} on do not add up"):
        recover(read_catalogue(catalogue.file), data, rpc)


def test_without_a_ledger_there_is_nothing_to_recover(rpc: Rpc, catalogue: Catalogue, data: Pinned) -> None:
    with pytest.raises(InvalidInput, match="no journal belongs"):
        recover(catalogue, data, rpc)


def test_publishing_again_never_makes_a_second_journal(
    published: PrivacyLedgerContract, catalogue: Catalogue, data: Pinned, custody: Custody
) -> None:
    custody.journal_file.unlink()
    with pytest.raises(JournalLost, match="noiseledger recover"):
        custody.prepare(catalogue, data)
    assert not custody.journal_file.exists()


def test_a_journal_that_was_replaced_never_answers_again(
    published: PrivacyLedgerContract, start: Start, rpc: Rpc, catalogue: Catalogue, data: Pinned, custody: Custody
) -> None:
    buy(published, OVER_60, "0.5")
    start().step()
    lost = custody.folder.parent / "lost"
    custody.journal_file.rename(lost)
    recover(catalogue, data, rpc).carry_out()
    rebuilt = custody.journal_file.read_bytes()
    # The chain has nothing that the lost journal lacks, so only the registers can tell.
    shutil.copy(lost, custody.journal_file)
    sender = Sender(rpc, CUSTODIAN)
    for act in (find, propose, publish):
        with pytest.raises(DataMismatch, match=r"noiseledger recover replaced it: it must never answer again"):
            act(catalogue, data, sender)
    with pytest.raises(DataMismatch, match="move this one out of the folder"):
        recover(catalogue, data, rpc)
    # One register is enough, whichever is left.
    shutil.rmtree(custody.folder.parent / ".noiseledger")
    with pytest.raises(DataMismatch, match="must never answer again"):
        find(catalogue, data, sender)
    # The rebuilt one goes on, as does one that is rebuilt once more, without anything of the lost one.
    custody.journal_file.write_bytes(rebuilt)
    assert publish(catalogue, data, sender).address == published.address
    custody.journal_file.unlink()
    recover(catalogue, data, rpc).carry_out()
    assert find(catalogue, data, sender) is not None
    custody.journal_file.write_bytes(rebuilt)
    with pytest.raises(DataMismatch, match="must never answer again"):
        find(catalogue, data, sender)


def test_a_recovery_that_was_not_carried_out_replaces_nothing(
    published: PrivacyLedgerContract, rpc: Rpc, catalogue: Catalogue, data: Pinned, custody: Custody
) -> None:
    kept = custody.journal_file.read_bytes()
    custody.journal_file.unlink()
    recover(catalogue, data, rpc).drop()
    custody.journal_file.write_bytes(kept)
    assert find(catalogue, data, Sender(rpc, CUSTODIAN)) is not None


def test_nothing_is_added_to_an_old_copy(
    published: PrivacyLedgerContract, start: Start, rpc: Rpc, catalogue: Catalogue, data: Pinned, custody: Custody
) -> None:
    old = custody.journal_file.read_bytes()
    buy(published, OVER_60, "0.5")
    start().step()
    custody.journal_file.write_bytes(old)
    more = '[queries.over_40]\nmeasure = "share"\nwhere = "age > 40"\n'
    catalogue.file.write_text(catalogue.file.read_text() + more)
    later = read_catalogue(catalogue.file)
    with pytest.raises(DataMismatch, match="it is an old copy"):
        publish(later, custody.pin(later), Sender(rpc, CUSTODIAN))
    assert custody.journal_file.read_bytes() == old


def test_a_copy_from_before_a_query_was_added_is_an_old_one(
    published: PrivacyLedgerContract, start: Start, rpc: Rpc, catalogue: Catalogue, data: Pinned, custody: Custody
) -> None:
    old = custody.journal_file.read_bytes()
    more = '[queries.over_40]\nmeasure = "share"\nwhere = "age > 40"\n'
    catalogue.file.write_text(catalogue.file.read_text() + more)
    later = read_catalogue(catalogue.file)
    data = custody.pin(later)
    publish(later, data, Sender(rpc, CUSTODIAN))
    over_40 = next(entry.query for entry in later.entries if entry.name == "over_40")
    buy(published, over_40, "0.5")
    with closing(custody.journal(data)) as journal:
        Worker(published.signed_by(Sender(rpc, WORKER)), journal, "latest").step()
    custody.journal_file.write_bytes(old)
    with pytest.raises(DataMismatch, match="it is an old copy"):
        propose(later, data, Sender(rpc, CUSTODIAN))
