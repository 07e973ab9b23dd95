"""The totals of one dataset, read once and held.

Why the promise holds: all answers come from the very dataset that the ledger was published for, however its source changes
afterwards. The totals are taken before *and* after the commitment is computed; if they agree, then a source that changed
once in between gave the totals of the dataset that the commitment was computed over.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from noiseledger.core.filters.condition import Kind, Row
from noiseledger.core.query import Query
from noiseledger.data.commitment import Commitment
from noiseledger.data.source import Source, check_query
from noiseledger.errors import DataMismatch, DataUnavailable


class Pinned:
    """A source that answers the queries of a catalogue and no others, without the data."""

    def __init__(self, source: Source, queries: Iterable[Query], secret: bytes) -> None:
        """Read everything that will ever be needed."""
        self.rows = source.rows
        self.kinds: Mapping[str, Kind] = source.kinds
        wanted = list(queries)
        for query in wanted:
            check_query(query, self.kinds)
        self._totals = {query.identifier: tuple(source.totals(query)) for query in wanted}
        #: The root of the Merkle tree over the records.
        self.root = Commitment(source.records(), secret).root
        if any(tuple(source.totals(query)) != self._totals[query.identifier] for query in wanted):
            raise DataMismatch("The data changed while it was read: try again once nobody writes to it.")

    def totals(self, query: Query) -> Sequence[int]:
        """Return the totals as they were when the data was read."""
        if query.identifier not in self._totals:
            raise DataUnavailable(f"'{query}' is not in the catalogue that the data was read for.")
        return self._totals[query.identifier]

    def records(self) -> Iterator[Row]:
        """Refuse: the records are not held."""
        raise DataUnavailable("The records are read once and not held.")

    def fingerprint(self, key: bytes) -> bytes:
        """Refuse: what is pinned is known by its root, which is keyed already."""
        raise DataUnavailable("The records are read once and not held.")

    def close(self) -> None:
        """Do nothing: nothing is open."""
