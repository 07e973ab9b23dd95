"""Apache Spark on this machine: one Java process for all tests of this file."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import closing
from itertools import count
from pathlib import Path

import pytest

from engines.dataset import Dataset, write_csv, write_parquet
from engines.law import FEW_QUERIES, QUERIES, READING, Law, RawRecord, Store
from engines.suite import EngineConformance, Load
from engines.test_law import write_lines, write_text_parquet
from noiseledger.core.query import Query
from noiseledger.data import Source, Table
from noiseledger.data.engines import spark
from noiseledger.data.engines.spark import open_spark
from noiseledger.data.reading import Reading
from noiseledger.errors import DataUnavailable


@pytest.fixture(scope="module", autouse=True)
def quick_java() -> Iterator[None]:
    """Java spends most of its first minute on making itself fast for hours."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("JAVA_TOOL_OPTIONS", "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC")
        yield


class TestSparkCsv(EngineConformance):
    line_breaks = False
    examples = 3
    deep = (
        "test_filters_mean_the_same",
        "test_every_measure_means_the_same",
        "test_every_grid_rounds_halves_up",
        "test_values_far_outside_the_bounds_count_as_the_bounds",
        "test_any_name_of_a_column_is_only_a_name",
    )

    @pytest.fixture(scope="class")
    @classmethod
    def load(cls, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Load]:
        folder, numbers = tmp_path_factory.mktemp("csv"), count()
        # Spark compiles each query, or interprets it: here the one, elsewhere the other.
        spark._session().conf.set("spark.sql.codegen.wholeStage", "false")

        def load(data: Dataset) -> Source:
            return open_spark(write_csv(data, folder / f"people {next(numbers)}.csv"), "csv", data.reading)

        yield load
        spark._session().conf.unset("spark.sql.codegen.wholeStage")


class TestSparkParquet(EngineConformance):
    examples = 3

    @pytest.fixture(scope="class")
    @classmethod
    def load(cls, tmp_path_factory: pytest.TempPathFactory) -> Load:
        folder, numbers = tmp_path_factory.mktemp("parquet"), count()

        def load(data: Dataset) -> Source:
            """Write a folder of two files."""
            place = folder / f"people {next(numbers)}"
            place.mkdir()
            write_parquet(Dataset(data.types, data.rows[::2]), place / "even.parquet")
            write_parquet(Dataset(data.types, data.rows[1::2]), place / "odd.parquet")
            return open_spark(place, "parquet", data.reading)

        return load


class TestLawCsv(Law):
    pairs = 2
    asked = FEW_QUERIES

    def reference(self, records: Sequence[RawRecord]) -> Table | None:
        return None

    @pytest.fixture(scope="class")
    @classmethod
    def store(cls, tmp_path_factory: pytest.TempPathFactory) -> Store:
        folder, numbers = tmp_path_factory.mktemp("law"), count()
        return lambda records: open_spark(write_lines(records, folder / f"{next(numbers)}.csv"), "csv", READING)


class TestLawParquet(Law):
    pairs = 2
    deep = ("test_pairs_that_once_broke_it",)

    @pytest.fixture(scope="class")
    @classmethod
    def store(cls, tmp_path_factory: pytest.TempPathFactory) -> Store:
        folder, numbers = tmp_path_factory.mktemp("law"), count()

        def store(records: Sequence[RawRecord]) -> Source:
            file = write_text_parquet(records, folder / f"{next(numbers)}.parquet")
            return open_spark(file, "parquet", READING)

        return store


@pytest.mark.deep
class TestWholeLawCsv(TestLawCsv):
    asked = QUERIES


def test_text_written_with_a_collation_is_its_letters(tmp_path: Path) -> None:
    towns = ["Ulm"] * 100 + ["ULM"]
    frame = spark._session().createDataFrame([(town,) for town in towns], "t STRING COLLATE UTF8_LCASE")
    frame.write.parquet(str(tmp_path / "people"))
    with closing(open_spark(tmp_path / "people", "parquet", Reading({"t": "text"}))) as source:
        assert source.totals(Query.counts_by("t", ["Ulm", "ULM", "ulm"])) == [1, 100, 0]


