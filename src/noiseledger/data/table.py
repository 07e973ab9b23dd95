"""A small table in memory: the reference implementation of each query, record by record, in exact arithmetic."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from importlib import resources
from pathlib import Path
from typing import Self, assert_never

from noiseledger.core.filters.condition import Kind, Row
from noiseledger.core.query import Column, Measure, Query
from noiseledger.data.delimited import Dialect, columns_of, records_of
from noiseledger.data.fingerprint import fingerprint_of
from noiseledger.data.hints import did_you_mean
from noiseledger.data.reading import Reading
from noiseledger.errors import DataMismatch

UNREADABLE_NAMES = (
    " The names in line 1 contain bytes that are not text in the declared encoding: if the file is from Windows, write "
    'encoding = "windows-1252" in [source], or convert it with iconv -f WINDOWS-1252 -t UTF-8 OLD.csv > NEW.csv'
)
#: The columns of the sample that ships with the package.
CENSUS_KINDS: Mapping[str, Kind] = {"income": "number", "race": "text", "age": "number", "citizen": "text"}


class Table:
    """Records in memory, read once.

    >>> people = Table([{"age": 61}, {"age": "unknown"}], {"age": "number"})
    >>> list(people.totals(Query.count("age IS NULL")))
    [1]
    """

    def __init__(self, records: Iterable[Mapping[str, object]], kinds: Mapping[str, Kind] | Reading) -> None:
        """Read the records, each separately: the declared columns and no others.

        A value that is absent, or not of its column's kind, is missing.
        """
        reading = kinds if isinstance(kinds, Reading) else Reading(kinds)
        self._kinds = dict(reading.kinds)
        self._records: list[Row] = [reading.record(record) for record in records]

    @classmethod
    def read_csv(cls, file: str | Path, kinds: Mapping[str, Kind] | Reading, dialect: Dialect | None = None) -> Self:
        """Read a delimited text file; by default UTF-8 with commas, quotes and a header line."""
        path, form = Path(file), dialect or Dialect()
        names = columns_of(path, form)
        check_columns(kinds.kinds if isinstance(kinds, Reading) else kinds, names)
        return cls((dict(zip(names, fields, strict=True)) for fields in records_of(path, form)), kinds)

    @classmethod
    def census_sample(cls) -> Table:
        """Read the sample that ships with the package: 2,000 respondents of the 2012 American Community Survey."""
        with resources.as_file(resources.files("noiseledger.data") / "acs12.csv") as file:
            return cls.read_csv(file, CENSUS_KINDS)

    @property
    def rows(self) -> int:
        """The number of records."""
        return len(self._records)

    @property
    def kinds(self) -> Mapping[str, Kind]:
        """The declared columns, by name, and their kinds."""
        return self._kinds

    def records(self) -> Iterator[Row]:
        """Yield the records."""
        return iter(self._records)

    def totals(self, query: Query) -> Sequence[int]:
        """Return the exact total for each coordinate of the answer, in whole units of the query's grid."""
        return totals(query, self._records)

    def fingerprint(self, key: bytes) -> bytes:
        """Return a keyed digest of the records, in any order."""
        return fingerprint_of(self.records(), key)

    def close(self) -> None:
        """Do nothing: the table is in memory."""


def check_columns(declared: Iterable[str], found: Iterable[str]) -> None:
    """Refuse declared columns that the table does not have."""
    names = list(found)
    absent = [name + did_you_mean(name, names) for name in declared if name not in names]
    if absent:
        lost = UNREADABLE_NAMES if any("\ufffd" in name for name in names) else ""
        raise DataMismatch(f"The data has no column {', '.join(absent)}: correct the name, or remove it.{lost}")


def totals(query: Query, records: Iterable[Row]) -> list[int]:
    """Return the totals of a query: the sum of the records' contributions, each of which depends on one record alone."""
    sums = [0] * query.dimension
    for record in records:
        if query.where is not None and not query.where.matches(record):
            continue
        group = 0 if query.groups is None else query.groups.place(record)
        if group is not None:
            sums[group] += _contribution(query, record)
    return sums


def _contribution(query: Query, record: Row) -> int:
    match query.measure:
        case Measure.COUNT | Measure.SHARE:
            return 1
        case Measure.SUM | Measure.MEAN:
            return _in_grid_units(query.summed, record)
        case _:
            assert_never(query.measure)


def _in_grid_units(column: Column, record: Row) -> int:
    value = record[column.name]
    if not isinstance(value, Fraction):
        value = column.missing
    assert value is not None  # noqa: S101 - see check_query
    return column.on_grid(value)
