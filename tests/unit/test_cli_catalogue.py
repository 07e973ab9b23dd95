"""``noiseledger init`` and ``noiseledger check`` as a custodian runs them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from unit.test_cli import run

DATA = 'name,"hours worked",income\nAda,37.5,424242\nBen,,31337\n'


@pytest.fixture
def data(tmp_path: Path) -> Path:
    file = tmp_path / "people.csv"
    file.write_text(DATA, encoding="utf-8")
    return file


def test_a_draft_copies_names_and_types_but_no_value(data: Path) -> None:
    done = run("init", str(data))
    assert done.returncode == 0
    draft = data.with_suffix(".toml").read_text()
    assert '[columns."hours worked"]' in draft
    assert "[columns.income]" in draft
    assert 'by = "name"' in draft
    for private in ("424242", "31337", "37.5", "Ada", "Ben"):
        assert private not in draft + done.stdout + done.stderr


def test_a_draft_is_not_ready_until_the_bounds_are_chosen(data: Path) -> None:
    run("init", str(data))
    catalogue = data.with_suffix(".toml")
    checked = run("check", str(catalogue))
    assert checked.returncode == 2
    assert f"{catalogue}:18: The lower bound of hours worked" in checked.stderr
    assert "Traceback" not in checked.stderr
    filled = catalogue.read_text().replace('lower = "?"', "lower = 0").replace('upper = "?"', "upper = 1_000_000")
    catalogue.write_text(filled)
    missing = run("check", str(catalogue))
    assert "Query mean_hours_worked: The column hours worked has missing values" in missing.stderr
    catalogue.write_text(filled.replace("# missing", "missing"))
    facts = json.loads(run("check", str(catalogue), "--json").stdout)
    assert facts["rows"] == 2
    assert [query["name"] for query in facts["queries"]] == ["mean_hours_worked", "mean_income"]
    assert facts["queries"][0]["sensitivity"] == 500_000
    assert [item["epsilon"] for item in facts["affords"]] == [0.1, 0.5, 1]
    assert "no problems" in run("check", str(catalogue)).stdout


def test_nothing_is_overwritten(data: Path) -> None:
    run("init", str(data))
    again = run("init", str(data))
    assert again.returncode == 2
    assert "kept as it is" in again.stderr
    elsewhere = data.with_name("other.toml")
    assert json.loads(run("init", str(data), "--out", str(elsewhere), "--json").stdout) == {
        "catalogue": str(elsewhere),
        "columns": ["name", "hours worked", "income"],
    }


@pytest.mark.parametrize("command", ["init", "check"])
def test_a_file_that_is_not_there_is_said_plainly(command: str, tmp_path: Path) -> None:
    done = run(command, str(tmp_path / "absent"))
    assert done.returncode == 2
    assert "cannot be read" in done.stderr
    assert "Traceback" not in done.stderr


def test_data_that_is_gone_is_said_plainly(data: Path) -> None:
    run("init", str(data))
    catalogue = data.with_suffix(".toml")
    text = catalogue.read_text().replace('lower = "?"', "lower = 0").replace('upper = "?"', "upper = 9")
    catalogue.write_text(text)
    data.unlink()
    assert "people.csv cannot be read" in run("check", str(catalogue)).stderr
