"""Faults in random order: each seed is one schedule, and the whole promise is checked after each.

``make test-deep`` plays 25 of them, ``make faults`` 500. ``NOISELEDGER_FAULT_SEED=N`` plays one again, or, with
``NOISELEDGER_FAULT_SCHEDULES=M``, those from N on.
"""

from __future__ import annotations

import pytest

from faults.worker.scene import CHOSEN, SCHEDULES, SEED, Scene
from faults.worker.schedule import WEIGHTS, Player, Schedule

FIRST = int(SEED or 1000)
#: The seeds that make test plays: together they make every move.
ALWAYS = (1000, 1004, 1006, 1012, 1015, 1018, 1021, 1024)
SEEDS = [
    seed if CHOSEN or seed in ALWAYS else pytest.param(seed, marks=pytest.mark.deep)
    for seed in range(FIRST, FIRST + SCHEDULES)
]


def test_the_seeds_that_are_always_played_make_every_move() -> None:
    played = [Schedule.of(seed) for seed in ALWAYS]
    assert {move.name for schedule in played for move in schedule.moves} == set(WEIGHTS)
    assert {schedule.forgets for schedule in played} == {True, False}
    assert {schedule.head for schedule in played} == {"latest", "finalized"}


@pytest.mark.parametrize("seed", SEEDS)
def test_a_random_schedule_keeps_the_promise(seed: int, scene: Scene) -> None:
    Player(scene).play(Schedule.of(seed))
