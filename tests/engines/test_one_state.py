"""What the reading of files must never do: write private data to the disk, or mix two states of one file."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from noiseledger.data.engines.files import open_file
from noiseledger.data.formats import Format
from noiseledger.data.reading import Reading


def write_csv(file: Path) -> None:
    file.write_text("n\n1\n2\n")


def write_parquet(file: Path) -> None:
    pq.write_table(pa.table({"n": [1, 2]}), file)


def write_duckdb(file: Path) -> None:
    with duckdb.connect(file) as run:
        run.execute("CREATE TABLE people AS SELECT 1 AS n UNION ALL SELECT 2")


def write_sqlite(file: Path) -> None:
    with closing(sqlite3.connect(file)) as run, run:
        run.execute("CREATE TABLE people (n)")
        run.executemany("INSERT INTO people VALUES (?)", [(1,), (2,)])


@pytest.mark.parametrize(
    ("write", "form"),
    [(write_csv, "csv"), (write_parquet, "parquet"), (write_duckdb, "duckdb"), (write_sqlite, "sqlite")],
)
def test_nothing_is_spilled_to_the_disk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, write: Callable[[Path], None], form: Format
) -> None:
    """Too much for its memory, DuckDB gives up; by itself it would go on in a file beside the data."""
    file, opened, connect = tmp_path / "people", list[Any](), duckdb.connect
    write(file)

    def note(*words: Any, **named: Any) -> Any:
        opened.append(connect(*words, **named))
        return opened[-1]

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(duckdb, "connect", note)
    with closing(open_file(file, form, Reading({"n": "number"}))) as source:
        assert source.rows == 2
        assert opened
        for run in opened:
            run.execute("SET memory_limit = '30MB'")
            with pytest.raises(duckdb.OutOfMemoryException):
                run.execute(
                    "CREATE TEMP TABLE much AS SELECT range AS n, hash(range)::varchar AS t FROM range(5000000)"
                )
        assert [found.name for found in tmp_path.iterdir()] == ["people"]


def test_a_sqlite_file_is_read_in_one_state_whoever_writes_to_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Between any two of our statements somebody commits: numbers turn into words, and words into more words."""
    file, written = tmp_path / "people", ["1"]
    with closing(sqlite3.connect(file)) as run, run:
        run.execute("PRAGMA journal_mode = wal")  # so that nobody waits for us
        run.execute("CREATE TABLE people (n)")
        run.executemany("INSERT INTO people VALUES (?)", [(1,)] * 3)

    class Watched(sqlite3.Connection):
        def execute(self, *words: Any) -> sqlite3.Cursor:
            cursor = super().execute(*words)
            if not words[0].startswith("BEGIN"):
                written.append(f"word{len(written)}")
                with closing(connect(file)) as other, other:
                    other.execute("UPDATE people SET n = ?", written[-1:])
            return cursor

    connect = sqlite3.connect
    monkeypatch.setattr(sqlite3, "connect", lambda *words, **named: connect(*words, **named, factory=Watched))
    with closing(open_file(file, "sqlite", Reading({"n": "text"}))) as source:
        found = [str(record["n"]) for record in source.records()]
    assert len(written) > 2
    assert found == [written[0]] * 3
