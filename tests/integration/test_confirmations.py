"""Up to which block things count: behind the newest one, and where a chain has no final block."""

# ruff: noqa: F401, F811 - fixtures are imported by name
from __future__ import annotations

import json
import os
import signal
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import closing
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from command import Runner, bare_environment
from integration.conftest import WORKER, as_seen_by
from integration.proxies import Proxy, proxies
from integration.test_endpoints import COMMAND, _until
from integration.test_worker import OVER_60, buy, catalogue, data, published
from noiseledger.auditing import audit
from noiseledger.chain import PrivacyLedgerContract, Rpc, Sender, local_chain
from noiseledger.chain.heads import find_heads
from noiseledger.chain.rpc import Call
from noiseledger.custodian import Custody, Worker
from noiseledger.custodian.health import Health
from noiseledger.custodian.recover import recover
from noiseledger.custodian.service import Service
from noiseledger.data.catalogue import Catalogue
from noiseledger.data.pinned import Pinned
from noiseledger.errors import ChainUnreachable, InvalidInput
from noiseledger.progress import ProgressEvent, Waiting

HALF = Fraction(1, 2)


@pytest.fixture
def turns(rpc: Rpc) -> Iterator[Rpc]:
    """The chain as if its validators took turns: it knows no final block."""
    with proxies(rpc.url, 1) as (proxy,), Rpc(proxy.url) as connection:
        proxy.has_finality = False
        yield connection


def test_blocks_behind_the_newest(rpc: Rpc) -> None:
    rpc.call("anvil_mine", "0x5")
    found = find_heads(rpc, "latest-3", ("net_version", []))
    assert found.final is not None
    assert found.newest.number - found.final.number == 3
    assert found.more == ["31337"]
    assert find_heads(rpc, "latest-100000").final is None
    assert find_heads(rpc, found.final.hash).final == found.final
    assert find_heads(rpc, found.final.number).final == found.final


def test_a_chain_without_final_blocks(turns: Rpc) -> None:
    assert find_heads(turns, "finalized").final is None
    assert find_heads(turns, "safe").final is None
    assert find_heads(turns, "latest").final is not None


def test_both_blocks_are_of_one_chain(rpc: Rpc, monkeypatch: pytest.MonkeyPatch) -> None:
    rpc.call("anvil_mine", "0x5")
    batch, left = rpc.batch, [2]

    def restless(calls: Sequence[Call]) -> list[Any]:
        found = batch(calls)
        if left[0]:
            left[0] -= 1
            batch([("anvil_reorg", [4, []])])
        return found

    monkeypatch.setattr(rpc, "batch", restless)
    found = find_heads(rpc, "latest-1")
    assert found.final is not None
    newest = batch([("eth_getBlockByHash", [found.newest.hash, False])])[0]
    assert newest["parentHash"] == found.final.hash
    left[0] = 1000
    with pytest.raises(ChainUnreachable, match="changes faster"):
        find_heads(rpc, "latest-1")


def test_a_worker_waits_for_three_blocks_more(
    rpc: Rpc, published: PrivacyLedgerContract, catalogue: Catalogue, data: Pinned
) -> None:
    with closing(Custody.of(catalogue).journal(data)) as journal:
        worker = Worker(as_seen_by(WORKER, published), journal, head="latest-3")
        buy(published, OVER_60, "0.5")
        for _ in range(3):
            assert worker.step().receipts == []
            rpc.call("anvil_mine", "0x1")
        assert len(worker.step().receipts) == 1
        assert published.meter(OVER_60.identifier).revealed == HALF


def test_a_worker_says_that_there_is_no_final_block(
    turns: Rpc, published: PrivacyLedgerContract, catalogue: Catalogue, data: Pinned
) -> None:
    heard: list[ProgressEvent] = []
    contract = PrivacyLedgerContract(turns, published.address, Sender(turns, WORKER))
    with closing(Custody.of(catalogue).journal(data)) as journal:
        service = Service(journal, [heard.append], Health())
        worker = Worker(contract, journal, listener=service.notify)
        buy(published, OVER_60, "0.5")
        for _ in range(2):
            assert service.step(worker).receipts == []
        assert [event.reason for event in heard if isinstance(event, Waiting)] == [
            "This chain has no finalized block. If the chain is new, wait; a Proof-of-Authority chain never has "
            "one: use latest-3 instead, which is three blocks behind the newest."
        ]
        assert service.health.report()["last_error"] == "NoHead"
        assert not service.health.is_ok
        assert "last error NoHead" in service.health.line()
        service.step(Worker(contract, journal, "latest-1", listener=service.notify))
        assert service.health.is_ok


def test_nothing_is_recovered_by_a_block_that_is_not_there(
    turns: Rpc, published: PrivacyLedgerContract, catalogue: Catalogue, data: Pinned
) -> None:
    """As if nothing had been bought, nothing would be closed, and the lost worker may have answered it."""
    buy(published, OVER_60, "0.5")
    Custody.of(catalogue).journal_file.unlink()
    for head in ("finalized", "safe", "latest-100000"):
        with pytest.raises(ChainUnreachable, match=f"has no (block )?{head}"):
            recover(catalogue, data, turns, head)
    turns.call("anvil_mine", "0x1")
    assert list(recover(catalogue, data, turns, "latest-1").closed) == [OVER_60]
    assert recover(catalogue, data, turns, "latest-2").closed == {}


def test_an_audit_of_a_block_behind_the_newest(
    turns: Rpc, published: PrivacyLedgerContract, catalogue: Catalogue
) -> None:
    buy(published, OVER_60, "0.5")
    file = Custody.of(catalogue).ledger_file
    now, before = (audit(file, rpc=turns.url, block=block) for block in ("latest", "latest-1"))
    assert now.passed
    assert before.passed
    assert (now.spent, before.spent, now.block - before.block) == (HALF, 0, 1)
    with pytest.raises(ChainUnreachable, match="use latest-3 instead"):
        audit(file, rpc=turns.url, block="finalized")
    with pytest.raises(InvalidInput, match="not a valid block name"):
        audit(file, rpc=turns.url, block="newest")


def test_the_commands_say_what_to_do(
    turns: Rpc,
    published: PrivacyLedgerContract,
    catalogue: Catalogue,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    bare_environment(monkeypatch, tmp_path)
    monkeypatch.setenv("NOISELEDGER_KEY", local_chain.PLAY_KEYS[1])
    monkeypatch.setenv("NOISELEDGER_RPC", turns.url)
    run = Runner(monkeypatch, capsys)
    buy(published, OVER_60, "0.5")
    file, ledger = str(catalogue.file), str(Custody.of(catalogue).ledger_file)
    assert "use latest-3 instead" in run("work", file, "--once").out
    for words in (("work", file, "--head"), ("recover", file, "--head"), ("web", ledger, "--head")):
        assert "--head 'newest' is not a valid block name" in run(*words, "newest").err
    assert "--block 'newest' is not a valid block name" in run("audit", ledger, "--block", "newest").err
    turns.call("evm_increaseTime", 600)
    turns.call("anvil_mine", "0x1")
    assert "Revealed in block" in run("work", file, "--once", "--head", "latest-1").out
