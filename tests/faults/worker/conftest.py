"""A stage for every module, a scene for every test."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from faults.worker import scene as scenes


@pytest.fixture(scope="module")
def stage(tmp_path_factory: pytest.TempPathFactory) -> Iterator[scenes.Stage]:
    with scenes.stage(tmp_path_factory.mktemp("stage")) as stage:
        yield stage


@pytest.fixture
def scene(stage: scenes.Stage) -> Iterator[scenes.Scene]:
    with stage.scene() as scene:
        yield scene
