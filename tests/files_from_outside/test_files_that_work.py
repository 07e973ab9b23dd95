"""From a file as others write it to the right totals: init, fill in what is marked, check."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from command import Run, Runner
from files_from_outside.people import FILES, GERMAN, frame
from noiseledger.data.catalogue import read_catalogue

QUERIES = """
[queries.cologne]
measure = "count"
where = "town = 'Köln'"

[queries.nowhere]
measure = "count"
where = "town IS NULL"

[queries.old]
measure = "count"
where = "born < DATE '2000-01-01'"

[queries.unborn]
measure = "count"
where = "born IS NULL"

[queries.dresden]
measure = "count"
where = "plz = '01067'"

[queries.members]
measure = "count"
where = "{member}"
"""
#: In units of the grid, a quarter.
TOTALS = {
    "mean_age": (61 + 34 + 5) * 4,
    "mean_weight": 4 * 70.5 + 4 * 82.25 + 4 * 19,
    "cologne": 2,
    "nowhere": 1,
    "old": 2,
    "unborn": 1,
    "dresden": 2,
    "members": 2,
}
KINDS = {"age": "number", "weight": "number", "town": "text", "member": "flag", "born": "date", "plz": "text"}


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    return Runner(monkeypatch, capsys)


def filled_in(draft: str) -> str:
    """Do what the draft asks for."""
    for key, value in (("lower", 0), ("upper", 300), ("missing", 0)):
        draft = draft.replace(f'{key} = "?"', f"{key} = {value}")
    return draft.replace("grid = 1", "grid = 0.25")


def totals_of(file: Path, run: Run, member: str = "member = TRUE") -> dict[str, int]:
    """Return the totals that a custodian gets who does as told."""
    catalogue = file.with_suffix(".toml")
    assert run("check", catalogue).code == 2  # the bounds are still to be chosen
    catalogue.write_text(filled_in(catalogue.read_text("utf-8")) + QUERIES.format(member=member), "utf-8")
    checked = run("check", catalogue)
    assert checked.code == 0, checked.err
    assert "4 rows, no problems" in " ".join(checked.out.split())
    assert "Please check" not in checked.out
    read = read_catalogue(catalogue)
    with closing(read.open()) as source:
        return {entry.name: source.totals(entry.query)[0] for entry in read.entries}


@pytest.mark.parametrize("name", FILES)
def test_the_same_people_from_any_program(name: str, tmp_path: Path, run: Run) -> None:
    file = tmp_path / name
    file.write_bytes(FILES[name]())
    drafted = run("init", file, "--json").json
    kinds = {column["name"]: column["kind"] for column in drafted["columns"]}
    assert {name: kind for name, kind in kinds.items() if kind is not None} == KINDS
    assert totals_of(file, run) == TOTALS


@pytest.mark.parametrize("name", GERMAN)
def test_german_flags_are_text(name: str, tmp_path: Path, run: Run) -> None:
    file = tmp_path / name
    file.write_bytes(GERMAN[name]())
    assert run("init", file).code == 0
    assert totals_of(file, run, member="member = 'WAHR'") == TOTALS


def _parquet(file: Path) -> None:
    people = frame()
    people["born"] = people["born"].astype("datetime64[us]")
    people.to_parquet(file)


def _duckdb(file: Path) -> None:
    people = frame()
    with duckdb.connect(file) as database:
        database.register("given", people)
        database.execute("CREATE TABLE people AS SELECT * REPLACE (CAST(born AS DATE) AS born) FROM given")


def _sqlite(file: Path) -> None:
    with closing(sqlite3.connect(file)) as database, database:
        database.execute(
            "CREATE TABLE people (age INTEGER, weight REAL, town TEXT, member BOOLEAN, born DATE, plz VARCHAR(5))"
        )
        people = frame().astype(object)
        rows = people.where(people.notna(), None).itertuples(index=False)
        database.executemany("INSERT INTO people VALUES (?, ?, ?, ?, ?, ?)", rows)


@pytest.mark.parametrize("write", [_parquet, _duckdb, _sqlite])
def test_declared_types_tell_the_kinds(write: object, tmp_path: Path, run: Run) -> None:
    file = tmp_path / "people.data"  # its name tells nothing
    write(file)  # type: ignore[operator]
    drafted = run("init", file, "--json").json
    assert {column["name"]: column["kind"] for column in drafted["columns"]} == KINDS
    assert totals_of(file, run) == TOTALS


def test_row_numbers_without_a_name_are_left_out_for_everybody_to_see(tmp_path: Path, run: Run) -> None:
    for name in ("r-write-csv.csv", "pandas.csv"):
        file = tmp_path / name
        file.write_bytes(FILES[name]())
        drafted = run("init", file)
        assert (
            "Look at column_1 (left out): it has no name and contains row numbers, which R and pandas write."
            in drafted.out
        )
        draft = file.with_suffix(".toml").read_text("utf-8")
        assert '# The column "column_1" is left out.' in draft
        assert "[columns.column_1]" not in draft


def test_a_column_without_a_name_is_called_by_its_place(tmp_path: Path, run: Run) -> None:
    file = tmp_path / "named-rows.csv"
    file.write_text('"","age"\n"Ada",61\n"Ben",34\n', "utf-8")
    drafted = run("init", file)
    assert "Look at column_1: it has no name in the file, so it is named by its position." in drafted.out
    draft = file.with_suffix(".toml").read_text("utf-8")
    assert "[columns.column_1]\n# It has no name in the file" in draft
    file.with_suffix(".toml").write_text(
        filled_in(draft) + '[queries.ada]\nmeasure = "count"\nwhere = "column_1 = \'Ada\'"\n'
    )
    read = read_catalogue(file.with_suffix(".toml"))
    with closing(read.open()) as source:
        assert source.totals(read.entries[-1].query) == [1]


def test_empty_lines_are_records_where_there_is_one_column(tmp_path: Path, run: Run) -> None:
    file = tmp_path / "ages.csv"
    file.write_text("age\n61\n\n34\n", "utf-8")
    run("init", file)
    catalogue = file.with_suffix(".toml")
    catalogue.write_text(filled_in(catalogue.read_text("utf-8")), "utf-8")
    assert run("check", catalogue, "--json").json["rows"] == 3


def test_the_tabs_of_eurostat_come_before_the_commas_of_its_first_column(tmp_path: Path, run: Run) -> None:
    """As many fields by commas as by tabs."""
    file = tmp_path / "eurostat.tsv"
    lines = ["freq,unit,sex,geo\\TIME_PERIOD\t2021 \t2022 \t2023 ", "A,NR,F,DE\t1 \t: \t3 b", "A,NR,M,DE\t4 \t5 \t6 "]
    file.write_text("\n".join([*lines, ""]), "utf-8")
    drafted = run("init", file, "--json").json
    assert [column["name"] for column in drafted["columns"]] == [
        "freq,unit,sex,geo\\TIME_PERIOD",
        "2021",
        "2022",
        "2023",
    ]


@pytest.mark.parametrize(
    ("lines", "is_noted"),
    [
        (["a b c", "1 2 3", "4 5 6"], True),
        (["a b c", "1 1 2 3", "2 4 5 6"], True),  # R's write.table leaves out the name of the first column
        (["ID    AGE SEX", "0001   61 M", "0002    5 F", ""], True),  # of fixed width
        (["name", "Ada Lovelace", "Alan Turing"], False),
        (["a b c", "1 2 3", "4 5"], False),
    ],
)
def test_fields_that_blanks_seem_to_separate_are_pointed_out(
    lines: list[str], is_noted: bool, tmp_path: Path, run: Run
) -> None:
    file = tmp_path / "people.txt"
    file.write_text("\n".join([*lines, ""]), "utf-8")
    assert ("if its fields are separated by ' '" in run("init", file).out) == is_noted


def test_a_column_of_bytes_that_are_not_the_text_they_should_be_is_left_out(tmp_path: Path, run: Run) -> None:
    file = tmp_path / "people.parquet"
    starts, content = np.array([0, 2, 3], np.int32), b"\xff\xfea"
    town = pa.StringArray.from_buffers(2, pa.py_buffer(starts), pa.py_buffer(content))
    pq.write_table(pa.table({"town": town, "age": [61, 34]}), file)
    assert "Look at town (left out): it has bytes that are not UTF-8 text" in run("init", file).out
