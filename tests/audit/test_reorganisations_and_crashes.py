"""Ledgers that went through reorganisations and crashes pass, even if the chain is reorganised during the audit."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from fractions import Fraction
from secrets import token_hex
from signal import SIGKILL
from typing import Any

import pytest

from audit.ledger_under_test import NAMES, OVER_60, LedgerUnderTest
from faults.worker import scene as scenes
from faults.worker.moments import MOMENTS
from faults.worker.nursery import Job
from faults.worker.scene import FaultLab, Scene
from faults.worker.schedule import Player, Schedule
from noiseledger.auditing import Report, audit
from noiseledger.auditing import chain as audited_chain
from noiseledger.chain import Rpc
from noiseledger.errors import ChainUnreachable, RpcFailed

SEEDS = (0, 3, 4)
MORE_SEEDS = (1, 2, 5)
FAULTS = {"start_to_be_killed", "kill", "reorganise", "roll_back", "cut_the_wire", "lose_the_journal"}


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[FaultLab]:
    with scenes.lab(tmp_path_factory.mktemp("lab")) as lab:
        yield lab


def audited(scene: Scene) -> Report:
    report = audit(scene.folder.custody / "ledger.json", rpc=scene.chain.url)
    assert report.passed, [str(finding) for finding in report.findings]
    return report


@pytest.mark.parametrize("seed", [*SEEDS, *(pytest.param(seed, marks=pytest.mark.deep) for seed in MORE_SEEDS)])
def test_random_faults_leave_a_ledger_that_passes(seed: int, lab: FaultLab) -> None:
    """Real workers are killed and restarted on a chain that is reorganised."""
    schedule = replace(Schedule.of(seed), forgets=False)
    with lab.scene() as scene:
        Player(scene).play(schedule)
        report = audited(scene)
        assert report.spent == scene.contract.spent()


def test_the_schedules_contain_all_faults() -> None:
    """Otherwise they would test too little."""
    assert {move.name for seed in SEEDS for move in Schedule.of(seed).moves} >= FAULTS


def test_a_worker_killed_at_each_of_its_steps_leaves_a_ledger_that_passes(lab: FaultLab) -> None:
    """Also immediately after the kill, when more is bought than revealed."""
    with lab.scene() as scene:
        for number, moment in enumerate(MOMENTS, 1):
            scene.buy(0, Fraction(number, 16))
            job = Job([], "", "", moment=moment)
            assert scene.start(job=job).process.wait() == -SIGKILL
            audited(scene)
        scene.start()
        assert scene.until(scene.all_answered)
        scene.stop_all()
        report = audited(scene)
    assert report.requests == len(MOMENTS)
    assert 1 <= report.reveals <= len(MOMENTS)


# Reorganisations during an audit.


def drop_and_replace(ledger: LedgerUnderTest) -> None:
    """Replace the last two blocks by empty ones, as two simultaneous miners could."""
    # Of another miner each time: empty blocks of the same second would otherwise be the same blocks.
    ledger.rpc.call("anvil_setCoinbase", f"0x{token_hex(20)}")
    ledger.rpc.call("anvil_reorg", 2, [])


def take_back(ledger: LedgerUnderTest) -> None:
    """Make the chain shorter."""
    ledger.rpc.call("anvil_rollback", 2)


def take_back_and_go_on(ledger: LedgerUnderTest) -> None:
    """Replace the last two blocks by another history of the same length."""
    ledger.rpc.call("anvil_rollback", 2)
    ledger.ask((OVER_60, "3/4"), (OVER_60, "1/8"))
    ledger.ask((OVER_60, "7/8"))


Reorganise = Callable[[LedgerUnderTest], None]
WAYS = (drop_and_replace, take_back, take_back_and_go_on)


class ReorganisingRpc(Rpc):
    """A connection to a chain that is reorganised before some exchanges."""

    moments: Sequence[int] = ()
    exchanges = 0
    reorganise: Callable[[], None]
    #: Whether the node then refuses to answer about blocks that it has dropped, as many do.
    refuses = False

    def batch(self, calls: Sequence[tuple[str, Sequence[Any]]]) -> list[Any]:
        ReorganisingRpc.exchanges += 1
        if ReorganisingRpc.exchanges - 1 in ReorganisingRpc.moments:
            ReorganisingRpc.reorganise()
            if ReorganisingRpc.refuses:
                raise RpcFailed(calls[0][0], "header not found", None)
        return super().batch(calls)


@pytest.fixture
def used_ledger(ledger: LedgerUnderTest) -> LedgerUnderTest:
    """A ledger whose last two blocks contain a request and its answer."""
    ledger.publish()
    ledger.register(*NAMES.values())
    ledger.ask((OVER_60, "1/4"))
    ledger.reveal(OVER_60, 0, "1/4")
    return ledger


def disturbed(
    ledger: LedgerUnderTest, monkeypatch: pytest.MonkeyPatch, reorganise: Reorganise, moments: Sequence[int], **how: Any
) -> Report:
    """Audit while the chain is reorganised before some exchanges."""
    ReorganisingRpc.moments, ReorganisingRpc.exchanges, ReorganisingRpc.reorganise = (
        moments,
        0,
        staticmethod(lambda: reorganise(ledger)),
    )
    with monkeypatch.context() as patch:
        patch.setattr(audited_chain, "Rpc", ReorganisingRpc)
        return audit(ledger.ledger_file, rpc=ledger.rpc.url, **how)


def exchanges_of_an_audit(ledger: LedgerUnderTest, monkeypatch: pytest.MonkeyPatch) -> int:
    disturbed(ledger, monkeypatch, drop_and_replace, [])
    return ReorganisingRpc.exchanges


@pytest.mark.parametrize("way", WAYS, ids=lambda way: str(way.__name__))
def test_a_chain_reorganised_during_an_audit_gives_a_report_of_one_history(
    way: Reorganise, used_ledger: LedgerUnderTest, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The reorganisation happens before each exchange with the node in turn."""
    exchanges = exchanges_of_an_audit(used_ledger, monkeypatch)
    assert exchanges > 5
    for moment in range(exchanges):
        used_ledger.ask((OVER_60, "1/2"))
        used_ledger.ask((OVER_60, "5/8"))
        report = disturbed(used_ledger, monkeypatch, way, [moment])
        assert report.passed, (moment, [str(finding) for finding in report.findings])
        # The last exchange checks that the chain is still the same, so the report is final.
        assert report == audit(used_ledger.ledger_file, rpc=used_ledger.rpc.url), moment
        if way is take_back_and_go_on:
            used_ledger.rpc.call("anvil_rollback", 2)


def test_a_chain_that_is_always_reorganised_gets_no_verdict(
    used_ledger: LedgerUnderTest, monkeypatch: pytest.MonkeyPatch
) -> None:
    for _ in range(10):
        used_ledger.rpc.call("anvil_mine", "0x1")
    with pytest.raises(ChainUnreachable, match="reorganised during 3 attempts to audit it"):
        disturbed(used_ledger, monkeypatch, drop_and_replace, range(3, 1000))


def test_a_node_that_refuses_dropped_blocks_is_asked_about_those_that_replaced_them(
    used_ledger: LedgerUnderTest, monkeypatch: pytest.MonkeyPatch
) -> None:
    exchanges = exchanges_of_an_audit(used_ledger, monkeypatch)
    monkeypatch.setattr(ReorganisingRpc, "refuses", True)
    # After the block to audit is known, and before only that block is asked for again.
    for moment in (3, exchanges - 2):
        used_ledger.ask((OVER_60, "1/2"))
        used_ledger.ask((OVER_60, "5/8"))
        assert disturbed(used_ledger, monkeypatch, drop_and_replace, [moment]).passed, moment
    with pytest.raises(RpcFailed, match="header not found"):
        disturbed(used_ledger, monkeypatch, lambda _: None, [3])
