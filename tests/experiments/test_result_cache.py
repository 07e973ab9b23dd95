"""Finished results are never computed again, and incomplete ones are not taken for finished."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from evaluation.cache import ResultCache
from evaluation.context import ExperimentContext, Settings
from noiseledger.errors import InvalidInput

KEY = {"experiment": "cost", "seed": 1}


def test_a_result_is_computed_once(tmp_path: Path) -> None:
    assert ResultCache(tmp_path).get_or_compute(KEY, lambda: {"answer": [1.5]}) == {"answer": [1.5]}
    assert ResultCache(tmp_path).get_or_compute(KEY, lambda: pytest.fail("computed again")) == {"answer": [1.5]}


def test_another_setting_has_another_result(tmp_path: Path) -> None:
    cache = ResultCache(tmp_path)
    assert cache.get_or_compute(KEY, lambda: 1) == 1
    assert cache.get_or_compute(KEY | {"seed": 2}, lambda: 2) == 2
    assert cache.get_or_compute(KEY, lambda: 3) == 1


@pytest.mark.parametrize("damage", ["", "{", "[]", '{"key": {"seed": 9}, "value": 1}'])
def test_an_incomplete_file_is_computed_again(tmp_path: Path, damage: str) -> None:
    cache = ResultCache(tmp_path)
    cache.get_or_compute(KEY, lambda: 1)
    (file,) = tmp_path.iterdir()
    file.write_text(damage)
    assert cache.get_or_compute(KEY, lambda: 2) == 2


def test_work_that_fails_leaves_nothing(tmp_path: Path) -> None:
    def fail() -> None:
        raise RuntimeError("interrupted")

    with pytest.raises(RuntimeError):
        ResultCache(tmp_path).get_or_compute(KEY, fail)
    assert not list(tmp_path.iterdir())


def test_a_folder_that_cannot_be_created(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(InvalidInput, match="cannot be created"):
        ResultCache(tmp_path / "file" / "pieces")


def test_an_experiment_continues_where_it_stopped(tmp_path: Path) -> None:
    keys = [{"seed": seed} for seed in range(4)]
    done: list[int] = []

    def work(key: Mapping[str, Any], stop_at: int) -> int:
        seed = int(key["seed"])
        if seed == stop_at:
            raise KeyboardInterrupt
        done.append(seed)
        return seed * 10

    heard: list[tuple[str, int, int]] = []
    with ExperimentContext(tmp_path, Settings()) as context, pytest.raises(KeyboardInterrupt):
        context.compute("cost", keys, lambda key: work(key, stop_at=2))
    with ExperimentContext(tmp_path, Settings(), lambda *facts: heard.append(facts)) as context:
        assert context.compute("cost", keys, lambda key: work(key, stop_at=-1)) == [0, 10, 20, 30]
    assert done == [0, 1, 2, 3]
    assert heard[-1] == ("cost", 4, 4)
