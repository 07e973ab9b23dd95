"""The data of a local ledger: all totals of the dataset that it is bound to, computed before any request.

Why the promise holds: a ledger draws from one dataset only; otherwise it would mix answers about two datasets. It stores a
keyed fingerprint of its data (:mod:`noiseledger.data.fingerprint`) and refuses data with a different one. The key is in a
separate file beside the ledger file. The ledger file may therefore be passed on: without the key, the fingerprint reveals
nothing. A worker's journal needs no key, because the root of the published commitment is already keyed. The source is not
read when an analyst sends a request, so neither the time of an answer nor whether there is one depends on the data, and later
changes of the source have no effect.
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
    "The ledger was created with other data (or its columns are now read differently, such as with other missing_codes), and "
    "answers about two datasets must not be mixed: open it with the data that it was created with, or create another ledger."
)


class Bound:
    """The data of a ledger, as it was when the ledger read it."""

    def __init__(self, source: Source, file: Path, binding: str, queries: Iterable[Query]) -> None:
        """Read the totals of all queries; ``binding`` names the data that the ledger is bound to (empty: not bound yet)."""
        self._source = source
        self._key_file = key_file(file)
        self._totals: dict[str, Sequence[int]] = {}
        #: The data that the ledger will be bound to.
        self.binding = binding
        if binding and binding.startswith(_ROOT) != isinstance(source, Pinned):
            raise DataMismatch(_OTHER)
        self.take(queries, is_new=not binding)

    def take(self, queries: Iterable[Query], *, is_new: bool = False) -> None:
        """Read the totals of more queries, from the same data that the ledger is bound to."""
        # Pinned data cannot change, and contains only the totals of its own catalogue.
        wanted = [] if isinstance(self._source, Pinned) else list(queries)
        totals = {query.identifier: tuple(self._source.totals(query)) for query in wanted}
        found = self._read_binding(is_new=is_new)
        if any(tuple(self._source.totals(query)) != totals[query.identifier] for query in wanted):
            raise DataMismatch("The data changed while it was read: try again when no other program writes to it.")
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
            return root_binding(self._source.root)
        return fingerprint_binding(self._source, self._key(is_new=is_new))

    def _key(self, *, is_new: bool) -> bytes:
        if self._key_file.exists():
            return read_secret(self._key_file)
        if is_new:
            return new_secret(self._key_file)
        raise InvalidInput(
            f"{self._key_file} is missing, so it cannot be checked whether this is the ledger's data: put it back, or open "
            "the ledger without data, for free answers only."
        )


def fingerprint_binding(source: Source, key: bytes) -> str:
    """Return what names data: its fingerprint with a ledger's key."""
    return f"fingerprint {source.fingerprint(key).hex()}"


def root_binding(root: bytes) -> str:
    """Return what names pinned data: the root of its commitment, which is already keyed."""
    return f"{_ROOT}{root.hex()}"


def key_file(file: Path) -> Path:
    """Return the path of the key of a ledger's fingerprint: beside the ledger file, and only for the custodian."""
    return file.with_name(file.name + ".key")
