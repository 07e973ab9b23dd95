"""Faults in random order: each seed is one schedule, and the whole promise is checked after each.

``make faults`` plays 500 of them. ``NOISELEDGER_FAULT_SEED=N`` plays one again, or, with
``NOISELEDGER_FAULT_SCHEDULES=M``, those from N on.
"""

from __future__ import annotations

import pytest

from faults.worker.scene import SCHEDULES, SEED, Scene
from faults.worker.schedule import Player, Schedule

FIRST = int(SEED or 1000)


@pytest.mark.parametrize("seed", range(FIRST, FIRST + SCHEDULES))
def test_a_random_schedule_keeps_the_promise(seed: int, scene: Scene) -> None:
    Player(scene).play(Schedule.of(seed))
