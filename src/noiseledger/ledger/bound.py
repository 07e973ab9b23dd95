"""What a local ledger knows of its data: all totals, taken before anything is asked, of the dataset that it is bound to.

Why the promise holds: a ledger draws from one dataset only, or answers of two would blend. It keeps a keyed fingerprint of its
data (:mod:`noiseledger.data.fingerprint`) and refuses data with another one. The key is in a file of its own beside the ledger
file, which may be handed on: without the key the fingerprint tells nothing. A worker's journal needs no key, since the
root of the published commitment is keyed already. The source is not touched when an analyst asks, so neither when nor whether
an answer comes depends on the data, and a source that changes afterwards changes nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from noiseledger.core.query import Query
from noiseledger.data.commitment import new_secret, read_secret
from noiseledger.data.pinned import Pinned
from noiseledger.data.source import Source
from noiseledger.errors import DataMismatch, DataUnavailable, InvalidInput

_ROOT = "root "
_OTHER = (
    "The ledger was made with other data, and answers of two datasets must not blend: open it with the data that it was made "
    "with, or make another ledger."
)


class Bound:
    """The data of a ledger, as it was when it was read."""

    def __init__(self, source: Source, file: Path, binding: str, queries: Iterable[Query]) -> None:
        """Read the totals of all queries; ``binding`` is what the ledger is bound to, empty if to nothing yet."""
        self._source = source
        self._key_file = key_file(file)
        self._totals: dict[str, Sequence[int]] = {}
        #: What the ledger is to be bound to.
        self.binding = binding
        if binding and binding.startswith(_ROOT) != isinstance(source, Pinned):
            raise DataMismatch(_OTHER)
        self.take(queries, is_new=not binding)

    def take(self, queries: Iterable[Query], *, is_new: bool = False) -> None:
        """Read the totals of more queries, from the very data that the ledger is bound to."""
        # What is pinned cannot change, and has the totals of its own catalogue only.
        wanted = [] if isinstance(self._source, Pinned) else list(queries)
        totals = {query.identifier: tuple(self._source.totals(query)) for query in wanted}
        found = self._read_binding(is_new=is_new)
        if any(tuple(self._source.totals(query)) != totals[query.identifier] for query in wanted):
            raise DataMismatch("The data changed while it was read: try again once nobody writes to it.")
        if not is_new and found != self.binding:
            raise DataMismatch(_OTHER)
        self.binding = found
        self._totals |= totals

    def totals(self, query: Query) -> Sequence[int]:
        """Return the totals of a query as they were when the data was read."""
        if isinstance(self._source, Pinned):
            return self._source.totals(query)
        if query.identifier not in self._totals:
            raise DataUnavailable(f"'{query}' was added after the ledger was opened: open it again.")
        return self._totals[query.identifier]

    def _read_binding(self, *, is_new: bool) -> str:
        if isinstance(self._source, Pinned):
            return f"{_ROOT}{self._source.root.hex()}"
        return f"fingerprint {self._source.fingerprint(self._key(is_new=is_new)).hex()}"

    def _key(self, *, is_new: bool) -> bytes:
        if self._key_file.exists():
            return read_secret(self._key_file)
        if is_new:
            return new_secret(self._key_file)
        raise InvalidInput(
            f"{self._key_file} is not there, so nobody can tell whether this is the ledger's data: put it back, or open the "
            "ledger without data, for what is free."
        )


def key_file(file: Path) -> Path:
    """Return where the key of a ledger's fingerprint is: beside the ledger file, and for its custodian alone."""
    return file.with_name(file.name + ".key")
