"""A lab for every module, a scene for every test."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from faults.worker import scene as scenes


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[scenes.FaultLab]:
    with scenes.lab(tmp_path_factory.mktemp("lab")) as lab:
        yield lab


@pytest.fixture
def scene(lab: scenes.FaultLab) -> Iterator[scenes.Scene]:
    with lab.scene() as scene:
        yield scene
