"""Faults in random order: each seed is one schedule, and the whole promise is checked after each.

``make faults`` plays 500 of them. ``NOISELEDGER_FAULT_SEED=N`` plays one again, or, with
``NOISELEDGER_FAULT_SCHEDULES=M``, those from N on.
"""

from __future__ import annotations

import pytest

from faults.worker.scene import SCHEDULES, SEED, Scene
from faults.worker.schedule import WEIGHTS, Player, Schedule

FIRST = int(SEED or 1000)


def test_the_seeds_that_are_always_played_make_every_move() -> None:
    played = [Schedule.of(seed) for seed in range(1000, 1025)]
    assert {move.name for schedule in played for move in schedule.moves} == set(WEIGHTS)
    assert {schedule.forgets for schedule in played} == {True, False}
    assert {schedule.head for schedule in played} == {"latest", "finalized"}


@pytest.mark.parametrize("seed", range(FIRST, FIRST + SCHEDULES))
def test_a_random_schedule_keeps_the_promise(seed: int, scene: Scene) -> None:
    Player(scene).play(Schedule.of(seed))
