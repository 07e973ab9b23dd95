"""Faults that the checks of a worker once missed: what it must know beyond what is in blocks."""

from __future__ import annotations

from fractions import Fraction

from faults.worker.scene import ANALYST, Scene
from faults.worker.wire import Fault
from noiseledger.chain import encode_request


def test_an_old_copy_of_the_journal_while_an_answer_waits_for_its_block(scene: Scene) -> None:
    copy = scene.folder.folder / "copy"
    scene.folder.copy_journal(copy)
    scene.start()
    scene.mining(False)
    assert scene.order(ANALYST, "ask", [encode_request(scene.queries[0].identifier, Fraction(1, 2))])
    scene.mine()
    assert scene.until(lambda: bool(scene.wire.sent))
    scene.kill_all()
    with scene.folder.journal_replaced(copy):
        scene.start()
        scene.until(lambda: len(set(scene.wire.sent)) > 1, seconds=10)
        scene.kill_all()
    scene.check()


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
