"""What a ledger needs of the data, whatever engine holds it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol, TypeAlias

from noiseledger.core.condition import Kind
from noiseledger.core.groups import Bins
from noiseledger.core.query import Query
from noiseledger.data.hints import did_you_mean
from noiseledger.data.record import Record
from noiseledger.errors import DataMismatch

#: What a column holds; "other" is neither compared nor summed.
Content: TypeAlias = Kind | Literal["other"]


@dataclass(frozen=True)
class Profile:
    """What is in a column: the kinds of its values (none if all are missing), and whether some are missing."""

    contents: frozenset[Content]
    has_missing: bool

    @property
    def is_numeric(self) -> bool:
        """Say whether there is nothing but numbers and missing values."""
        return self.contents <= {"number"}


class Source(Protocol):
    """Where true answers come from. Everything it tells is for the custodian alone."""

    @property
    def rows(self) -> int:
        """The number of records."""

    @property
    def columns(self) -> Mapping[str, Profile]:
        """The columns, by name."""

    def records(self) -> Iterator[Record]:
        """Yield the records, in any order, as the engine has them: integers and doubles are quicker than fractions."""

    def totals(self, query: Query) -> Sequence[int]:
        """Return the exact total for each coordinate of the answer, in whole units of the query's grid."""

    def fingerprint(self, key: bytes) -> bytes:
        """Return a keyed digest of the records, whatever their order: see :mod:`noiseledger.data.fingerprint`."""

    def close(self) -> None:
        """Let go of the data."""


def check_query(query: Query, columns: Mapping[str, Profile]) -> None:
    """Refuse a query that data with these columns cannot answer; the messages name columns, never a value.

    Whether this fails depends on single records, so it is called when the custodian brings query and data together and
    never when an analyst asks; and ``totals`` of a query that passed must not fail.
    """
    needed: dict[str, Kind | None] = {} if query.where is None else dict(query.where.columns)
    if query.groups is not None:
        needed[query.groups.column] = _grouped_kind(query)
    if query.column is not None:
        needed[query.column.name] = "number"
    absent = sorted(needed.keys() - columns.keys())
    if absent:
        named = ", ".join(name + did_you_mean(name, columns) for name in absent)
        raise DataMismatch(f"The data has no column {named}.")
    for name, kind in needed.items():
        expected = {kind} if kind is not None else {"number", "text", "boolean"}
        if not columns[name].contents <= expected:
            raise DataMismatch(f"The column {name} has values that are not {_PLURALS[kind]}.")
    if query.column is not None and query.column.missing is None and columns[query.column.name].has_missing:
        raise DataMismatch(f"The column {query.column.name} has missing values: state a value to take for them.")


_PLURALS: dict[Kind | None, str] = {
    "number": "numbers",
    "text": "text",
    "boolean": "true or false",
    None: "of a kind that can be compared",
}


def _grouped_kind(query: Query) -> Kind:
    groups = query.groups
    if groups is None or isinstance(groups, Bins):
        return "number"
    first = groups.values[0]
    return "boolean" if isinstance(first, bool) else "text" if isinstance(first, str) else "number"
