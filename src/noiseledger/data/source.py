"""The interface of a data source, the same for every engine."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Protocol

from noiseledger.core.filters.condition import Kind
from noiseledger.core.query import Query
from noiseledger.data.hints import did_you_mean
from noiseledger.data.record import Record
from noiseledger.errors import DataMismatch


class Source(Protocol):
    """The source of true answers. Everything that it returns is for the custodian alone."""

    @property
    def rows(self) -> int:
        """The number of records."""

    @property
    def kinds(self) -> Mapping[str, Kind]:
        """The declared columns, by name, and their kinds. There are no others."""

    def records(self) -> Iterator[Record]:
        """Yield the records, in any order, with their declared columns: whole numbers, doubles, text, flags and dates."""

    def totals(self, query: Query) -> Sequence[int]:
        """Return the exact total for each coordinate of the answer, in whole units of the query's grid."""

    def fingerprint(self, key: bytes) -> bytes:
        """Return a keyed digest of the records in any order: see :mod:`noiseledger.data.fingerprint`."""

    def close(self) -> None:
        """Close the data."""


def check_query(query: Query, kinds: Mapping[str, Kind]) -> None:
    """Refuse a query that uses columns that are not declared, or declared as another kind.

    Why the promise holds: this check depends on declarations and never on a record, so whether a query can be published or
    answered reveals nothing about anybody; and ``totals`` of a query that passed never fails, whatever the records contain.
    """
    absent = sorted(query.kinds.keys() - kinds.keys())
    if absent:
        named = ", ".join(name + did_you_mean(name, kinds) for name in absent)
        raise DataMismatch(f"The data has no declared column {named}: declare it with its kind.")
    for name, kind in query.kinds.items():
        if kind not in (None, kinds[name]):
            raise DataMismatch(
                f"The column {name} is declared as {kinds[name]}, but the query uses it as {kind}"
                + (": write dates as DATE '2024-02-29'." if kinds[name] == "date" else ".")
            )
    if query.column is not None and query.column.missing is None:
        raise DataMismatch(
            f"The column {query.column.name} has no value for missing ones: declare missing, even if there are none."
        )
