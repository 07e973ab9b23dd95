"""Faults that the worker does not withstand yet. Each test fails as its reason says; one that passes must move out of here."""

from __future__ import annotations

from fractions import Fraction

import pytest

from faults.worker.promise import Broken
from faults.worker.scene import ANALYST, Scene
from faults.worker.wire import Fault
from noiseledger.chain import Request


@pytest.mark.xfail(
    raises=Broken,
    strict=True,
    reason="An old copy is told by the points that the chain has; what was sent and is in no block yet does not tell it. "
    "A nonce in the journal, written before each send, would: the chain's pending count is then ahead of the journal's.",
)
def test_an_old_copy_of_the_journal_while_an_answer_waits_for_its_block(scene: Scene) -> None:
    copy = scene.folder.folder / "copy"
    scene.folder.copy_journal(copy)
    scene.start()
    scene.mining(False)
    assert scene.order(ANALYST, "ask", [Request(scene.queries[0].identifier, Fraction(1, 2)).encode()])
    scene.mine()
    assert scene.until(lambda: bool(scene.wire.sent))
    scene.kill_all()
    with scene.folder.journal_replaced(copy):
        scene.start()
        scene.until(lambda: len(set(scene.wire.sent)) > 1, seconds=10)
        scene.kill_all()
    scene.check()


@pytest.mark.xfail(
    raises=Broken,
    strict=True,
    reason="A rebuilt journal bridges anew over a point that was broadcast on the way and reached no block. It costs no "
    "privacy, but it is a second value for one stretch: a rebuilt path should be answered from known points only.",
)
def test_a_point_on_the_way_that_only_the_lost_journal_knew(scene: Scene) -> None:
    scene.wire.fault = Fault.LOST_SEND
    scene.start()
    scene.buy(0, "1/4")
    assert scene.until(lambda: bool(scene.wire.sent))
    scene.kill_all()
    scene.wire.fault = Fault.NONE
    scene.buy(0, "1/2")
    scene.start()
    assert scene.until(scene.all_answered)
    scene.stop_all()
    assert scene.recover_the_journal().process.code() == 0
    scene.roll_back(2)
    scene.check()
    assert scene.contract.meter(scene.queries[0].identifier).bought == Fraction(1, 4)
