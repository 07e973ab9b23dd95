"""Ledgers that went through reorganisations and crashes pass; and a chain may change its mind while it is audited."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from fractions import Fraction
from signal import SIGKILL
from typing import Any

import pytest

from audit.ledger_under_test import NAMES, OVER_60, LedgerUnderTest
from faults.worker import scene as scenes
from faults.worker.moments import MOMENTS
from faults.worker.nursery import Job
from faults.worker.scene import Scene, Stage
from faults.worker.schedule import Player, Schedule
from noiseledger.audit import Report, audit
from noiseledger.audit import chain as audited_chain
from noiseledger.chain import Rpc
from noiseledger.errors import ChainUnreachable

SEEDS = range(6)
FAULTS = {"start_to_be_killed", "kill", "reorganise", "roll_back", "cut_the_wire", "lose_the_journal"}


@pytest.fixture(scope="module")
def stage(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    with scenes.stage(tmp_path_factory.mktemp("stage")) as stage:
        yield stage


def audited(scene: Scene) -> Report:
    report = audit(scene.folder.custody / "ledger.json", rpc=scene.chain.url)
    assert report.passed, [str(finding) for finding in report.findings]
    return report


@pytest.mark.parametrize("seed", SEEDS)
def test_random_faults_leave_a_ledger_that_passes(seed: int, stage: Stage) -> None:
    """Real workers, killed and started again, on a chain that is reorganised under them."""
    schedule = replace(Schedule.of(seed), forgets=False)
    with stage.scene() as scene:
        Player(scene).play(schedule)
        report = audited(scene)
        assert report.spent == scene.contract.spent()


def test_the_schedules_have_all_faults() -> None:
    """Else they would show too little."""
    assert {move.name for seed in SEEDS for move in Schedule.of(seed).moves} >= FAULTS


def test_a_worker_killed_at_each_of_its_steps_leaves_a_ledger_that_passes(stage: Stage) -> None:
    """Also right after the kill, when more is bought than revealed."""
    with stage.scene() as scene:
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


# Reorganised while it is audited.


def drop_and_replace(ledger: LedgerUnderTest) -> None:
    """Put empty blocks in the place of the last two, as two miners at once would."""
    ledger.rpc.call("anvil_reorg", 2, [])


def take_back(ledger: LedgerUnderTest) -> None:
    """Let the chain be shorter than it was."""
    ledger.rpc.call("anvil_rollback", 2)


def take_back_and_go_on(ledger: LedgerUnderTest) -> None:
    """Let another history take the place of the last one, as long as it was."""
    ledger.rpc.call("anvil_rollback", 2)
    ledger.ask((OVER_60, "3/4"), (OVER_60, "1/8"))
    ledger.ask((OVER_60, "7/8"))


Reorganise = Callable[[LedgerUnderTest], None]
WAYS = (drop_and_replace, take_back, take_back_and_go_on)


class Restless(Rpc):
    """A connection to a chain that is reorganised before some exchanges."""

    moments: Sequence[int] = ()
    exchanges = 0
    reorganise: Callable[[], None]

    def batch(self, calls: Sequence[tuple[str, Sequence[Any]]]) -> list[Any]:
        if Restless.exchanges in Restless.moments:
            Restless.reorganise()
        Restless.exchanges += 1
        return super().batch(calls)


@pytest.fixture
def lively(ledger: LedgerUnderTest) -> LedgerUnderTest:
    """A ledger whose last two blocks matter."""
    ledger.publish()
    ledger.register(*NAMES.values())
    ledger.ask((OVER_60, "1/4"))
    ledger.reveal(OVER_60, 0, "1/4")
    return ledger


def disturbed(
    ledger: LedgerUnderTest, monkeypatch: pytest.MonkeyPatch, reorganise: Reorganise, moments: Sequence[int], **how: Any
) -> Report:
    """Audit while the chain is reorganised before some exchanges."""
    Restless.moments, Restless.exchanges, Restless.reorganise = moments, 0, staticmethod(lambda: reorganise(ledger))
    with monkeypatch.context() as patch:
        patch.setattr(audited_chain, "Rpc", Restless)
        return audit(ledger.ledger_file, rpc=ledger.rpc.url, **how)


def exchanges_of_an_audit(ledger: LedgerUnderTest, monkeypatch: pytest.MonkeyPatch) -> int:
    disturbed(ledger, monkeypatch, drop_and_replace, [])
    return Restless.exchanges


@pytest.mark.parametrize("way", WAYS, ids=lambda way: str(way.__name__))
def test_a_chain_reorganised_during_an_audit_gives_a_report_of_one_history(
    way: Reorganise, lively: LedgerUnderTest, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Before each exchange with the node that there is."""
    exchanges = exchanges_of_an_audit(lively, monkeypatch)
    assert exchanges > 5
    for moment in range(exchanges):
        lively.ask((OVER_60, "1/2"))
        lively.ask((OVER_60, "5/8"))
        report = disturbed(lively, monkeypatch, way, [moment])
        assert report.passed, (moment, [str(finding) for finding in report.findings])
        # The last exchange asks whether the chain is still the same: after it, all is told.
        assert report == audit(lively.ledger_file, rpc=lively.rpc.url), moment
        if way is take_back_and_go_on:
            lively.rpc.call("anvil_rollback", 2)


def test_a_chain_that_never_rests_is_not_judged(lively: LedgerUnderTest, monkeypatch: pytest.MonkeyPatch) -> None:
    for _ in range(10):
        lively.rpc.call("anvil_mine", "0x1")
    with pytest.raises(ChainUnreachable, match="reorganised during 3 attempts to audit it"):
        disturbed(lively, monkeypatch, drop_and_replace, range(3, 1000))
