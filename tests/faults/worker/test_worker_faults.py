"""One fault at a time, each by its name; the same faults come in random order in ``test_worker_schedules``.

Most tests keep one worker running all the time: it must get over the fault by itself.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from fractions import Fraction

import pytest

from faults.worker.custody import Folder
from faults.worker.nursery import Job
from faults.worker.promise import Broken
from faults.worker.scene import ANALYST, CUSTODIAN, FINAL_BLOCKS, WORKER, Scene
from faults.worker.schedule import NONSENSE
from faults.worker.wire import Fault
from noiseledger.chain import Key, encode_request


def answered(scene: Scene) -> None:
    assert scene.until(scene.all_answered), "\n".join(worker.text() for worker in scene.workers)


def check_with_the_same_worker(scene: Scene) -> None:
    """Check everything; the first worker was running all the time."""
    answered(scene)
    assert len(scene.workers) == 1
    assert scene.workers[0].alive
    scene.check()


def point(scene: Scene, query: int) -> tuple[int, ...]:
    return scene.contract.point(scene.queries[query].identifier)


# Several processes, several journals, several keys.


def test_three_workers_at_once_on_one_journal(scene: Scene) -> None:
    workers = [scene.start() for _ in range(3)]
    for number in range(1, 9):
        scene.buy(number % 4, Fraction(number, 16))
        time.sleep(0.03)
    answered(scene)
    assert all(worker.alive for worker in workers), "\n".join(worker.text() for worker in workers)
    scene.check()


def test_a_journal_of_another_ledger_is_refused(scene: Scene) -> None:
    """Even one that agrees with the chain in everything."""
    scene.buy(0, "1/2")
    scene.start()
    answered(scene)
    scene.buy(0, "3/4")
    scene.stop_all()
    other = scene.folder.folder / "other"
    scene.folder.copy_journal(other)
    Folder.rename_journal(other)
    with scene.folder.journal_replaced(other):
        assert scene.refused()
    scene.check()


def test_a_journal_made_anew_is_refused(scene: Scene) -> None:
    """As a careless custodian would make it: away with the file, and publish again."""
    scene.buy(0, "1/2")
    mine = scene.folder.folder / "mine"
    scene.folder.journal.rename(mine)
    assert scene.run("publish", "--yes", key=CUSTODIAN).gave_up
    assert scene.refused()
    mine.replace(scene.folder.journal)
    scene.check()


def test_an_old_copy_of_the_journal_is_refused(scene: Scene) -> None:
    copy = scene.folder.folder / "copy"
    scene.buy(0, "1/4")
    scene.start()
    answered(scene)
    scene.folder.copy_journal(copy)
    scene.buy(0, "1/2")
    answered(scene)
    scene.buy(1, "1/2")  # the copy knows as much of this one as the journal does
    answered(scene)
    scene.stop_all()
    scene.buy(2, "1/2")
    with scene.folder.journal_replaced(copy):
        assert scene.refused()
    scene.check()


def test_a_key_that_is_not_the_workers_is_refused(scene: Scene) -> None:
    scene.buy(0, "1/2")
    assert scene.refused(key=CUSTODIAN)
    assert scene.refused(key=ANALYST)
    scene.check()


def test_a_worker_whose_key_is_changed_sends_nothing_more(scene: Scene) -> None:
    scene.start()
    scene.buy(0, "1/4")
    answered(scene)
    assert scene.order(CUSTODIAN, "change_worker", Key.from_hex(ANALYST).address)
    scene.look_on()
    before = len(scene.wire.sent)
    scene.buy(0, "1/2")
    scene.look_on()
    assert len(scene.wire.sent) == before
    scene.check()


# The way to the chain.


@pytest.mark.parametrize("fault", [fault for fault in Fault if fault is not Fault.NONE])
def test_a_wire_that_fails_for_a_while(fault: Fault, scene: Scene) -> None:
    scene.start()
    scene.buy(0, "1/4")
    answered(scene)
    scene.wire.fault = fault
    scene.buy(0, "1/2")
    scene.buy(1, "1/2")
    scene.look_on(40)
    if fault in (Fault.CUT_SEND, Fault.LOST_SEND, Fault.REFUSED_SEND):
        assert not scene.all_answered()
        assert max(stretch.end for stretch in scene.released()) == Fraction(1, 2)  # it left all the same
    scene.wire.fault = Fault.NONE
    check_with_the_same_worker(scene)


def test_a_wire_that_fails_from_the_beginning(scene: Scene) -> None:
    """Whether a worker waits or gives up, nothing leaves; the next one finds everything as it was."""
    scene.wire.fault = Fault.GONE
    scene.buy(0, "1/2")
    scene.start()
    scene.look_on()
    assert scene.wire.sent == []
    scene.check()


def test_a_node_that_is_stopped_for_a_while(scene: Scene) -> None:
    scene.start()
    scene.buy(0, "1/4")
    answered(scene)
    scene.buy(1, "1/4")
    scene.stop_node()
    scene.look_on()
    scene.start_node(scene.state)
    scene.buy(0, "1/2")
    check_with_the_same_worker(scene)


# The chain.


def test_a_transaction_that_waits_for_its_block(scene: Scene) -> None:
    scene.start()
    scene.mining(False)
    assert scene.order(ANALYST, "ask", [encode_request(scene.queries[0].identifier, Fraction(1, 2))])
    scene.mine()
    assert scene.until(lambda: bool(scene.wire.sent))
    scene.look_on(40)
    assert not scene.all_answered()
    scene.mining(True)
    scene.mine()
    check_with_the_same_worker(scene)


@pytest.mark.parametrize("gwei", [20, 150, 5000])
def test_a_transaction_that_offered_too_little(gwei: int, scene: Scene) -> None:
    """The fee rises while it waits, also beyond what the worker is ready to pay, and falls again."""
    scene.start()
    scene.mining(False)
    assert scene.order(ANALYST, "ask", [encode_request(scene.queries[0].identifier, Fraction(1, 2))])
    scene.mine()
    assert scene.until(lambda: bool(scene.wire.sent))
    scene.base_fee(gwei)
    scene.mine()
    assert not scene.all_answered()
    scene.look_on()
    scene.mining(True)
    for _ in range(60):  # each block without transactions asks for an eighth less
        scene.mine()
    check_with_the_same_worker(scene)


@pytest.mark.parametrize("forget", [Scene.reorganise, Scene.roll_back])
@pytest.mark.parametrize(("depth", "running"), [(1, True), (2, True), (3, True), (4, True), (1, False), (4, False)])
def test_a_chain_that_forgets(forget: Callable[[Scene, int], int], depth: int, running: bool, scene: Scene) -> None:
    """Across an answer, its request, the answer before and its request; then the same is bought again."""
    scene.start()
    scene.buy(0, "1/4")
    answered(scene)
    scene.buy(0, "1/2")
    answered(scene)
    assert scene.block() - scene.first_block == 4
    before = point(scene, 0)
    if not running:
        scene.stop_all()
    assert forget(scene, depth) == depth
    # The other branch has less of one query and more of another.
    scene.order(ANALYST, "ask", [encode_request(scene.queries[0].identifier, Fraction(3, 8))])
    scene.order(ANALYST, "ask", [encode_request(scene.queries[1].identifier, Fraction(3, 8))])
    if not running:
        scene.start()
    answered(scene)
    scene.order(ANALYST, "ask", [encode_request(scene.queries[0].identifier, Fraction(1, 2))])
    # An order waits for no block: before it has one, all that was bought is answered as well.
    assert scene.until(lambda: scene.contract.meter(scene.queries[0].identifier).bought == Fraction(1, 2))
    answered(scene)
    assert point(scene, 0) == before
    scene.check()


def test_a_chain_that_forgets_what_was_final(scene: Scene) -> None:
    scene.start(head="finalized")
    scene.buy(0, "1/2")
    scene.mine(FINAL_BLOCKS)
    answered(scene)
    before = point(scene, 0)
    assert scene.roll_back(10 * FINAL_BLOCKS) > FINAL_BLOCKS
    assert scene.all_answered()
    scene.buy(0, "1/2")
    scene.mine(FINAL_BLOCKS)
    answered(scene)
    assert point(scene, 0) == before
    check_with_the_same_worker(scene)


def test_nothing_is_answered_before_it_is_final(scene: Scene) -> None:
    scene.start(head="finalized")
    scene.buy(0, "1/2")
    scene.mine(FINAL_BLOCKS - 10)
    scene.look_on()
    assert scene.wire.sent == []
    scene.mine(10)
    check_with_the_same_worker(scene)


def test_the_journal_holds_the_budget_when_the_chain_forgets(scene: Scene) -> None:
    scene.start()
    scene.buy(0, "3")
    answered(scene)
    scene.roll_back(2)
    scene.buy(2, "3")
    scene.buy(1, "1/4")
    assert scene.until(lambda: scene.unanswerable() == [scene.queries[2]])
    scene.check()
    assert [query for query, _ in scene.open_queries()] == [scene.queries[2]]


def test_a_chain_started_from_nothing_is_refused(scene: Scene) -> None:
    scene.start()
    scene.buy(0, "1/2")
    answered(scene)
    scene.forget_everything()
    before = list(scene.wire.sent)
    scene.look_on()
    # It may still wait for the receipt of what it sent, and send the same bytes again; nothing else.
    assert set(scene.wire.sent) == set(before)
    assert scene.refused()
    scene.check_promise()


# The custodian's machine.


def test_a_lost_journal_is_rebuilt_from_what_the_chain_knows(scene: Scene) -> None:
    scene.start()
    scene.buy(0, "1/4")
    scene.buy(1, "1/2")
    answered(scene)
    scene.stop_all()
    before = scene.folder.points()
    assert scene.recover_the_journal().process.code() == 0
    assert scene.folder.points() == before
    scene.buy(0, "1/2")
    scene.buy(2, "1/2")
    scene.start()
    answered(scene)
    scene.check()


def what_a_lost_journal_said_without_the_chain(scene: Scene, weakness: str = "") -> None:
    """One query was broadcast and is in no block; the journal is lost, and an analyst insists."""
    scene.start()
    scene.buy(0, "1/4")
    answered(scene)
    scene.wire.fault = Fault.LOST_SEND
    scene.buy(0, "1/2")
    assert scene.until(lambda: max(stretch.end for stretch in scene.released()) == Fraction(1, 2))
    assert scene.recover_the_journal().process.code() == 0
    scene.wire.fault = Fault.NONE
    scene.buy(0, "3/4")
    scene.buy(1, "1/2")
    scene.check(Job([], "", "", weakness=weakness))


def test_what_a_lost_journal_may_have_said_is_closed(scene: Scene) -> None:
    what_a_lost_journal_said_without_the_chain(scene)
    assert [query for query, _ in scene.open_queries()] == [scene.queries[0]]
    assert max(stretch.end for stretch in scene.released() if stretch.query == scene.queries[0].identifier) == 0.5


def test_a_worker_that_reopens_it_would_be_caught(scene: Scene) -> None:
    with pytest.raises(Broken, match="second path"):
        what_a_lost_journal_said_without_the_chain(scene, "reopens_what_is_closed")


def test_what_a_lost_journal_sent_opens_the_query_again_once_it_is_in_a_block(scene: Scene) -> None:
    scene.start()
    scene.mining(False)
    assert scene.order(ANALYST, "ask", [encode_request(scene.queries[0].identifier, Fraction(1, 2))])
    scene.mine()
    assert scene.until(lambda: bool(scene.wire.sent))
    assert scene.recover_the_journal().process.code() == 0
    scene.mining(True)
    scene.mine()
    scene.buy(0, "3/4")
    scene.start()
    answered(scene)
    scene.check()


def test_a_journal_that_is_there_is_not_rebuilt(scene: Scene) -> None:
    scene.start()
    scene.buy(0, "1/4")
    answered(scene)
    scene.stop_all()
    assert scene.run("recover", "--yes").gave_up
    scene.check()


@pytest.mark.parametrize("share", [0, 1, 5, 10, 11])
def test_a_full_disk(share: int, scene: Scene) -> None:
    """No file can grow beyond tenths of the journal's size; nothing leaves that is not in the journal."""
    worker = scene.start()
    scene.buy(0, "1/4")
    answered(scene)
    size = scene.folder.journal.stat().st_size
    worker.limit_disk(size * share // 10)
    for number in range(1, 5):
        scene.buy(number % 4, Fraction(number, 8))
        scene.look_on(5)
    scene.check_promise()
    if share < 10:
        assert not scene.all_answered()
    worker.limit_disk(None)
    scene.check()


def test_a_clock_that_jumps(scene: Scene) -> None:
    scene.start(job=Job([], "", "", jumpy=True))
    for number in range(1, 9):
        scene.buy(number % 4, Fraction(number, 16))
        time.sleep(0.03)
    check_with_the_same_worker(scene)


# Analysts.


@pytest.mark.parametrize("kind", NONSENSE)
def test_an_analysts_nonsense_stops_nobody(kind: str, scene: Scene) -> None:
    scene.start()
    for number in range(1, 4):
        strange = NONSENSE[kind](scene.queries[number % 4].identifier)
        good = encode_request(scene.queries[number].identifier, Fraction(number, 16))
        assert scene.order(ANALYST, "ask", [strange], gas=200_000)
        assert scene.order(ANALYST, "ask", [good, strange], gas=200_000)
        scene.buy(number, Fraction(number, 16))
    answered(scene)
    bought = {query.identifier: scene.contract.meter(query.identifier).bought for query in scene.queries}
    assert all(bought[scene.queries[number].identifier] == Fraction(number, 16) for number in range(1, 4))
    check_with_the_same_worker(scene)


def test_huge_batches(scene: Scene) -> None:
    scene.start()
    for number in range(1, 4):
        identifiers = [scene.queries[i % 4].identifier for i in range(100)]
        requests = [encode_request(query, Fraction(number * 100 + i, 2000)) for i, query in enumerate(identifiers)]
        scene.contract.ask(requests)
    check_with_the_same_worker(scene)


def test_the_worker_starts_with_the_key_it_was_published_for(scene: Scene) -> None:
    """The harness itself: without any fault, one worker answers everything in one transaction."""
    for query in range(4):
        scene.buy(query, "1/4")
    scene.start(key=WORKER)
    check_with_the_same_worker(scene)
    assert len(scene.wire.sent) == 1
    assert len(scene.released()) == 4
