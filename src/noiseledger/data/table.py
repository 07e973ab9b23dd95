"""A small table in memory: the reference for what each query means, record by record, in exact arithmetic."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from functools import cached_property
from importlib import resources
from pathlib import Path

from noiseledger.core.condition import Row
from noiseledger.core.query import Query
from noiseledger.data.cells import Value, exact_value, kind_of, text_values
from noiseledger.data.fingerprint import fingerprint_of
from noiseledger.data.source import Profile
from noiseledger.errors import DataUnavailable


class Table:
    """Records in memory, read once."""

    def __init__(self, records: Iterable[Mapping[str, Value | int | float]], columns: Iterable[str] = ()) -> None:
        """Copy the records; floats are taken as the decimals they print as, and NaN or an absent field as missing.

        A table without records has the ``columns`` that are named.
        """
        given = list(records)
        self._names = list(dict.fromkeys([*columns, *(name for record in given for name in record)]))
        self._records: list[Row] = [{name: exact_value(r.get(name)) for name in self._names} for r in given]

    @classmethod
    def read_csv(cls, file: str | Path) -> Table:
        """Read a CSV file with a header; an empty field is missing, and a column is numeric if all of its fields are."""
        try:
            with Path(file).open(newline="", encoding="utf-8-sig") as stream:
                names, *fields = [line for line in csv.reader(stream) if line] or [[]]
        except OSError as error:
            raise DataUnavailable(f"{file} cannot be read: {error.strerror}.") from None
        except UnicodeDecodeError:
            raise DataUnavailable(f"{file} cannot be read: it is not UTF-8 text.") from None
        if len(set(names)) < len(names) or any(len(line) != len(names) for line in fields):
            raise DataUnavailable(
                f"{file} cannot be read: expected a header with different names, and as many fields in every line."
            )
        values = {name: text_values(line[number] for line in fields) for number, name in enumerate(names)}
        return cls(({name: values[name][number] for name in names} for number in range(len(fields))), names)

    @classmethod
    def census_sample(cls) -> Table:
        """Read the sample that ships with the package: 2,000 respondents of the 2012 American Community Survey."""
        with resources.as_file(resources.files("noiseledger.data") / "acs12.csv") as file:
            return cls.read_csv(file)

    @property
    def rows(self) -> int:
        """The number of records."""
        return len(self._records)

    @cached_property
    def columns(self) -> Mapping[str, Profile]:
        """The columns, by name."""
        return {name: self._profile(name) for name in self._names}

    def records(self) -> Iterator[Row]:
        """Yield the records."""
        return iter(self._records)

    def totals(self, query: Query) -> Sequence[int]:
        """Return the exact total for each coordinate of the answer, in whole units of the query's grid."""
        return totals(query, ((record, 1) for record in self._records))

    def fingerprint(self, key: bytes) -> bytes:
        """Return a keyed digest of the records, whatever their order."""
        return fingerprint_of(self.records(), key)

    def close(self) -> None:
        """Do nothing: memory is all there is."""

    def _profile(self, name: str) -> Profile:
        values = [record[name] for record in self._records]
        kinds = frozenset(kind_of(value) for value in values if value is not None)
        return Profile(kinds, None in values)


def totals(query: Query, records: Iterable[tuple[Row, int]]) -> list[int]:
    """Return the totals of a query over records, each of which occurs so many times."""
    sums = [0] * query.dimension
    for record, times in records:
        if query.where is not None and not query.where.matches(record):
            continue
        group = 0 if query.groups is None else query.groups.index(record[query.groups.column])
        if group is not None:
            sums[group] += times * _contribution(query, record)
    return sums


def _contribution(query: Query, record: Row) -> int:
    if query.column is None:
        return 1
    value = record[query.column.name]
    value = query.column.missing if value is None else value
    assert isinstance(value, Fraction)  # noqa: S101 - see check_query
    return query.column.on_grid(value)
