"""What is installed only on request is named in one sentence, with the command that installs it."""

from __future__ import annotations

import pickle
import re
import sys
import tomllib
from datetime import date
from fractions import Fraction
from importlib.metadata import packages_distributions
from pathlib import Path
from typing import Any

import pytest

from noiseledger.cli.exits import BAD_INPUT, exit_code
from noiseledger.core.query import Column, Query
from noiseledger.data import small
from noiseledger.data.commitment import Commitment
from noiseledger.data.delimited import Dialect
from noiseledger.data.location import ENGINES, Location
from noiseledger.data.look import look
from noiseledger.data.reading import Reading
from noiseledger.data.source import Source
from noiseledger.data.table import Table
from noiseledger.errors import DataUnavailable, InvalidInput, MissingExtra
from noiseledger.extras import EXTRAS, missing, require

PROJECT = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text())["project"]
#: Their modules are imported by what moves out of the package, and by nothing else.
WITHOUT_MODULES = {"all", "experiments"}
READING = Reading(
    {"age": "number", "town": "text", "since": "date", "ill": "flag"},
    decimal=",",
    missing=frozenset({"NA"}),
    missing_codes={
        "age": frozenset({Fraction(8), Fraction("-0.25")}),
        "town": frozenset({"b"}),
        "since": frozenset({date(9999, 12, 31)}),
    },
)
FILES = {
    "plain": "age;town;since;ill\n61;Ulm;2024-02-29;yes\n7,5;Jena;;no\nNA;NA;2023-01-01;\n",
    "quotes": 'age;town;since;ill\n"61";"Ulm; Donau";"2024-02-29";1\n 8 ; "a ""b""" ;x;0\n',
    "odd": "age;town;since;ill;more\r\n1e3;;2024-02-30;T;\r\n-0,25; x ;2024-01-01 10:00;false;9\r\n",
    "one line": "age;town;since;ill\n5;Ulm;2024-01-01;1",
    "large": f"age;town;since;ill\n{2**53};ü😀e\u0301;0001-01-01;y\n-{2**53 - 1};b;9999-12-31;n\n"
    "1e-300;;;\n-0,0;c;;\n0,1;d;;\n",
    "no records": "age;town;since;ill\n",
}
QUERIES = [
    Query.count("age > 5"),
    Query.count("town = 'Ulm' OR since >= DATE '2024-01-01'"),
    Query.count("age IS NULL"),
    Query.mean(Column.of("age", lower=0, upper=100, grid="0.5", missing=3)),
    Query.counts_by("ill", [True, False]),
]


