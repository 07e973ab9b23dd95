"""A table with declared types, as the tests hand it to every engine."""

from __future__ import annotations

import csv
import random
import sqlite3
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path
from typing import Any, Literal, TypeAlias

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq

from noiseledger.core.filters.condition import Kind, Value
from noiseledger.data import Table
from noiseledger.data.reading import Reading

#: How values are stored. "mixed" is text where an engine has one type for a column, and whatever each value is elsewhere;
#: it is declared as a number.
Type: TypeAlias = Literal["whole", "double", "text", "boolean", "date", "mixed"]
Cell: TypeAlias = int | float | str | bool | date | None

_ARROW = {
    "whole": pa.int64(),
    "double": pa.float64(),
    "text": pa.string(),
    "boolean": pa.bool_(),
    "date": pa.date32(),
    "mixed": pa.string(),
}


_KINDS: dict[Type, Kind] = {
    "whole": "number",
    "double": "number",
    "text": "text",
    "boolean": "flag",
    "date": "date",
    "mixed": "number",
}


@dataclass(frozen=True)
class Dataset:
    """Columns with their types, and rows."""

    types: Mapping[str, Type]
    rows: Sequence[Sequence[Cell]]
    #: Values that mean "missing", by column.
    codes: Mapping[str, frozenset[Value]] = field(default_factory=dict)

    @property
    def records(self) -> list[dict[str, Any]]:
        return [dict(zip(self.types, row, strict=True)) for row in self.rows]

    @property
    def reading(self) -> Reading:
        """What is declared: the kind of each column."""
        kinds = {name: _KINDS[kind] for name, kind in self.types.items()}
        return Reading(kinds, missing_codes={name: codes for name, codes in self.codes.items() if name in kinds})

    def reference(self) -> Table:
        """Return the same data in memory, where each query's meaning is defined."""
        return Table(self.records, self.reading)

    def only(self, *types: Type) -> Dataset:
        """Return the columns of these types."""
        kept = [i for i, kind in enumerate(self.types.values()) if kind in types]
        names = list(self.types)
        return Dataset({names[i]: self.types[names[i]] for i in kept}, [[row[i] for i in kept] for row in self.rows])

    def shuffled(self) -> Dataset:
        rows = list(self.rows)
        random.Random(4).shuffle(rows)
        return Dataset(self.types, rows)


def quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def write_csv(data: Dataset, file: Path, line_end: str = "\r\n") -> Path:
    """Write as most programs do; a field is quoted where it must be, or where an empty line would mean nothing."""
    with file.open("w", newline="", encoding="utf-8") as stream:
        writer = csv.writer(
            stream, quoting=csv.QUOTE_ALL if len(data.types) == 1 else csv.QUOTE_MINIMAL, lineterminator=line_end
        )
        writer.writerow(data.types)
        writer.writerows([_csv_field(cell) for cell in row] for row in data.rows)
    return file


def _csv_field(cell: Cell) -> str:
    return "" if cell is None else repr(cell) if isinstance(cell, float) else str(cell)


def arrow(data: Dataset) -> pa.Table:
    columns = zip(*data.rows, strict=True) if data.rows else [()] * len(data.types)
    arrays = [
        pa.array([str(cell) if kind == "mixed" and cell is not None else cell for cell in column], _ARROW[kind])
        for kind, column in zip(data.types.values(), columns, strict=True)
    ]
    return pa.Table.from_arrays(arrays, names=list(data.types))


def write_parquet(data: Dataset, file: Path) -> Path:
    pq.write_table(arrow(data), file)
    return file


def write_duckdb(data: Dataset, file: Path) -> Path:
    with duckdb.connect(file) as run:
        run.register("given", arrow(data))
        run.execute("CREATE TABLE people AS SELECT * FROM given")
    return file


def write_sqlite(data: Dataset, file: Path) -> Path:
    with closing(sqlite3.connect(file)) as run, run:
        run.execute(f"CREATE TABLE people ({', '.join(quoted(name) for name in data.types)})")
        rows = [[cell.isoformat() if isinstance(cell, date) else cell for cell in row] for row in data.rows]
        run.executemany(f"INSERT INTO people VALUES ({', '.join('?' * len(data.types))})", rows)
    return file
