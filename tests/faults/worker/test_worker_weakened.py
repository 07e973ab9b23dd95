"""The teeth of the schedules: a worker that breaks any one rule is caught within a few of them."""

from __future__ import annotations

import re

import pytest

from faults.worker import scene as scenes
from faults.worker.promise import Broken
from faults.worker.scene import FaultLab, Scene
from faults.worker.schedule import FAULTS, Move, Player, Schedule
from faults.worker.weakened import WEAKNESSES
from faults.worker.wire import Fault

FIRST, ENOUGH = 5000, 30
_MUCH, _ALL = 63, 0
_CUT_SEND = FAULTS.index(Fault.CUT_SEND)
#: The first one is written by hand: an answer leaves and does not arrive, and then the chain forgets all.
BY_HAND = Schedule(
    seed=0,
    head="latest",
    forgets=False,
    moves=(
        Move("buy", 0, _MUCH),
        Move("buy", 1, 1),
        Move("cut_the_wire", _CUT_SEND, 0),
        Move("start", 0, 1),
        *[Move("rest", 4, 0)] * 4,
        Move("kill", 0, 0),
        Move("mend_the_wire", 0, 0),
        Move("try_another_journal", 0, 0),
        Move("start", 0, 1),
        *[Move("rest", 4, 0)] * 4,
        Move("roll_back", _ALL, 0),
        Move("buy", 2, _MUCH),
        Move("buy", 1, 1),
        *[Move("rest", 4, 0)] * 4,
    ),
)
#: What each of them does wrong, as the checks say it.
CAUGHT = {
    "draws_anew": "two increments|second path",
    "trusts_the_chain": "two increments|second path",
    "journals_after_sending": "two increments|second path",
    "has_no_budget": "and the budget is",
    "takes_any_journal": "with another journal",
    "neglects_a_query": "not answered",
    "talks": "a secret of",
}


def test_the_schedule_by_hand_is_survived_without_a_weakness(scene: Scene) -> None:
    Player(scene).play(BY_HAND)


def test_every_weakened_worker_is_tried() -> None:
    assert {*CAUGHT, "reopens_what_is_closed"} == set(WEAKNESSES)  # for that one see test_worker_faults


@pytest.mark.parametrize(("weakness", "how"), CAUGHT.items())
def test_a_weakened_worker_is_caught(weakness: str, how: str, lab: FaultLab, monkeypatch: pytest.MonkeyPatch) -> None:
    """Weakened workers fail in more ways than one; it is the expected one that counts."""
    monkeypatch.setattr(scenes, "PATIENCE_SECONDS", 5.0)
    for number, schedule in enumerate([BY_HAND, *map(Schedule.of, range(FIRST, FIRST + ENOUGH))]):
        with lab.scene() as scene:
            try:
                Player(scene, weakness).play(schedule)
            except Broken as error:
                if re.search(how, str(error)):
                    print(f"caught in schedule {number}: {str(error)[:200]}")
                    return
    pytest.fail(f"a worker that {weakness.replace('_', ' ')} was not caught in {ENOUGH} schedules")
