"""The totals of one dataset, read once and kept in memory.

Why the promise holds: all answers come from the dataset that the ledger was published for, even if its source changes
afterwards. The totals are computed before *and* after the commitment; if they agree, then even a source that changed once in
between gave the totals of the dataset that the commitment was computed over.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from noiseledger.core.filters.condition import Kind, Row
from noiseledger.core.query import Query
from noiseledger.data.commitment import Commitment
from noiseledger.data.location import Location
from noiseledger.data.origin import Origin
from noiseledger.data.source import Source, check_query
from noiseledger.errors import DataMismatch, DataUnavailable


class Pinned:
    """A source that answers only the queries of a catalogue, without further access to the data."""

    def __init__(
        self, source: Source, queries: Iterable[Query], secret: bytes, location: Location | None = None
    ) -> None:
        """Read all totals and compute the commitment; ``location`` is where the source is, if that is known."""
        self.rows = source.rows
        #: The secret of the commitment, which may not be on the disk yet.
        self.secret = secret
        self.kinds: Mapping[str, Kind] = source.kinds
        wanted = list(queries)
        for query in wanted:
            check_query(query, self.kinds)
        self._totals = {query.identifier: tuple(source.totals(query)) for query in wanted}
        #: The root of the Merkle tree over the records.
        tree = Commitment(source.records(), secret)
        self.root = tree.root
        if any(tuple(source.totals(query)) != self._totals[query.identifier] for query in wanted):
            raise DataMismatch("The data changed while it was read: try again when nobody writes to it.")
        digest = tree.records_digest
        #: What the data is recognised by when it is published again.
        self.origin = Origin("", digest) if location is None else Origin.of(location, digest)

    def totals(self, query: Query) -> Sequence[int]:
        """Return the totals as they were when the data was read."""
        if query.identifier not in self._totals:
            raise DataUnavailable(f"'{query}' is not in the catalogue that the data was read for.")
        return self._totals[query.identifier]

    def has(self, query: Query) -> bool:
        """Return whether the totals of a query were read."""
        return query.identifier in self._totals

    def take(self, later: Pinned) -> None:
        """Add the totals of more queries, from a later read of the same data.

        Why the promise holds: they count only if that read has the same root, so all answers are still about one dataset.
        """
        if (later.root, later.rows) != (self.root, self.rows):
            raise DataMismatch("The data has changed since the worker read it: new queries need the same data.")
        self._totals = {**later._totals, **self._totals}

    def records(self) -> Iterator[Row]:
        """Refuse: the records are not kept."""
        raise DataUnavailable("The records are read once and not kept.")

    def fingerprint(self, key: bytes) -> bytes:
        """Refuse: pinned data is identified by its root, which is already keyed."""
        raise DataUnavailable("The records are read once and not kept.")

    def close(self) -> None:
        """Do nothing: nothing is open."""
