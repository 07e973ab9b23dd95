"""Faults in random order: each seed is one schedule, and the whole promise is checked after each.

``make faults`` plays 500 of them. ``NOISELEDGER_FAULT_SEED=N`` plays one again.
"""

from __future__ import annotations

import os

import pytest

from faults.worker.scene import SCHEDULES, Scene
from faults.worker.schedule import Player, Schedule

FIRST = 1000
ONE = os.environ.get("NOISELEDGER_FAULT_SEED")
SEEDS = [int(ONE)] if ONE else range(FIRST, FIRST + SCHEDULES)


@pytest.mark.parametrize("seed", SEEDS)
def test_a_random_schedule_keeps_the_promise(seed: int, scene: Scene) -> None:
    Player(scene).play(Schedule.of(seed))
