"""The paper's data in shape: made-up people, the catalogue for a real extract, and true values by another way."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from fractions import Fraction
from hashlib import sha256
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pytest
from pyarrow import parquet

from noiseledger.core.privacy import precision_for
from noiseledger.core.sensitivity import Neighbours, sensitivity
from noiseledger.data import Table, ipums
from noiseledger.data.catalogue import Catalogue, read_catalogue
from noiseledger.data.engines.files import open_file
from noiseledger.data.formats import Format, format_by_name
from noiseledger.data.reading import Reading
from noiseledger.data.source import Source, check_query
from noiseledger.errors import InvalidInput
from unit.test_cli import run

COLUMNS = ["INCTOT", "FTOTINC", "AGE", "RACE", "CITIZEN"]
QUERIES = ["mean_personal_income", "mean_family_income", "citizens", "white", "over_60"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("ipums")
    ipums.main(["--out", str(folder / "people.csv"), "--catalogue", str(folder / "people.toml")])
    ipums.write_people(folder / "people.parquet")
    return folder


@pytest.fixture(scope="module")
def catalogue(folder: Path) -> Catalogue:
    return read_catalogue(folder / "people.toml")


def totals_by_pandas(people: pd.DataFrame) -> dict[str, int]:
    """Compute what the five queries add up, without any of our code."""
    return {
        "mean_personal_income": int(people["INCTOT"].fillna(0).clip(-10_000, 1_000_000).sum()),
        "mean_family_income": int(people["FTOTINC"].fillna(0).clip(-20_000, 2_000_000).sum()),
        "citizens": int((people["CITIZEN"] < 3).sum()),
        "white": int((people["RACE"] == 1).sum()),
        "over_60": int((people["AGE"] > 60).sum()),
    }


def totals_by_us(catalogue: Catalogue, source: Source) -> dict[str, int]:
    for entry in catalogue.entries:
        check_query(entry.query, source.kinds)
    return {entry.name: source.totals(entry.query)[0] for entry in catalogue.entries}


def read_csv(file: Path, form: Format, reading: Reading) -> Source:
    return Table.read_csv(file, reading)


def read_parquet(file: Path, form: Format, reading: Reading) -> Source:
    return Table(parquet.read_table(file).to_pylist(), reading)


@pytest.mark.parametrize(
    ("name", "read"),
    [
        ("people.csv", open_file),
        ("people.parquet", open_file),
        ("people.csv", read_csv),
        ("people.parquet", read_parquet),
    ],
)
def test_the_true_totals_are_those_of_pandas(
    folder: Path, catalogue: Catalogue, name: str, read: Callable[[Path, Format, Reading], Source]
) -> None:
    people = pd.read_csv(folder / "people.csv")
    with closing(read(folder / name, format_by_name(folder / name), catalogue.reading)) as source:
        assert source.rows == len(people) == 5000
        assert totals_by_us(catalogue, source) == totals_by_pandas(people)


def test_the_codes_of_a_real_extract_count_as_documented(tmp_path: Path, catalogue: Catalogue) -> None:
    """Codes for no income are missing, and count as nothing; without the declaration they are clamped like any number."""
    people = pd.concat([batch.to_pandas() for batch in ipums.people(200, seed=3)])
    people.loc[people["AGE"] < 15, "INCTOT"] = 9_999_999
    people.loc[::7, "FTOTINC"] = 9_999_998
    recoded = people.replace({name: {9_999_999: None, 9_999_998: None} for name in ("INCTOT", "FTOTINC")})
    children = int((people["AGE"] < 15).sum())
    assert children > 0
    undeclared = replace(catalogue.reading, missing_codes={})
    cases = (people, undeclared, people), (people, catalogue.reading, recoded), (recoded, undeclared, recoded)
    for number, (frame, reading, meant) in enumerate(cases):
        file = tmp_path / f"{number}.parquet"
        frame.astype("Int64").to_parquet(file)
        with closing(open_file(file, "parquet", reading)) as source:
            assert totals_by_us(catalogue, source) == totals_by_pandas(meant)
    difference = totals_by_pandas(people)["mean_personal_income"] - totals_by_pandas(recoded)["mean_personal_income"]
    assert difference == children * 1_000_000


def test_the_catalogue_is_the_papers(catalogue: Catalogue) -> None:
    population = catalogue.population(ipums.ROWS)
    assert catalogue.neighbours is Neighbours.REPLACE
    assert (catalogue.budget.epsilon, catalogue.budget.delta) == (8, Fraction("1e-4"))
    assert catalogue.budget.total == precision_for(8, "1e-4")
    found = {entry.name: sensitivity(entry.query, population) for entry in catalogue.entries}
    share = Fraction(1, 5000)
    assert found == dict(zip(QUERIES, (202, 404, share, share, share), strict=True))


def test_the_catalogue_passes_the_check(folder: Path, tmp_path: Path) -> None:
    facts = json.loads(run("check", str(folder / "people.toml"), "--json").stdout)
    assert facts["rows"] == 5000
    assert [query["name"] for query in facts["queries"]] == QUERIES
    # Also from another folder, and for another format.
    ipums.main(["--rows", "10", "--out", str(tmp_path / "x.parquet"), "--catalogue", str(folder / "other.toml")])
    assert json.loads(run("check", str(folder / "other.toml"), "--json").stdout)["rows"] == 10


def test_people_stay_within_the_published_ranges() -> None:
    people = pd.concat([batch.to_pandas() for batch in ipums.people(300_000, seed=7)])
    assert list(people.columns) == COLUMNS
    assert len(people) == 300_000
    assert people["INCTOT"].between(-10_000, 1_000_000).all()
    assert people["FTOTINC"].between(-20_000, 2_000_000).all()
    assert set(people["AGE"]) == set(range(96))
    assert set(people["RACE"]) == set(range(1, 10))
    assert set(people["CITIZEN"]) == {0, 1, 2, 3}
    # No value that a query depends on is rare or the rule.
    assert (people["INCTOT"] < 0).any()
    for share in (people["CITIZEN"] < 3, people["RACE"] == 1, people["AGE"] > 60, people["INCTOT"] > 0):
        assert 0.1 < share.mean() < 0.95


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
def test_a_seed_gives_the_same_bytes_and_another_seed_others(tmp_path: Path, suffix: str) -> None:
    for name, seed in (("one", 1), ("again", 1), ("other", 2)):
        ipums.write_people(tmp_path / (name + suffix), rows=500, seed=seed)
    one, again, other = ((tmp_path / (name + suffix)).read_bytes() for name in ("one", "again", "other"))
    assert one == again
    assert one != other


def test_the_people_of_a_seed_are_the_same_for_ever(folder: Path) -> None:
    """Numbers in the docs depend on them."""
    lines = (folder / "people.csv").read_bytes().partition(b"\n")[2]
    assert sha256(lines).hexdigest() == "a6fcae0c6f7f14497b85628d8f34922d7f4ed117fabc5dd66fe7c86b4dab4e24"


def test_the_first_of_many_are_those_of_few(monkeypatch: pytest.MonkeyPatch) -> None:
    few = pa.Table.from_batches(ipums.people(50))
    monkeypatch.setattr(ipums, "_CHUNK", 30)
    many = list(ipums.people(100))
    assert [batch.num_rows for batch in many] == [30, 30, 30, 10]
    assert pa.Table.from_batches(many).slice(0, 50).equals(few)


def test_nothing_is_overwritten_and_other_formats_are_refused(tmp_path: Path) -> None:
    file = tmp_path / "people.csv"
    file.write_text("mine")
    with pytest.raises(InvalidInput, match="already exists"):
        ipums.write_people(file)
    assert file.read_text() == "mine"
    with pytest.raises(InvalidInput, match=r"\.csv or \.parquet"):
        ipums.write_people(tmp_path / "people.xlsx")
    with pytest.raises(InvalidInput, match="negative"):
        ipums.write_people(tmp_path / "nobody.csv", rows=-1)
    assert [path.name for path in tmp_path.iterdir()] == ["people.csv"]


def test_a_mistake_on_the_command_line_is_one_sentence(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "noiseledger.data.ipums", "--out", str(tmp_path / "people.txt")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "must end in .csv or .parquet" in done.stderr
    assert "Traceback" not in done.stderr
