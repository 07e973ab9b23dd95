"""``noiseledger init`` and ``noiseledger check`` as a custodian runs them."""

from __future__ import annotations

import json
import re
import sqlite3
import tomllib
from contextlib import closing
from pathlib import Path

import duckdb
import pytest

from command import Runner
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


def test_a_draft_is_not_ready_until_what_is_marked_is_chosen(data: Path) -> None:
    run("init", str(data))
    catalogue = data.with_suffix(".toml")
    draft = catalogue.read_text()
    checked = run("check", str(catalogue))
    assert checked.returncode == 2
    line = draft.splitlines().index('[columns."hours worked"]') + 1
    marked = f"{catalogue}:{line}: Column hours worked: fill in lower, upper, missing, without looking at the data."
    assert marked in checked.stderr
    assert "Traceback" not in checked.stderr
    bounded = draft.replace('lower = "?"', "lower = 0").replace('upper = "?"', "upper = 1_000_000")
    catalogue.write_text(bounded.replace('missing = "?"', ""))
    assert f"{catalogue}:{line}: column hours worked needs missing" in run("check", str(catalogue)).stderr
    catalogue.write_text(bounded.replace('missing = "?"', "missing = 0"))
    facts = json.loads(run("check", str(catalogue), "--json").stdout)
    assert facts["rows"] == 2
    assert facts["doubts"] == []
    assert [query["name"] for query in facts["queries"]] == ["mean_hours_worked", "mean_income"]
    assert facts["queries"][0]["sensitivity"] == 500_000
    assert [item["epsilon"] for item in facts["affords"]] == [0.1, 0.5, 1]
    assert "no problems" in run("check", str(catalogue)).stdout


def test_a_draft_declares_everything(data: Path) -> None:
    run("init", str(data))
    draft = tomllib.loads(data.with_suffix(".toml").read_text())
    assert draft["source"] == {
        "file": "people.csv",
        "format": "csv",
        "delimiter": ",",
        "quote": '"',
        "encoding": "utf-8",
        "header": True,
        "decimal": ".",
        "missing": [],
    }
    assert {name: column["kind"] for name, column in draft["columns"].items()} == {
        "name": "text",
        "hours worked": "number",
        "income": "number",
    }


def test_nothing_is_overwritten(data: Path) -> None:
    run("init", str(data))
    again = run("init", str(data))
    assert again.returncode == 2
    assert "was not changed" in again.stderr
    elsewhere = data.with_name("other.toml")
    drafted = json.loads(run("init", str(data), "--out", str(elsewhere), "--json").stdout)
    assert drafted["catalogue"] == str(elsewhere)
    assert drafted["source"]["delimiter"] == ","
    assert drafted["columns"] == [
        {"name": "name", "kind": "text", "notes": []},
        {
            "name": "hours worked",
            "kind": "number",
            "notes": ['some values have fractions: choose a grid such as "0.1"'],
        },
        {"name": "income", "kind": "number", "notes": []},
    ]


def test_names_that_look_alike_make_different_queries_and_any_letters_are_kept(tmp_path: Path) -> None:
    file = tmp_path / "odd.csv"
    file.write_text('größe,gr ße,"say ""hi"" \\ 😀\x7f"\n1,2,3\n', encoding="utf-8")
    assert run("init", str(file)).returncode == 0
    draft = tomllib.loads(file.with_suffix(".toml").read_text(encoding="utf-8"))
    assert list(draft["columns"]) == ["größe", "gr ße", 'say "hi" \\ 😀\x7f']
    assert list(draft["queries"]) == ["mean_gr_e", "mean_gr_e_2", "mean_say_hi_"]


