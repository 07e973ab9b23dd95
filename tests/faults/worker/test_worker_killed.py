"""Fault: the worker is killed, kill -9, at any of its numbered steps or at any moment, and started again.

The defence: what was drawn is durable before it is signed, so the next worker can only send the same increments.
"""

from __future__ import annotations

import random
import time
from itertools import count
from signal import SIGKILL

import pytest

from faults.worker.moments import ANY, MOMENTS
from faults.worker.nursery import Job
from faults.worker.scene import THOROUGH, FaultLab, Scene


def killed_at(moment: str, nth: int = 1) -> Job:
    return Job([], "", "", moment=moment, count=nth)


@pytest.mark.parametrize("moment", MOMENTS)
def test_killed_at_a_step_and_started_again(moment: str, scene: Scene) -> None:
    """Steps of a first purchase of two queries, at the first and at the second, then of one that goes further.

    Each query is drawn, and all else happens once: points, charge and nonces are one commit.
    """
    rounds = [(("1/4", "1/2"), 1), (("3/4", "1"), 2 if moment.endswith("draw") else 1), (("1", "1"), 1)]
    for precisions, nth in rounds:
        for query, precision in enumerate(precisions):
            scene.buy(query, precision)
        assert scene.start(job=killed_at(moment, nth)).process.wait() == -SIGKILL
        scene.start()
        assert scene.until(scene.all_answered)
        scene.stop_all()
    scene.check()


@pytest.mark.parametrize("every", [1] if THOROUGH else [19, pytest.param(7, marks=pytest.mark.deep)])
def test_killed_at_every_moment_there_is(every: int, lab: FaultLab) -> None:
    """Before and after every SQL statement, exchange with the node, draw and signature, until one survives."""
    # All of them by `make faults`; one in seven meets each kind, and so does the test above.
    for nth in count(1, every):
        with lab.scene() as scene:
            scene.buy(1, "1/2")
            worker = scene.start(job=killed_at(ANY, nth), once=True)
            code = worker.process.wait()
            assert code in (0, -SIGKILL), worker.text()
            scene.check()
        if code == 0:
            assert nth > 40
            return


@pytest.mark.parametrize("every", [3] if THOROUGH else [73, pytest.param(40, marks=pytest.mark.deep)])
def test_killed_while_a_lost_journal_is_rebuilt(every: int, lab: FaultLab) -> None:
    """Until the new journal is in its place there is none; then it is whole, and what it never answers is not sold."""
    for nth in count(1, every):
        with lab.scene() as scene:
            scene.buy(0, "1/2")
            scene.start()
            assert scene.until(scene.all_answered)
            scene.stop_all()
            scene.buy(1, "1/2")
            before = scene.folder.points()
            code = scene.recover_the_journal(killed_at(ANY, nth), by_custodian=True).process.code()
            assert code in (0, -SIGKILL)
            if not scene.folder.journal.exists():
                assert scene.refused()
                assert scene.recover(by_custodian=True).process.code() == 0
            assert scene.contract.query_paused(scene.queries[1].identifier)
            assert scene.folder.points() == before
            scene.buy(0, "3/4")
            scene.check()
            assert [query for query, _ in scene.open_queries()] == [scene.queries[1]]
        if code == 0:
            assert nth > 20
            return


def test_killed_at_random_times(scene: Scene) -> None:
    dice = random.Random(20210)
    for number in range(1, 13):
        scene.buy(dice.randrange(4), f"{number}/16")
        worker = scene.start()
        time.sleep(dice.uniform(0, 0.25))
        assert worker.process.kill() == -SIGKILL
    scene.check()
