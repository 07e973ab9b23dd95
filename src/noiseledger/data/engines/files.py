"""Data files, read by DuckDB: CSV, Parquet, a DuckDB database, a SQLite database.

What kind of file it is, its first bytes tell. Parquet and DuckDB files are read in place and never written to; CSV and
SQLite have no types to rely on, so they are read into memory with the types that their values have.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Literal, TypeAlias

import duckdb
import ibis
import pyarrow as pa

from noiseledger.data.engines.relation import Relation
from noiseledger.data.engines.text import checks_of, fields_of, header_of, typed
from noiseledger.data.source import Content
from noiseledger.errors import DataUnavailable, InvalidInput

Format: TypeAlias = Literal["csv", "parquet", "duckdb", "sqlite"]

#: No network, no extensions, and no private data spilled to disk.
_SETTINGS = {"autoinstall_known_extensions": False, "autoload_known_extensions": False, "temp_directory": ""}
_BATCH_ROWS = 50_000
_FAILURES = (duckdb.Error,)


def open_file(file: Path, table: str | None = None) -> Relation:
    """Open a data file; a database needs the name of the table, unless it has just one."""
    try:
        return _OPENERS[format_of(file)](file, table)
    except (duckdb.Error, sqlite3.Error) as error:
        # What the engine says may quote a value, so only the kind of failure is passed on.
        raise DataUnavailable(f"{file} cannot be read as {format_of(file)} ({type(error).__name__}).") from None


def format_of(file: Path) -> Format:
    """Tell the format from the first bytes; what is nothing else is CSV."""
    try:
        with file.open("rb") as stream:
            head = stream.read(16)
    except OSError as error:
        raise DataUnavailable(f"{file} cannot be read: {error.strerror}.") from None
    if head.startswith(b"SQLite format 3\0"):
        return "sqlite"
    if head[8:12] == b"DUCK":
        return "duckdb"
    return "parquet" if head.startswith(b"PAR1") else "csv"


def _open_csv(file: Path, table: str | None) -> Relation:
    _check_no_table(file, table)
    names = header_of(file)
    engine = ibis.duckdb.connect(**_SETTINGS)
    try:
        # Nothing is left to guess: DuckDB would take a line for a comment, or for no part of the table, by its looks.
        lines = engine.read_csv(
            _literal(file),
            columns=dict.fromkeys(names, "string"),
            auto_detect=False,
            header=True,
            delim=",",
            quote='"',
            escape='"',
            comment="",
            nullstr="",
            allow_quoted_nulls=False,
            strict_mode=True,
        )
        text = fields_of(lines)
        (found,) = engine.to_pyarrow(checks_of(text)).to_pylist()
        data, contents = typed(text, found)
        return Relation(engine, engine.create_table("data", data, temp=True), contents, _FAILURES)
    except duckdb.InvalidInputException:
        raise DataUnavailable(
            f"{file} cannot be read as CSV: expected UTF-8 text, commas, and as many fields in every line."
        ) from None


def _open_parquet(file: Path, table: str | None) -> Relation:
    _check_no_table(file, table)
    engine = ibis.duckdb.connect(**_SETTINGS)
    return Relation(engine, engine.read_parquet(_literal(file)), failures=_FAILURES)


def _open_duckdb(file: Path, table: str | None) -> Relation:
    engine = ibis.duckdb.connect(file, read_only=True, **_SETTINGS)
    # Ibis' own list comes through what DuckDB is about to remove.
    names = engine.con.execute(
        "SELECT table_name FROM information_schema.tables WHERE table_schema = 'main'"
    ).fetchall()
    return Relation(engine, engine.table(_choose(file, table, [name for (name,) in names])), failures=_FAILURES)


def _open_sqlite(file: Path, table: str | None) -> Relation:
    engine = ibis.duckdb.connect(**_SETTINGS)
    with closing(sqlite3.connect(f"{file.resolve().as_uri()}?mode=ro", uri=True)) as run:
        run.execute("BEGIN")  # one state of the file throughout
        names = run.execute("SELECT name FROM sqlite_master WHERE type IN ('table', 'view')").fetchall()
        source = _quoted(_choose(file, table, [name for (name,) in names if not name.startswith("sqlite_")]))
        columns = {
            name: _sqlite_type(run, source, name) for (_, name, *_) in run.execute(f"PRAGMA table_info({source})")
        }
        schema = pa.schema([(name, kind) for name, (kind, _) in columns.items()])
        content = pa.Table.from_batches(_sqlite_batches(run, source, schema), schema)
    engine.con.register("data", content)
    contents = {name: contents for name, (_, contents) in columns.items()}
    return Relation(engine, engine.table("data"), contents, _FAILURES)


def _sqlite_type(run: sqlite3.Connection, source: str, name: str) -> tuple[pa.DataType, frozenset[Content]]:
    """Return the type that a column's values have, whatever it was declared as, and their kinds."""
    # Both names are quoted, and SQLite's own.
    kinds = {kind for (kind,) in run.execute(f"SELECT DISTINCT typeof({_quoted(name)}) FROM {source}")} - {"null"}  # noqa: S608
    contents: frozenset[Content] = frozenset(_SQLITE_KINDS[kind] for kind in kinds)
    if kinds <= {"integer"}:
        return pa.int64(), contents
    return (pa.float64() if kinds <= {"integer", "real"} else pa.string()), contents


def _sqlite_batches(run: sqlite3.Connection, source: str, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    # Bytes are no value of ours, and may be no text.
    casts = [
        f"CASE WHEN typeof({name}) <> 'blob' THEN CAST({name} AS {_SQLITE_TYPES[str(kind)]}) END"
        for name, kind in ((_quoted(field.name), field.type) for field in schema)
    ]
    cursor = run.execute(f"SELECT {', '.join(casts)} FROM {source}")  # noqa: S608 - quoted, and SQLite's own
    while rows := cursor.fetchmany(_BATCH_ROWS):
        arrays = [pa.array(values, field.type) for values, field in zip(zip(*rows, strict=True), schema, strict=True)]
        yield pa.RecordBatch.from_arrays(arrays, schema=schema)


_SQLITE_KINDS: dict[str, Content] = {"integer": "number", "real": "number", "text": "text", "blob": "other"}
_SQLITE_TYPES = {"int64": "INTEGER", "double": "REAL", "string": "TEXT"}
_OPENERS = {"csv": _open_csv, "parquet": _open_parquet, "duckdb": _open_duckdb, "sqlite": _open_sqlite}


def _choose(file: Path, table: str | None, names: list[str]) -> str:
    if table is None and len(names) == 1:
        return names[0]
    if table not in names or table is None:
        wanted = "Say which table of" if table is None else f"There is no table {table} in"
        raise InvalidInput(f"{wanted} {file}: it has {', '.join(sorted(names)) or 'none'}.")
    return table


def _check_no_table(file: Path, table: str | None) -> None:
    if table is not None:
        raise InvalidInput(f"{file} is one table by itself: leave out table = {table!r}.")


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _literal(file: Path) -> str:
    """Return a path that DuckDB does not take for a pattern."""
    return "".join(f"[{letter}]" if letter in "*?[" else letter for letter in str(file))