def test_bounds_are_asked_for_at_a_terminal(
    data: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    at_terminal = Runner(monkeypatch, capsys)
    done = at_terminal("init", data, typed="0\nmany\n80\n0\n\n\n\n")
    assert done.code == 0
    draft = tomllib.loads(data.with_suffix(".toml").read_text())
    hours = draft["columns"]["hours worked"]
    assert [hours[key] for key in ("lower", "upper", "missing")] == ["0", "80", "0"]
    assert draft["columns"]["income"]["lower"] == "?"


@pytest.mark.parametrize(
    ("option", "columns"), [("--no-header", ["column_1", "column_2"]), ("--header", ["61", "Ulm"])]
)
def test_whether_there_is_a_header_can_be_said(option: str, columns: list[str], tmp_path: Path) -> None:
    file = tmp_path / "people.csv"
    file.write_text("61,Ulm\n34,Bonn\n5,Ulm\n")
    drafted = json.loads(run("init", str(file), option, "--json").stdout)
    assert [column["name"] for column in drafted["columns"]] == columns
    assert drafted["source"]["header"] is (option == "--header")


def test_a_catalogue_from_before_is_told_what_to_add(tmp_path: Path) -> None:
    catalogue = tmp_path / "census.toml"
    catalogue.write_text(
        '[source]\nfile = "acs12.csv"\n[privacy]\nepsilon = 8\ndelta = "1e-4"\nneighbours = "replace"\n'
        "[columns.income]\nlower = -10000\nupper = 1000000\ngrid = 1\n"
        '[queries.mean_income]\nmeasure = "mean"\ncolumn = "income"\n'
        '[queries.citizens]\nmeasure = "share"\nwhere = "citizen = \'yes\'"\n'
        '[queries.ages]\nmeasure = "count"\nby = "age"\nedges = [0, 20, 40]\n'
        '[queries.long_hours]\nmeasure = "count"\nwhere = "\\"hours worked\\" IS NULL"\n'
    )
    assert run("check", str(catalogue)).stderr.removeprefix("noiseledger: ").splitlines() == [
        f'{catalogue}:7: column income needs kind: one of number, text, flag, date (it has bounds, so kind = "number").',
        f"{catalogue}:7: column income needs missing: the value to use for missing ones, within the bounds; anything that "
        "cannot be read as a number is missing, so it is needed even if you know of none.",
        f'{catalogue}:14: Query citizens uses citizen, which is not declared: add [columns.citizen] with kind = "text".',
        f'{catalogue}:17: Query ages uses age, which is not declared: add [columns.age] with kind = "number".',
        f"{catalogue}:21: Query long_hours uses hours worked, which is not declared: add "
        '[columns."hours worked"] with a kind (number, text, flag, date).',
    ]


def test_a_column_that_is_mostly_missing_is_doubted(tmp_path: Path) -> None:
    (tmp_path / "people.csv").write_text("age;weight\n61;70,5\n34;82,25\n5;19\n")
    catalogue = tmp_path / "people.toml"
    catalogue.write_text(
        '[source]\nfile = "people.csv"\ndelimiter = ";"\n[privacy]\nepsilon = 1\ndelta = "1e-6"\nneighbours = "replace"\n'
        '[columns.age]\nkind = "number"\n[columns.weight]\nkind = "number"\nlower = 0\nupper = 300\nmissing = 0\n'
        '[queries.weight]\nmeasure = "mean"\ncolumn = "weight"\n'
    )
    doubts = json.loads(run("check", str(catalogue), "--json").stdout)["doubts"]
    assert len(doubts) == 2
    assert f"{tmp_path / 'people.csv'}, line 2 and 1 more: weight is a number with the decimal mark ','" in doubts[0]
    assert 'write decimal = "," in [source]' in doubts[0]
    assert doubts[1].startswith("weight: 2 of 3 values are missing when read as number.")
    assert "Please check: weight" in run("check", str(catalogue)).stdout
    catalogue.write_text(catalogue.read_text().replace('";"\n', '";"\ndecimal = ","\n'))
    assert json.loads(run("check", str(catalogue), "--json").stdout)["doubts"] == []


def test_bytes_of_another_encoding_are_doubted_with_their_line(tmp_path: Path) -> None:
    (tmp_path / "people.csv").write_bytes("town\nUlm\nKöln\n".encode("windows-1252"))
    catalogue = tmp_path / "people.toml"
    catalogue.write_text(
        '[source]\nfile = "people.csv"\n[privacy]\nepsilon = 1\ndelta = "1e-6"\nneighbours = "replace"\n'
        '[columns.town]\nkind = "text"\n[queries.ulm]\nmeasure = "count"\nwhere = "town = \'Ulm\'"\n'
    )
    (doubt,) = json.loads(run("check", str(catalogue), "--json").stdout)["doubts"]
    assert f"{tmp_path / 'people.csv'}, line 3: there are bytes that are not UTF-8" in doubt
    assert "iconv -f WINDOWS-1252 -t UTF-8" in doubt
    catalogue.write_text(catalogue.read_text().replace('people.csv"', 'people.csv"\nencoding = "windows-1252"'))
    assert json.loads(run("check", str(catalogue), "--json").stdout)["doubts"] == []
    (tmp_path / "people.csv").write_text("town\nUlm\nKöln\n", encoding="utf-8")
    (doubt,) = json.loads(run("check", str(catalogue), "--json").stdout)["doubts"]
    assert 'write encoding = "utf-8" in [source]' in doubt


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("age;town\n61;Ulm\n", "with the delimiter ',' there is one column, but its name contains ';'"),
        ("age\ttown\n61\tUlm\n", 'write delimiter = "\\t" in [source]'),
        ("gr\xf6\xdfe,town\n61,Ulm\n", 'encoding = "windows-1252" in [source], or convert it with iconv'),
        ("age,weight\n61,70,5\n", 'declare delimiter = ";" and decimal = ","'),
    ],
)
def test_a_file_that_is_declared_wrongly_is_refused_with_what_mends_it(tmp_path: Path, content: str, said: str) -> None:
    (tmp_path / "people.csv").write_bytes(content.encode("latin-1"))
    catalogue = tmp_path / "people.toml"
    name = "größe" if "xf6" in ascii(content) else "age"
    catalogue.write_text(
        '[source]\nfile = "people.csv"\n[privacy]\nepsilon = 1\ndelta = "1e-6"\nneighbours = "replace"\n'
        f'[columns."{name}"]\nkind = "number"\n[queries.q]\nmeasure = "count"\nby = "{name}"\ngroups = [1, 2]\n'
    )
    checked = run("check", str(catalogue))
    assert checked.returncode == 2
    assert said in checked.stderr
    (tmp_path / "people.csv").write_text('"age;town"\n61\n')
    assert "one column, but" not in run("check", str(catalogue)).stderr


