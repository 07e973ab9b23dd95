"""Files read by DuckDB."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from contextlib import closing
from importlib import resources
from itertools import count
from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from engines.dataset import Dataset, write_csv, write_duckdb, write_parquet, write_sqlite
from engines.suite import SECRET, EngineConformance, Load
from noiseledger.core.query import Column, Query
from noiseledger.data import Source, Table
from noiseledger.data.commitment import Commitment
from noiseledger.data.engines.files import open_file
from noiseledger.data.formats import Format
from noiseledger.errors import DataMismatch, DataUnavailable, InvalidInput


def _loading(write: Callable[[Dataset, Path], Path], folder: Path, form: Format) -> Load:
    numbers = count()

    def load(data: Dataset) -> Source:
        return open_file(write(data, folder / f"people{next(numbers)}"), form, data.reading)

    return load


class TestCsv(EngineConformance):
    line_breaks = False

    @pytest.fixture(scope="class")
    @classmethod
    def load(cls, tmp_path_factory: pytest.TempPathFactory) -> Load:
        return _loading(write_csv, tmp_path_factory.mktemp("csv"), "csv")


CENSUS = resources.files("noiseledger.data") / "acs12.csv"


def test_the_census_sample_is_the_same_dataset_in_every_format(tmp_path: Path) -> None:
    expected = Commitment(Table.census_sample().records(), SECRET).root
    with resources.as_file(CENSUS) as sample, closing(open_file(sample)) as source:
        assert Commitment(source.records(), SECRET).root == expected
        content = pa.Table.from_pylist(list(source.records()))
    pq.write_table(content, tmp_path / "people")
    with closing(open_file(tmp_path / "people")) as source:
        assert Commitment(source.records(), SECRET).root == expected


@pytest.mark.parametrize(
    "content",
    [
        b"n,t\n1,a\n\n2,b\n",
        b"n\n1\n\n2\n",
        b'n\n1\n""\n2\n',
        b"n,t\r\n1,a\r\n",
        b"n,t\n1,a\n# 5,b\n",
        b"n,t\n01067,a\n 7 ,\n",
        b"n , t\n 1 ,-0\n2,0.0\n",
        b"n,t\n1e-400,1e400\n-1.5e3,nan\n7,-INFINITY\n8,5\n",
        b"n,t\n123456789012345678,1234567890123456789\n",
        b'n,t\n"1","say ""no"""\n',
        b"1,2\n3,4\n",
        b"n;t\n1;2\n",
        b"n,t\n",
        b"n,t\n,\n,\n",
    ],
)
def test_a_csv_file_means_what_the_reference_reads(tmp_path: Path, content: bytes) -> None:
    file = tmp_path / "people"
    file.write_bytes(content)
    reference = Table.read_csv(file)
    with closing(open_file(file)) as source:
        assert source.rows == reference.rows
        assert dict(source.columns) == dict(reference.columns)
        assert Commitment(source.records(), SECRET).root == Commitment(reference.records(), SECRET).root


@pytest.mark.parametrize(
    ("content", "hint"),
    [
        (b"", "a name of its own"),
        (b"n,n\n1,secret\n", "a name of its own"),
        (b"n,N\n1,secret\n", "a name of its own"),
        (b"n,\n1,secret\n", "a name of its own"),
        (b"n,t\n1,secret,3\n", "as many fields in every line"),
        (b"n,t\nsecret\n", "as many fields in every line"),
        (b'n,t\n1,"secret\n', "as many fields in every line"),
        (b"n,t\n" + b"1,secret\n" * 9999 + b"1,\xff\n", "UTF-8"),
        (b"PAR1 secret", "as parquet"),
        (b"SQLite format 3\0 secret", "as sqlite"),
        (b"secret  DUCK secret", "as duckdb"),
    ],
)
def test_a_file_that_cannot_be_read_is_said_without_a_value(tmp_path: Path, content: bytes, hint: str) -> None:
    file = tmp_path / "people"
    file.write_bytes(content)
    with pytest.raises(DataUnavailable, match=hint) as caught:
        open_file(file)
    assert "secret" not in str(caught.value)


def test_a_byte_order_mark_is_no_part_of_a_name(tmp_path: Path) -> None:
    (tmp_path / "people").write_bytes(b"\xef\xbb\xbfn,t\n1,a\n")
    with closing(open_file(tmp_path / "people")) as source:
        assert list(source.columns) == ["n", "t"]


class TestParquet(EngineConformance):
    @pytest.fixture(scope="class")
    @classmethod
    def load(cls, tmp_path_factory: pytest.TempPathFactory) -> Load:
        return _loading(write_parquet, tmp_path_factory.mktemp("parquet"), "parquet")


class TestDuckDb(EngineConformance):
    @pytest.fixture(scope="class")
    @classmethod
    def load(cls, tmp_path_factory: pytest.TempPathFactory) -> Load:
        return _loading(write_duckdb, tmp_path_factory.mktemp("duckdb"), "duckdb")


class TestSqlite(EngineConformance):
    @pytest.fixture(scope="class")
    @classmethod
    def load(cls, tmp_path_factory: pytest.TempPathFactory) -> Load:
        return _loading(write_sqlite, tmp_path_factory.mktemp("sqlite"), "sqlite")


def test_sqlite_integers_among_reals_are_doubles(tmp_path: Path) -> None:
    file = write_sqlite(Dataset({"x": "mixed"}, [[2**60 + 1], [0.5], [None]]), tmp_path / "people")
    with closing(open_file(file)) as source:
        assert [record["x"] for record in source.records()] == [2.0**60, 0.5, None]
        assert source.columns["x"].is_numeric


def test_sqlite_bytes_are_named_and_refused(tmp_path: Path) -> None:
    file = tmp_path / "people"
    with closing(sqlite3.connect(file)) as run, run:
        run.execute("CREATE TABLE people (n, photo)")
        run.execute("INSERT INTO people VALUES (1, x'00ff')")
    with closing(open_file(file)) as source:
        assert source.totals(Query.count("n = 1")) == [1]
        with pytest.raises(DataMismatch, match="column photo"):
            list(source.records())


@pytest.mark.parametrize("write", [write_duckdb, write_sqlite])
def test_a_database_needs_the_name_of_a_table_unless_it_has_one(
    tmp_path: Path, write: Callable[[Dataset, Path], Path]
) -> None:
    file = write(Dataset({"n": "whole"}, [[1]]), tmp_path / "people")
    open_file(file).close()
    open_file(file, "people").close()
    with pytest.raises(InvalidInput, match=r"no table absent in .*: it has people"):
        open_file(file, "absent")


def test_a_sum_over_a_billion_rows_is_exact(tmp_path: Path) -> None:
    rows = 1_000_000_000
    with duckdb.connect(tmp_path / "people") as run:
        run.execute(f"CREATE VIEW people AS SELECT range AS n FROM range({rows})")
    with closing(open_file(tmp_path / "people")) as source:
        assert source.rows == rows
        assert source.totals(Query.sum(Column.of("n", 0, rows))) == [rows * (rows - 1) // 2]
        assert source.totals(Query.sum(Column.of("n", -(2**50), 1 - 2**50))) == [rows * (1 - 2**50)]
