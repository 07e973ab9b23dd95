"""A small table in memory: the reference for what each query means, record by record, in exact arithmetic."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal, InvalidOperation
from fractions import Fraction
from importlib import resources
from pathlib import Path
from typing import TypeAlias

from noiseledger.core.query import Column, Query
from noiseledger.errors import DataMismatch

Value: TypeAlias = Fraction | str | bool | None
Row: TypeAlias = Mapping[str, Value]


class Table:
    """Records in memory, read once."""

    def __init__(self, records: Iterable[Mapping[str, Value | int | float]]) -> None:
        """Copy the records; floats are taken as the decimals they print as, and NaN as missing."""
        self._records: list[Row] = [{name: _exact(value) for name, value in record.items()} for record in records]

    @classmethod
    def read_csv(cls, file: str | Path) -> Table:
        """Read a CSV file with a header; an empty field is missing, and what reads as a number is one."""
        with Path(file).open(newline="", encoding="utf-8") as stream:
            return cls({name: _field(text) for name, text in row.items()} for row in csv.DictReader(stream))

    @classmethod
    def census_sample(cls) -> Table:
        """Read the sample that ships with the package: 2,000 respondents of the 2012 American Community Survey."""
        with resources.as_file(resources.files("noiseledger.data") / "acs12.csv") as file:
            return cls.read_csv(file)

    @property
    def rows(self) -> int:
        """The number of records."""
        return len(self._records)

    @property
    def records(self) -> Sequence[Row]:
        """The records themselves."""
        return self._records

    def numeric_columns(self) -> dict[str, bool]:
        """Return the columns in order, and whether each holds nothing but numbers and missing values."""
        names = dict.fromkeys(name for record in self._records for name in record)
        return {name: all(isinstance(r.get(name), Fraction | None) for r in self._records) for name in names}

    def totals(self, query: Query) -> Sequence[int]:
        """Return the exact total for each coordinate of the answer, in whole units of the query's grid."""
        totals = [0] * query.dimension
        for record in self._records:
            if query.where is not None and not query.where.matches(record):
                continue
            group = 0 if query.groups is None else query.groups.index(record[query.groups.column])
            if group is not None:
                totals[group] += self._contribution(query, record)
        return totals

    def check(self, query: Query) -> None:
        """Refuse a query that these records cannot answer; for the custodian, since single records decide."""
        self._check_columns(query)
        if query.column is not None:
            self._check_numbers(query.column)
        if query.where is not None:
            for record in self._records:
                query.where.matches(record)  # refuses values of the wrong kind

    def _contribution(self, query: Query, record: Row) -> int:
        if query.column is None:
            return 1
        value = record[query.column.name]
        value = query.column.missing if value is None else value
        assert isinstance(value, Fraction)  # noqa: S101 - see check
        return query.column.on_grid(value)

    def _check_numbers(self, column: Column) -> None:
        # The messages name the column, never a value.
        values = [record[column.name] for record in self._records]
        if column.missing is None and None in values:
            raise DataMismatch(f"The column {column.name} has missing values: state a value to take for them.")
        if not all(value is None or isinstance(value, Fraction) for value in values):
            raise DataMismatch(f"The column {column.name} has values that are not numbers.")

    def _check_columns(self, query: Query) -> None:
        needed = set() if query.where is None else set(query.where.columns)
        needed |= set() if query.column is None else {query.column.name}
        needed |= set() if query.groups is None else {query.groups.column}
        for record in self._records:
            absent = sorted(needed - record.keys())
            if absent:
                raise DataMismatch(f"The data has no column {', '.join(absent)}.")


def _exact(value: Value | int | float) -> Value:
    if isinstance(value, bool | str | Fraction) or value is None:
        return value
    if isinstance(value, float) and value != value:
        return None
    return Fraction(repr(value)) if isinstance(value, float) else Fraction(value)


def _field(text: str | None) -> Value:
    if not text:
        return None
    try:
        number = Decimal(text)
    except InvalidOperation:
        return text
    return Fraction(number) if number.is_finite() else None
