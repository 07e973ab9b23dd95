"""The law in memory and in files read by DuckDB; servers and Spark have it beside their other tests."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Sequence
from contextlib import closing
from itertools import count
from pathlib import Path
from typing import ClassVar

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from engines.law import READING, VALUES, Law, RawRecord, Store
from noiseledger.data import Table
from noiseledger.data.engines.files import open_file
from noiseledger.data.formats import Format


def write_lines(records: Sequence[RawRecord], file: Path) -> Path:
    """Write fields as they are, without a care for quotes and line breaks; only a comma is put into quotes."""
    lines = [
        ",".join(f'"{v}"' if "," in v else v for v in (record[name] for name in READING.kinds)) for record in records
    ]
    file.write_bytes("\n".join([",".join(READING.kinds), *lines, ""]).encode())
    return file


def write_text_parquet(records: Sequence[RawRecord], file: Path) -> Path:
    columns = {name: pa.array([record[name] for record in records], pa.string()) for name in READING.kinds}
    pq.write_table(pa.table(columns), file)
    return file


def write_collated_duckdb(records: Sequence[RawRecord], file: Path) -> Path:
    """Write a table whose text is compared without case, and a view of it, which has the same collation."""
    with duckdb.connect(file) as run:
        run.execute("CREATE TABLE kept (n VARCHAR, x VARCHAR, t VARCHAR COLLATE NOCASE, b VARCHAR, d VARCHAR)")
        rows = [[record[name] for name in READING.kinds] for record in records]
        if rows:  # DuckDB refuses to insert none
            run.executemany("INSERT INTO kept VALUES (?, ?, ?, ?, ?)", rows)
        run.execute("CREATE VIEW people AS SELECT * FROM kept")
    return file


def write_mixed_sqlite(records: Sequence[RawRecord], file: Path) -> Path:
    with closing(sqlite3.connect(file)) as run, run:
        run.execute("CREATE TABLE people (n, x, t COLLATE NOCASE, b, d)")
        run.executemany(
            "INSERT INTO people VALUES (?, ?, ?, ?, ?)",
            [[record[name] for name in READING.kinds] for record in records],
        )
    return file


def _storing(write: Callable[[Sequence[RawRecord], Path], Path], folder: Path, form: Format) -> Store:
    numbers = count()
    table = "people" if form in ("duckdb", "sqlite") else None
    return lambda records: open_file(write(records, folder / f"{next(numbers)}"), form, READING, table)


class TestMemory(Law):
    pairs = 100
    values = VALUES

    @pytest.fixture(scope="class")
    @classmethod
    def store(cls) -> Store:
        return lambda records: Table(records, READING)


class TestReferenceCsv(Law):
    pairs = 60

    def reference(self, records: Sequence[RawRecord]) -> Table | None:
        return None

    @pytest.fixture(scope="class")
    @classmethod
    def store(cls, tmp_path_factory: pytest.TempPathFactory) -> Store:
        folder, numbers = tmp_path_factory.mktemp("lines"), count()
        return lambda records: Table.read_csv(write_lines(records, folder / f"{next(numbers)}"), READING)


class TestCsv(Law):
    def reference(self, records: Sequence[RawRecord]) -> Table | None:
        return None  # quotes are no part of a field: see test_files for what a file means

    @pytest.fixture(scope="class")
    @classmethod
    def store(cls, tmp_path_factory: pytest.TempPathFactory) -> Store:
        return _storing(write_lines, tmp_path_factory.mktemp("csv"), "csv")


class TestParquet(Law):
    @pytest.fixture(scope="class")
    @classmethod
    def store(cls, tmp_path_factory: pytest.TempPathFactory) -> Store:
        return _storing(write_text_parquet, tmp_path_factory.mktemp("parquet"), "parquet")


class TestDuckDb(Law):
    @pytest.fixture(scope="class")
    @classmethod
    def store(cls, tmp_path_factory: pytest.TempPathFactory) -> Store:
        return _storing(write_collated_duckdb, tmp_path_factory.mktemp("duckdb"), "duckdb")


class TestSqlite(Law):
    # SQLite stores flags as 1 and 0.
    values: ClassVar = [
        value for value in VALUES if isinstance(value, str | int | float | bytes | None) and type(value) is not bool
    ]

    @pytest.fixture(scope="class")
    @classmethod
    def store(cls, tmp_path_factory: pytest.TempPathFactory) -> Store:
        return _storing(write_mixed_sqlite, tmp_path_factory.mktemp("sqlite"), "sqlite")
