"""What is finished is never done again, and nothing is taken for finished that is not."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from noiseledger.errors import InvalidInput
from noiseledger.experiments.desk import Desk, Settings
from noiseledger.experiments.notebook import Notebook

KEY = {"experiment": "cost", "seed": 1}


def test_a_piece_is_done_once(tmp_path: Path) -> None:
    assert Notebook(tmp_path).keep(KEY, lambda: {"answer": [1.5]}) == {"answer": [1.5]}
    assert Notebook(tmp_path).keep(KEY, lambda: pytest.fail("done again")) == {"answer": [1.5]}


def test_another_setting_is_another_piece(tmp_path: Path) -> None:
    notebook = Notebook(tmp_path)
    assert notebook.keep(KEY, lambda: 1) == 1
    assert notebook.keep(KEY | {"seed": 2}, lambda: 2) == 2
    assert notebook.keep(KEY, lambda: 3) == 1


@pytest.mark.parametrize("damage", ["", "{", "[]", '{"key": {"seed": 9}, "value": 1}'])
def test_a_piece_that_was_cut_off_is_done_again(tmp_path: Path, damage: str) -> None:
    notebook = Notebook(tmp_path)
    notebook.keep(KEY, lambda: 1)
    (file,) = tmp_path.iterdir()
    file.write_text(damage)
    assert notebook.keep(KEY, lambda: 2) == 2


def test_work_that_fails_leaves_nothing(tmp_path: Path) -> None:
    def fail() -> None:
        raise RuntimeError("interrupted")

    with pytest.raises(RuntimeError):
        Notebook(tmp_path).keep(KEY, fail)
    assert not list(tmp_path.iterdir())


def test_a_folder_that_cannot_be_made(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(InvalidInput, match="cannot be made"):
        Notebook(tmp_path / "file" / "pieces")


def test_the_desk_goes_on_where_it_was(tmp_path: Path) -> None:
    keys = [{"seed": seed} for seed in range(4)]
    done: list[int] = []

    def work(key: Mapping[str, Any], stop_at: int) -> int:
        seed = int(key["seed"])
        if seed == stop_at:
            raise KeyboardInterrupt
        done.append(seed)
        return seed * 10

    heard: list[tuple[str, int, int]] = []
    with Desk(tmp_path, Settings()) as desk, pytest.raises(KeyboardInterrupt):
        desk.pieces("cost", keys, lambda key: work(key, stop_at=2))
    with Desk(tmp_path, Settings(), lambda *facts: heard.append(facts)) as desk:
        assert desk.pieces("cost", keys, lambda key: work(key, stop_at=-1)) == [0, 10, 20, 30]
    assert done == [0, 1, 2, 3]
    assert heard[-1] == ("cost", 4, 4)