@pytest.mark.parametrize("other", ["X", "89073"])
def test_the_names_of_folders_are_text(other: str, tmp_path: Path) -> None:
    """Whatever the others are called: Spark would read 01067 as 1067 until one of them is no number."""
    for zone in ("01067", other):
        (tmp_path / "people" / f"zip={zone}").mkdir(parents=True)
        write_parquet(Dataset({"n": "whole"}, [[1], [2]]), tmp_path / "people" / f"zip={zone}" / "a.parquet")
    with closing(open_spark(tmp_path / "people", "parquet", Reading({"zip": "text"}))) as source:
        assert source.totals(Query.counts_by("zip", ["01067", "1067", other])) == [2, 0, 2]


def test_a_byte_order_mark_does_not_make_a_record_of_the_names(tmp_path: Path) -> None:
    (tmp_path / "people.csv").write_bytes(b"\xef\xbb\xbfn,x\n1,2\n3,4\n")
    source = open_spark(tmp_path / "people.csv", "csv", Reading({"n": "text"}))
    assert sorted(record["n"] for record in source.records()) == ["1", "3"]


def test_integers_beside_missing_values_keep_every_digit(tmp_path: Path) -> None:
    file = write_parquet(Dataset({"n": "whole"}, [[2**53 + 1], [None], [-(2**63)]]), tmp_path / "people.parquet")
    with closing(open_spark(file, "parquet", Reading({"n": "number"}))) as source:
        assert [record["n"] for record in source.records()] == [2**53 + 1, None, -(2**63)]


@pytest.mark.parametrize(
    ("content", "hint"),
    [
        (b"n,x\n1,secret,3\n", "line 2: expected 2 fields"),
        (b'n,x\n1,2\n1,"secret\n', "line 3: a quote is not closed"),
        (b"n,x\n1,2\nn,x\n", "line 3: it repeats the names"),
        (b"\xef\xbb\xbfn,x\n1,2\nn,x\n", "line 3: it repeats the names"),
        (b"n,n\n1,2\n", "have the same name"),
        (b"n,N\n1,2\n", "have the same name"),
    ],
)
def test_what_cannot_be_read_is_said_without_a_value(tmp_path: Path, content: bytes, hint: str) -> None:
    file = tmp_path / "people.csv"
    file.write_bytes(content)
    with pytest.raises(DataUnavailable, match=hint) as caught:
        open_spark(file, "csv", Reading({"n": "number"}))
    assert "secret" not in str(caught.value)


def test_a_place_that_is_not_there_or_not_one_place_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DataUnavailable, match="no such file"):
        open_spark(tmp_path / "absent.csv", "csv", Reading())
    pattern = write_csv(Dataset({"n": "whole"}, [[1]]), tmp_path / "people*.csv")
    with pytest.raises(DataUnavailable, match="as a pattern: rename it"):
        open_spark(pattern, "csv", Reading())
    with pytest.raises(DataUnavailable, match="database file, which Spark cannot read: remove engine"):
        open_spark(pattern, "sqlite", Reading())


def test_without_java_the_error_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    monkeypatch.delenv("JAVA_HOME", raising=False)
    with pytest.raises(DataUnavailable, match="needs Java"):
        spark._started()


def test_it_prints_nothing_and_listens_on_loopback_only(tmp_path: Path) -> None:
    file = write_csv(Dataset({"n": "whole"}, [[1], [2]]), tmp_path / "people.csv")
    program = f"""
from pathlib import Path
from noiseledger.core.query import Column, Query
from noiseledger.data.engines.spark import open_spark
from noiseledger.data.reading import Reading

def listening():
    lines = [line.split() for name in ("tcp", "tcp6") for line in Path("/proc/net", name).read_text().splitlines()[1:]]
    return {{line[1] for line in lines if line[3] == "0A"}}

before = listening()
people = open_spark(Path({str(file)!r}), "csv", Reading({{"n": "number"}}))
print(people.totals(Query.sum(Column.of("n", 0, 5, missing=0))))
new = listening() - before
assert new, "Spark listens nowhere, so this test tests nothing"
print({{address.partition(":")[0] for address in new}})
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    totals, addresses = done.stdout.splitlines()
    assert totals == "[3]"
    assert eval(addresses) <= {"0100007F", "0000000000000000FFFF00000100007F"}
    assert done.stderr == ""
