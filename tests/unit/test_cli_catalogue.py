"""``noiseledger init`` and ``noiseledger check`` as a custodian runs them."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
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
    assert f"{catalogue}:20: The lower bound of hours worked" in checked.stderr
    assert "Traceback" not in checked.stderr
    filled = catalogue.read_text().replace('lower = "?"', "lower = 0").replace('upper = "?"', "upper = 1_000_000")
    catalogue.write_text(filled)
    missing = run("check", str(catalogue))
    line = filled.splitlines().index("[queries.mean_hours_worked]") + 1
    where = f"{catalogue}:{line}: Query mean_hours_worked"
    assert f"{where}: The column hours worked has missing values" in missing.stderr
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


def test_a_table_of_a_database_is_drafted_by_name(tmp_path: Path) -> None:
    file = tmp_path / "study.db"
    with closing(sqlite3.connect(file)) as database:
        database.executescript("CREATE TABLE people (age INTEGER); CREATE TABLE visits (day TEXT);")
    unsaid = run("init", str(file))
    assert "Say which table" in unsaid.stderr
    assert "people, visits" in unsaid.stderr
    assert run("init", str(file), "--table", "people").returncode == 0
    draft = file.with_suffix(".toml").read_text()
    assert 'table = "people"' in draft
    assert "[columns.age]" in draft


def test_what_the_data_cannot_answer_has_a_line_and_a_hint(data: Path) -> None:
    catalogue = data.with_suffix(".toml")
    catalogue.write_text(
        '[source]\nfile = "people.csv"\n[privacy]\nepsilon = 1\ndelta = "1e-6"\nneighbours = "replace"\n'
        '[queries.rich]\nmeasure = "share"\nwhere = "incme > 5"\n'
        f'[queries.all]\nmeasure = "count"\nby = "income"\nedges = {list(range(600))}\n'
    )
    found = run("check", str(catalogue)).stderr
    assert f"{catalogue}:7: Query rich: The data has no column incme (did you mean income?)." in found
    assert f"{catalogue}:10: Query all: A ledger on a chain takes 512 groups at most, not 599" in found
