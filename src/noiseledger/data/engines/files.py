"""Data files, read by DuckDB: CSV, Parquet, a DuckDB database, a SQLite database.

Parquet and DuckDB files are read in place and never written to; CSV and SQLite are read into memory, value by value.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing
from datetime import date
from fractions import Fraction
from itertools import islice
from pathlib import Path
from typing import Any
from uuid import uuid4

import duckdb
import ibis
import ibis.expr.types as ir
import pyarrow as pa

from noiseledger.core.filters.condition import Kind
from noiseledger.data.delimited import Dialect, columns_of, records_of
from noiseledger.data.engines.digest import digest
from noiseledger.data.engines.kinds import ReadTable, read_by_rule
from noiseledger.data.engines.line_count import one_line_each
from noiseledger.data.engines.relation import Relation
from noiseledger.data.formats import Format, check_format
from noiseledger.data.reading import WHOLE_DIGITS, Reading
from noiseledger.data.table import check_columns
from noiseledger.errors import DataUnavailable, InvalidInput

#: No network, no extensions, and no private data spilled to disk.
SETTINGS: dict[str, Any] = {
    "autoinstall_known_extensions": False,
    "autoload_known_extensions": False,
    "temp_directory": "",
}
_BATCH_ROWS = 50_000
_FAILURES = (duckdb.Error,)


class _Files(Relation):
    """A DuckDB table. Totals are fetched directly: Ibis would convert the few numbers to Arrow first."""

    def _run(self, expression: ir.Table) -> list[dict[str, Any]]:
        with self._translated():
            found = self._engine.con.execute(self._engine.compile(expression))
            names = [name for name, *_ in found.description]
            return [dict(zip(names, row, strict=True)) for row in found.fetchall()]

    def fingerprint(self, key: bytes) -> bytes:
        """Return a keyed digest of the records, in any order."""
        with self._translated():
            return digest(self._engine, self._table, self.kinds, key)


def open_file(
    file: Path, form: Format, reading: Reading, table: str | None = None, dialect: Dialect | None = None
) -> Relation:
    """Open a data file; a database needs the name of the table, unless it has only one."""
    check_format(file, form)
    if form in ("csv", "parquet") and table is not None:
        raise InvalidInput(f"{file} is a single table: remove table = {table!r}.")
    try:
        if form == "csv":
            return _open_csv(file, reading, dialect or Dialect())
        if form == "parquet":
            return _open_parquet(file, reading)
        return _open_duckdb(file, table, reading) if form == "duckdb" else _open_sqlite(file, table, reading)
    except duckdb.PermissionException:
        raise DataUnavailable(
            f"{file} has a view that reads other files: keep the records in a table, with CREATE TABLE ... AS."
        ) from None
    except (duckdb.Error, sqlite3.Error) as error:
        # The engine's message may quote a value, so only the type of the error is passed on.
        raise DataUnavailable(f"{file} cannot be read as {form} ({type(error).__name__}).") from None


def _open_csv(file: Path, reading: Reading, dialect: Dialect) -> Relation:
    names = columns_of(file, dialect)
    check_columns(reading.kinds, names)
    engine = ibis.duckdb.connect(**SETTINGS)
    data = _read_quickly(engine, file, names, reading, dialect)
    if data is None:
        # A new engine: some bytes that are not UTF-8 leave DuckDB unusable.
        engine.disconnect()
        engine = ibis.duckdb.connect(**SETTINGS)
        data = _read_line_by_line(engine, file, names, reading, dialect)
    return _Files(engine, ReadTable.already_read(data, reading.kinds), reading.kinds, _FAILURES)


def _open_parquet(file: Path, reading: Reading) -> Relation:
    engine = ibis.duckdb.connect(**SETTINGS)
    long = "SELECT name FROM parquet_schema(?) WHERE precision > ?"
    for (name,) in engine.con.execute(long, [_literal(file), WHOLE_DIGITS]).fetchall():
        if name in reading.kinds:
            raise DataUnavailable(
                f"{file}: the column {name} is a decimal of more than {WHOLE_DIGITS} digits, which DuckDB does not read "
                "correctly: write it as a double, or as text."
            )
    return _relation(engine, engine.read_parquet(_literal(file), hive_partitioning=False), reading)


def _relation(engine: Any, table: ir.Table, reading: Reading) -> Relation:
    # Decided by a column's type, never by a record: Of a type that Ibis cannot name, every value would be missing.
    unknown = [name for name in reading.kinds if name in table.columns and table[name].type().is_unknown()]
    if unknown:
        raise DataUnavailable(
            f"The column {unknown[0]} has a type that cannot be read exactly, such as UHUGEINT or BIGNUM in DuckDB: convert it "
            "in the file, to HUGEINT, DOUBLE or VARCHAR."
        )
    return _Files(engine, read_by_rule(table, reading, whole_numbers_first=True), reading.kinds, _FAILURES)


def _read_quickly(engine: Any, file: Path, names: Sequence[str], reading: Reading, dialect: Dialect) -> ir.Table | None:
    """Let DuckDB split the lines; None if it fails, or might split them differently from the rule.

    All its settings are fixed, so it guesses nothing. It would still let a quoted field continue on the next line, and leave
    out an empty line: then it finds fewer records than the file has lines.
    """
    lines = one_line_each(file, dialect)
    if lines is None:
        return None
    places = {f"c{place}": "string" for place in range(len(names))}
    try:
        text = engine.read_csv(
            _literal(file),
            columns=places,
            auto_detect=False,
            header=dialect.header,
            delim=dialect.delimiter,
            quote=dialect.quote,
            escape=dialect.quote,
            comment="",
            # A field has no line break, so none is read as null. DuckDB also drops an extra last field that this text starts
            # with, so no other text will do.
            nullstr="\n",
            allow_quoted_nulls=False,
            strict_mode=True,
            compression="none",
            hive_partitioning=False,
        )
        chosen = [text[f"c{names.index(name)}"].name(name) for name in reading.kinds]
        data = _kept(engine, text.select(*chosen) if chosen else text, reading)
        is_counted = lines.quotes or len(names) == 1 or not dialect.header
        if is_counted and engine.con.execute("SELECT count(*) FROM data").fetchone() != (lines.records,):
            return None
    except duckdb.Error:
        return None
    return data


def _read_line_by_line(engine: Any, file: Path, names: Sequence[str], reading: Reading, dialect: Dialect) -> ir.Table:
    """Read line by line, by the rule: for other encodings, and to report the line that is in doubt."""
    places = [names.index(name) for name in reading.kinds] or [0]
    schema = pa.schema([(names[place], pa.large_string()) for place in places])
    records = records_of(file, dialect)

    def batches() -> Iterator[pa.RecordBatch]:
        while batch := list(islice(records, _BATCH_ROWS)):
            columns = [pa.array([fields[place] for fields in batch], pa.large_string()) for place in places]
            yield pa.RecordBatch.from_arrays(columns, schema=schema)

    engine.con.register("lines", pa.Table.from_batches(batches(), schema))
    return _kept(engine, engine.table("lines"), reading)


def _kept(engine: Any, text: ir.Table, reading: Reading) -> ir.Table:
    """Read the fields once, into memory: reading a text file again for every query would be slow."""
    engine.con.execute("DROP TABLE IF EXISTS data")  # left by a failed attempt
    table: ir.Table = engine.create_table(
        "data", read_by_rule(text, reading, whole_numbers_first=True).whole(), temp=True
    )
    return table


def _open_duckdb(file: Path, table: str | None, reading: Reading) -> Relation:
    engine = ibis.duckdb.connect(file, read_only=True, **SETTINGS)
    # A view may not read other files: DuckDB would guess the kinds of a CSV's columns from all of its records.
    # Set afterwards: if set together with the others, their order would decide whether DuckDB still accepts them.
    engine.con.execute("SET enable_external_access = false")
    # Ibis' own list uses a feature that DuckDB is about to remove.
    data = engine.table(choose(file, table, _duckdb_tables(engine.con)))
    return _relation(engine, _without_collation(engine, data, reading), reading)


def _without_collation(engine: Any, data: ir.Table, reading: Reading) -> ir.Table:
    """Return text without collation: the collation of a column or a view would merge different texts."""
    check_columns(reading.kinds, data.columns)
    parts = [
        f"decode(encode({quoted(name)}::VARCHAR)) AS {quoted(name)}" if data[name].type().is_string() else quoted(name)
        for name in reading.kinds
    ]
    # A view of this connection, which the file does not keep. Ibis would parse a statement again for every query.
    view = f"noiseledger_{uuid4().hex}"
    # The names are quoted, and come from the table.
    select = f"SELECT {', '.join(parts) or '1 AS one'} FROM {quoted(data.get_name())}"  # noqa: S608
    engine.con.execute(f"CREATE TEMP VIEW {view} AS {select}")
    table: ir.Table = engine.table(view)
    return table


def _open_sqlite(file: Path, table: str | None, reading: Reading) -> Relation:
    """Read a SQLite table value by value, because its columns may contain values of any type."""
    engine = ibis.duckdb.connect(**SETTINGS)
    with closing(sqlite3.connect(f"{file.resolve().as_uri()}?mode=ro", uri=True)) as run:
        # Invalid bytes become the character U+FFFD, in that value alone.
        run.text_factory = lambda given: given.decode("utf-8", "replace")
        run.execute("BEGIN")  # read one consistent state of the file
        source = quoted(choose(file, table, _sqlite_tables(run)))
        check_columns(reading.kinds, [name for (_, name, *_) in run.execute(f"PRAGMA table_xinfo({source})")])
        schema = pa.schema([(name, _ARROW[kind]) for name, kind in reading.kinds.items()] or [("one", pa.int64())])
        content = pa.Table.from_batches(_sqlite_batches(run, source, reading, schema), schema)
    engine.con.register("data", content)
    # Not read by the rule again: a text that stands for missing ones may also be the text of a native number.
    return _Files(engine, ReadTable.already_read(engine.table("data"), reading.kinds), reading.kinds, _FAILURES)


def _sqlite_batches(
    run: sqlite3.Connection, source: str, reading: Reading, schema: pa.Schema
) -> Iterator[pa.RecordBatch]:
    names = list(reading.kinds)
    cursor = run.execute(f"SELECT {', '.join(map(quoted, names)) or '1'} FROM {source}")  # noqa: S608 - quoted, and SQLite's own
    while rows := cursor.fetchmany(_BATCH_ROWS):
        columns: list[Sequence[Any]] = list(zip(*rows, strict=True))
        arrays = (
            [
                pa.array([_sqlite_value(reading, name, v) for v in values], field.type)
                for name, values, field in zip(names, columns, schema, strict=True)
            ]
            if names
            else [pa.array(columns[0], pa.int64())]
        )
        yield pa.RecordBatch.from_arrays(arrays, schema=schema)


def _sqlite_value(reading: Reading, name: str, value: object) -> Any:
    found = reading.read(name, value)
    if isinstance(found, date):
        return found.isoformat()
    return float(found) if isinstance(found, Fraction) else found


_ARROW: dict[Kind, pa.DataType] = {
    "number": pa.float64(),
    "text": pa.large_string(),
    "flag": pa.bool_(),
    "date": pa.large_string(),
}


def only_table(file: Path, form: Format) -> str | None:
    """Return the table of a database file that has a single one; None for any other."""
    try:
        if form == "duckdb":
            with closing(duckdb.connect(file, read_only=True, config=SETTINGS)) as connection:
                names = _duckdb_tables(connection)
        else:
            with closing(sqlite3.connect(f"{file.resolve().as_uri()}?mode=ro", uri=True)) as run:
                names = _sqlite_tables(run)
    except (duckdb.Error, sqlite3.Error) as error:
        raise DataUnavailable(f"{file} cannot be read as {form} ({type(error).__name__}).") from None
    return names[0] if len(names) == 1 else None


def _duckdb_tables(connection: Any) -> list[str]:
    found = connection.execute("SELECT table_name FROM information_schema.tables WHERE table_schema = 'main'")
    return [name for (name,) in found.fetchall()]


def _sqlite_tables(run: sqlite3.Connection) -> list[str]:
    found = run.execute("SELECT name FROM sqlite_master WHERE type IN ('table', 'view')")
    return [name for (name,) in found if not name.startswith("sqlite_")]


def choose(file: Path, table: str | None, names: list[str]) -> str:
    """Return the named table, or the only one."""
    if table is None and len(names) == 1:
        return names[0]
    if table not in names or table is None:
        wanted = "Name the table of" if table is None else f"There is no table {table} in"
        raise InvalidInput(f"{wanted} {file}: it has {', '.join(sorted(names)) or 'none'}.")
    return table


def quoted(name: str) -> str:
    """Return a name quoted for SQL."""
    return '"' + name.replace('"', '""') + '"'


def _literal(file: Path) -> str:
    """Return a path that DuckDB does not interpret as a pattern."""
    return "".join(f"[{letter}]" if letter in "*?[" else letter for letter in str(file))
