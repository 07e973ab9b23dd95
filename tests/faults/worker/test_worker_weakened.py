"""The teeth of the schedules: a worker that breaks any one rule is caught within a few of them."""

from __future__ import annotations

import re

import pytest

from faults.worker import scene as scenes
from faults.worker.promise import Broken
from faults.worker.scene import Stage
from faults.worker.schedule import Player, Schedule
from faults.worker.weakened import WEAKNESSES

FIRST, ENOUGH = 5000, 40
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


def test_every_weakened_worker_is_tried() -> None:
    assert {*CAUGHT, "reopens_what_is_closed"} == set(WEAKNESSES)  # for that one see test_worker_faults


@pytest.mark.parametrize(("weakness", "how"), CAUGHT.items())
def test_a_weakened_worker_is_caught(weakness: str, how: str, stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    """Weakened workers fail in more ways than one; it is the expected one that counts."""
    monkeypatch.setattr(scenes, "PATIENCE_SECONDS", 2.0)
    for seed in range(FIRST, FIRST + ENOUGH):
        with stage.scene() as scene:
            try:
                Player(scene, weakness).play(Schedule.of(seed))
            except Broken as error:
                if re.search(how, str(error)):
                    print(f"caught in schedule {seed - FIRST + 1}: {str(error)[:200]}")
                    return
    pytest.fail(f"a worker that {weakness.replace('_', ' ')} was not caught in {ENOUGH} schedules")