@pytest.fixture
def without_engines(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in EXTRAS["custodian"]:
        monkeypatch.setitem(sys.modules, module, None)


def test_the_table_of_extras_is_that_of_the_project() -> None:
    extras = PROJECT["optional-dependencies"]
    assert EXTRAS.keys() == extras.keys() - WITHOUT_MODULES
    distributions = packages_distributions()
    for extra, modules in EXTRAS.items():
        wanted = {_normal(re.split(r"[\[<>=]", line)[0]) for line in extras[extra]}
        for module in modules:
            assert wanted & set(map(_normal, distributions[module])), (extra, module)


def test_every_engine_has_an_extra_and_is_in_the_documentation() -> None:
    root = Path(__file__).parents[2]
    readme, guide = (root / "README.md").read_text(), (root / "docs" / "how-to" / "choose-an-engine.md").read_text()
    assert {"duckdb", "postgres", "spark", "mongodb"} <= ENGINES.keys()
    for engine in ENGINES.values():
        assert engine.extra in PROJECT["optional-dependencies"]
        assert f"`noiseledger[{engine.extra}]`" in guide
        assert engine.extra in readme
        assert not engine.schemes or f"{engine.schemes[0]}://" in guide


def _normal(name: str) -> str:
    return name.lower().replace("_", "-")


def test_everything_is_in_all() -> None:
    (everything,) = PROJECT["optional-dependencies"]["all"]
    named = set(everything.removeprefix("noiseledger[").removesuffix("]").split(","))
    assert named == PROJECT["optional-dependencies"].keys() - {"all"}


def test_a_missing_extra_is_one_sentence_and_a_mistake_of_use(monkeypatch: pytest.MonkeyPatch) -> None:
    require("web", "For the web pages,")
    monkeypatch.setitem(sys.modules, "uvicorn", None)
    assert missing("web") == ["uvicorn"]
    with pytest.raises(MissingExtra) as caught:
        require("web", "For the web pages,")
    error = caught.value
    assert str(error) == "For the web pages, uvicorn must be installed: pip install 'noiseledger[web]'"
    assert (error.name, exit_code(error)) == ("uvicorn", BAD_INPUT)
    again: Any = pickle.loads(pickle.dumps(error))
    assert (str(again), again.extra, again.modules) == (str(error), "web", ("uvicorn",))


@pytest.mark.parametrize("content", FILES.values(), ids=FILES)
@pytest.mark.parametrize("encoding", ["utf-8", "utf-16", "windows-1252"])
def test_small_files_are_read_alike_with_and_without_an_engine(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, content: str, encoding: str
) -> None:
    file = tmp_path / "people.csv"
    file.write_bytes(content.encode(encoding, "replace"))
    place = Location("duckdb", str(file), dialect=Dialect(delimiter=";", encoding=encoding))
    with_engine = place.open(READING)
    assert not isinstance(with_engine, Table)
    found = _facts(with_engine)
    with_engine.close()
    with monkeypatch.context() as patched:
        patched.setitem(sys.modules, "duckdb", None)
        without = place.open(READING)
    assert isinstance(without, Table)
    assert _facts(without) == found


def _facts(source: Source) -> Any:
    """Return everything that a ledger takes from its data."""
    secret = bytes(range(32))
    totals = [tuple(source.totals(query)) for query in QUERIES]
    root = Commitment(source.records(), secret).root
    return source.rows, dict(source.kinds), totals, source.fingerprint(secret), root


@pytest.mark.usefixtures("without_engines")
@pytest.mark.parametrize("form", ["parquet", "duckdb", "sqlite"])
def test_other_formats_name_the_extra(tmp_path: Path, form: Any) -> None:
    heads = {"parquet": b"PAR1", "duckdb": bytes(8) + b"DUCK", "sqlite": b"SQLite format 3\0"}
    file = tmp_path / f"people.{form}"
    file.write_bytes(heads[form] + bytes(100))
    for use in (lambda: Location("duckdb", str(file), format=form).open(READING), lambda: look(file)):
        with pytest.raises(MissingExtra, match=rf"{form} file, duckdb, .*\[custodian\]"):
            use()


@pytest.mark.usefixtures("without_engines")
def test_a_large_file_names_the_extra(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "people.csv"
    file.write_text(FILES["plain"])
    place = Location("duckdb", str(file), dialect=Dialect(delimiter=";"))
    monkeypatch.setattr(small, "MOST_BYTES", file.stat().st_size)
    assert place.open(READING).rows == 3
    monkeypatch.setattr(small, "MOST_BYTES", file.stat().st_size - 1)
    with pytest.raises(MissingExtra, match=r"the limit without it is 0 MB.*\[custodian\]"):
        place.open(READING)


@pytest.mark.usefixtures("without_engines")
def test_what_is_wrong_with_a_file_is_said_as_with_an_engine(tmp_path: Path) -> None:
    file = tmp_path / "people.csv"
    file.write_bytes(b"PK\x03\x04")
    with pytest.raises(DataUnavailable, match="a workbook or an archive"):
        Location("duckdb", str(file)).open(READING)
    file.write_text(FILES["plain"])
    with pytest.raises(InvalidInput, match="only one table"):
        Location("duckdb", str(file), table="people").open(READING)
    with pytest.raises(DataUnavailable, match="cannot be read"):
        Location("duckdb", str(tmp_path / "absent.csv")).open(READING)


@pytest.mark.usefixtures("without_engines")
def test_a_commitment_names_the_extra() -> None:
    with pytest.raises(MissingExtra, match=r"\[custodian\]"):
        Commitment(iter([{"age": None}]), bytes(32))
