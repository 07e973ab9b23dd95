"""Inspect a Parquet file, or a table of a DuckDB or SQLite file, mostly by its declared types."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from noiseledger.core.filters.condition import Kind
from noiseledger.data.engines.files import SETTINGS, choose, quoted
from noiseledger.data.formats import Format
from noiseledger.data.look import RECORDS, Guess, Look
from noiseledger.data.look_kinds import guess, marked, missing_texts
from noiseledger.data.reading import WHOLE_DOUBLES
from noiseledger.errors import DataUnavailable

_LARGE = Guess(
    "text",
    ("some values are above 2^53, where neighbouring whole numbers cannot be told apart: declare identifiers as text",),
)

_NO_TEXT = Guess(None, ("it has bytes that are not UTF-8 text: write it again, as text",))


def look_at_table(file: Path, form: Format, table: str | None) -> Look:
    """Propose the kind of each column."""
    try:
        if form == "sqlite":
            return _look_at_sqlite(file, table)
        sample = _parquet_sample(file) if form == "parquet" else _duckdb_sample(file, table)
    except (duckdb.Error, sqlite3.Error, pa.ArrowException, OSError) as error:
        # A library's message may quote a value, so only the type of the error is passed on.
        raise DataUnavailable(f"{file} cannot be read as {form} ({type(error).__name__}): write it again.") from None
    _check_names(file, sample.column_names)
    texts = {name: _texts(sample.column(place)) for place, name in enumerate(sample.column_names)}
    columns = {
        name: _NO_TEXT if texts[name] is None else _marked(name, _arrow_guess(column), column)
        for name, column in zip(sample.column_names, sample.columns, strict=True)
    }
    return Look(form, columns, missing_texts(text for found in texts.values() for text in found or ()))


def _check_names(file: Path, names: Sequence[str]) -> None:
    """Refuse what a Parquet file can have and no database: DuckDB would give the second column another name."""
    seen: dict[str, str] = {}
    for name in names:
        if name.casefold() in seen:
            raise DataUnavailable(
                f"{file}: the columns {seen[name.casefold()]} and {name} have the same name (case is ignored): rename one of "
                "them."
            )
        seen[name.casefold()] = name


def _texts(column: pa.ChunkedArray) -> list[str] | None:
    """Return the different texts of a column; None if its bytes are not text, although it is declared as text."""
    try:
        return column.unique().to_pylist() if _is_text(column.type) else []
    except UnicodeDecodeError:
        return None


def _parquet_sample(file: Path) -> pa.Table:
    with pq.ParquetFile(file) as parquet:
        batch = next(parquet.iter_batches(RECORDS), None)
        return pa.Table.from_batches([] if batch is None else [batch], parquet.schema_arrow)


def _duckdb_sample(file: Path, table: str | None) -> pa.Table:
    with duckdb.connect(file, read_only=True, config=dict[str, Any](SETTINGS)) as database:
        names = database.execute(
            "SELECT table_name FROM information_schema.tables WHERE table_schema = 'main'"
        ).fetchall()
        chosen = quoted(choose(file, table, [name for (name,) in names]))
        return database.sql(f"SELECT * FROM {chosen} LIMIT {RECORDS}").to_arrow_table()  # noqa: S608 - quoted, DuckDB's own


def _is_text(given: pa.DataType) -> bool:
    if pa.types.is_dictionary(given):
        given = given.value_type
    return str(given) in ("string", "large_string", "string_view")


_ARROW_KINDS: tuple[tuple[Kind, Callable[[pa.DataType], bool]], ...] = (
    ("flag", pa.types.is_boolean),
    ("number", pa.types.is_integer),
    ("number", pa.types.is_floating),
    ("number", pa.types.is_decimal),
    ("text", _is_text),
    ("date", pa.types.is_date),
    ("date", lambda given: bool(pa.types.is_timestamp(given) and given.tz is None)),
)


def _arrow_guess(column: pa.ChunkedArray) -> Guess:
    kind = next((kind for kind, holds in _ARROW_KINDS if holds(column.type)), None)
    if kind is None:
        zone = pa.types.is_timestamp(column.type)
        why = (
            "it is a timestamp with a time zone: write it as a date"
            if zone
            else "it is neither number, text, flag nor date"
        )
        return Guess(None, (why,))
    return _LARGE if pa.types.is_integer(column.type) and _is_large(column) else Guess(kind)


def _marked(name: str, found: Guess, column: pa.ChunkedArray) -> Guess:
    if not pa.types.is_integer(column.type):
        return found
    return marked(name, found, len(column) - column.null_count, pc.count_distinct(column).as_py(), whole=True)


def _is_large(column: pa.ChunkedArray) -> bool:
    size = pc.abs(column.cast(pa.float64(), safe=False))
    return bool(pc.any(pc.greater_equal(size, WHOLE_DOUBLES)).as_py())


def _look_at_sqlite(file: Path, table: str | None) -> Look:
    with closing(sqlite3.connect(f"{file.resolve().as_uri()}?mode=ro", uri=True)) as run:
        run.text_factory = lambda given: given.decode("utf-8", "replace")
        names = run.execute("SELECT name FROM sqlite_master WHERE type IN ('table', 'view')").fetchall()
        source = quoted(choose(file, table, [name for (name,) in names if not name.startswith("sqlite_")]))
        declared = {name: kind.upper() for (_, name, kind, *_) in run.execute(f"PRAGMA table_xinfo({source})")}
        chosen = ", ".join(map(quoted, declared))
        rows = run.execute(f"SELECT {chosen} FROM {source} LIMIT {RECORDS}").fetchall()  # noqa: S608 - quoted, SQLite's own
    columns = list(zip(*rows, strict=True)) or [()] * len(declared)
    texts = {value for column in columns for value in column if isinstance(value, str)}
    guesses = {
        name: _sqlite_marked(name, _sqlite_guess(kind, values), values)
        for (name, kind), values in zip(declared.items(), columns, strict=True)
    }
    return Look("sqlite", guesses, missing_texts(texts))


def _sqlite_guess(declared: str, values: Sequence[Any]) -> Guess:
    """Use the declared type; if it does not determine the kind, as for dates in SQLite, use the values."""
    if "BOOL" in declared:
        return Guess("flag")
    if any(word in declared for word in ("INT", "REAL", "FLOA", "DOUB", "NUM", "DEC")):
        return _LARGE if any(isinstance(v, int) and abs(v) >= WHOLE_DOUBLES for v in values) else Guess("number")
    if any(word in declared for word in ("CHAR", "CLOB", "TEXT")):
        return Guess("text")
    present = [value for value in values if value is not None]
    if any(isinstance(value, bytes) for value in present):
        return Guess(None, ("it contains bytes",))
    found = guess([str(value) for value in present], ".")
    return Guess(found.kind, ("the table does not declare its kind, so its values were inspected", *found.notes))


def _sqlite_marked(name: str, found: Guess, values: Sequence[Any]) -> Guess:
    present = [value for value in values if value is not None]
    whole = all(isinstance(value, int) for value in present)
    return marked(name, found, len(present), len(set(present)), whole=True) if whole else found