def test_a_draft_has_no_query_of_a_number_of_persons(tmp_path: Path) -> None:
    """Its name does not say what it is, but no two rows have the same."""
    rows = [f"{7919 * (n + 3) % 100_003},{100 + n // 2},{n / 8}" for n in range(90)]
    file = tmp_path / "people.csv"
    file.write_text("\n".join(["PersonNr,wage,score", *rows, ""]))
    done = run("init", str(file))
    assert "Look at PersonNr: its values are all different whole numbers" in done.stdout
    text = file.with_suffix(".toml").read_text()
    assert [*tomllib.loads(text)["queries"]] == ["mean_wage", "mean_score"]
    table = tmp_path / "people.parquet"
    duckdb.sql(f"COPY (SELECT * FROM read_csv('{file}')) TO '{table}' (FORMAT parquet)")
    run("init", str(table), "--out", str(tmp_path / "table.toml"))
    assert [*tomllib.loads((tmp_path / "table.toml").read_text())["queries"]] == ["mean_wage", "mean_score"]


def test_a_draft_is_short_and_has_no_mean_of_a_code(tmp_path: Path) -> None:
    """A survey of many columns, most of them codes: a dozen queries at most, with comments."""
    names = ["AGE", "SEX", "HOURS", *(f"Q{n}" for n in range(30)), *(f"INCOME{n}" for n in range(9)), "TOWN"]
    people: list[list[object]] = [
        [20 + n % 50, 1 + n % 2, n % 70, *(1 + n % 5 for _ in range(30)), *(n // 2 * 7 for _ in range(9)), "Ulm"]
        for n in range(99)
    ]
    rows: list[list[object]] = [[*names], *people]
    file = tmp_path / "survey.csv"
    file.write_text("\n".join(",".join(map(str, row)) for row in rows) + "\n")
    assert run("init", str(file)).returncode == 0
    text = file.with_suffix(".toml").read_text()
    draft = tomllib.loads(text)
    assert list(draft["columns"]) == names
    assert [*draft["queries"]] == ["mean_AGE", "mean_HOURS", *(f"mean_INCOME{n}" for n in range(3))]
    assert text.count("[queries.") == 12
    assert '# by = "SEX"' in text
    assert '# labels = { 1 = "...", 2 = "..." }' in text
    # All that is in comments can be used once it is filled in.
    filled = re.sub("^# (?=(labels|.queries|measure|by|groups|edges) ?)", "", text, flags=re.MULTILINE)
    tomllib.loads(filled.replace("[..., ..., ...]", "[1, 2, 3]").replace("[..., ...]", "[1, 2]"))
    assert "No query is drafted for 33 more columns" in text


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
    catalogue.write_text(text.replace('missing = "?"', "missing = 0"))
    data.unlink()
    assert "people.csv cannot be read" in run("check", str(catalogue)).stderr


def test_a_table_of_a_database_is_drafted_by_name(tmp_path: Path) -> None:
    file = tmp_path / "study.db"
    with closing(sqlite3.connect(file)) as database:
        database.executescript("CREATE TABLE people (age INTEGER); CREATE TABLE visits (day TEXT);")
    unsaid = run("init", str(file))
    assert "Name the table" in unsaid.stderr
    assert "people, visits" in unsaid.stderr
    assert run("init", str(file), "--table", "people").returncode == 0
    draft = file.with_suffix(".toml").read_text()
    assert 'table = "people"' in draft
    assert "[columns.age]" in draft


def test_what_the_data_cannot_answer_has_a_line_and_a_hint(data: Path) -> None:
    catalogue = data.with_suffix(".toml")
    text = (
        '[source]\nfile = "people.csv"\n[privacy]\nepsilon = 1\ndelta = "1e-6"\nneighbours = "replace"\n'
        '[columns.incme]\nkind = "number"\n'
        '[queries.rich]\nmeasure = "share"\nwhere = "incme > 5"\n'
        f'[queries.all]\nmeasure = "count"\nby = "incme"\nedges = {list(range(600))}\n'
        f'[queries.two]\nmeasure = "count"\nby = ["incme", "month(name)"]\nedges.incme = {list(range(52))}\n'
        'groups = { "month(name)" = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12] }\n[columns.name]\nkind = "date"\n'
    )
    catalogue.write_text(text)
    found = run("check", str(catalogue)).stderr
    assert (
        f"{catalogue}:1: The data has no column incme (did you mean income?): correct the name, or remove it." in found
    )
    too_many = text.replace(str(list(range(600))), str(list(range(70_000)))).replace(
        str(list(range(52))), str(list(range(6_001)))
    )
    catalogue.write_text(too_many)
    found = run("check", str(catalogue)).stderr
    assert f"{catalogue}:12: A query may have 65,536 groups at most, not 69,999" in found
    assert "may have 65,536 groups at most, not 72,000 (6,000 of incme times 12 of month(name))" in found
