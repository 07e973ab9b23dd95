"""The data of an edition of a local ledger: all totals of the dataset that it is bound to, computed before any request.

Why the promise holds: an edition draws from one dataset only; otherwise it would mix answers about two datasets. And no two
editions are bound to the same dataset, or its records would have two budgets. The ledger stores a keyed fingerprint of the
data (:mod:`noiseledger.data.fingerprint`) and refuses data with a different one. The key is in a separate file beside the
ledger file. The ledger file may therefore be passed on: without the key, the fingerprint reveals nothing. A worker's journal
needs no key, because the root of the published commitment is already keyed. The source is not read when an analyst sends a
request, so neither the time of an answer nor whether there is one depends on the data, and later changes of the source have no
effect.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from pathlib import Path

from noiseledger.core.query import Query
from noiseledger.data.commitment import new_secret, read_secret
from noiseledger.data.pinned import Pinned
from noiseledger.data.source import Source
from noiseledger.errors import DataMismatch, DataUnavailable, InvalidInput

_ROOT = "root "
_AGAIN = (
    "The ledger has this data already, as another edition: its people would have two budgets. Open an edition only for new "
    "records, and ask about these in the edition that they are in."
)
_MIXED = (
    "The editions of one ledger must all have data with a commitment, as a worker's journal has, or all without one: else "
    "nobody could tell whether two of them have the same data."
)
_OTHER = (
    "The ledger was created with other data (or its columns are now read differently, such as with other missing_codes), and "
    "answers about two datasets must not be mixed: open it with the data that it was created with, or create another ledger."
)


class Bound:
    """The data of an edition, as it was when the ledger read it."""

    def __init__(
        self, source: Source, file: Path, binding: str, queries: Iterable[Query], others: Collection[str] = ()
    ) -> None:
        """Read the totals of all queries.

        ``binding`` names the data that the edition is bound to (empty: not bound yet), and ``others`` that of other editions.
        """
        self.source = source
        self._others = others
        self._key_file = key_file(file)
        self._totals: dict[str, Sequence[int]] = {}
        #: The data that the ledger will be bound to.
        self.binding = binding
        if binding and binding.startswith(_ROOT) != isinstance(source, Pinned):
            raise DataMismatch(_OTHER)
        if any(other.startswith(_ROOT) != isinstance(source, Pinned) for other in others):
            raise DataMismatch(_MIXED)
        self.take(queries, is_new=not binding)

    def take(self, queries: Iterable[Query], *, is_new: bool = False) -> None:
        """Read the totals of more queries, from the same data that the ledger is bound to."""
        # Pinned data cannot change, and contains only the totals of its own catalogue.
        wanted = [] if isinstance(self.source, Pinned) else list(queries)
        totals = {query.identifier: tuple(self.source.totals(query)) for query in wanted}
        found = self._read_binding(is_new=is_new)
        if any(tuple(self.source.totals(query)) != totals[query.identifier] for query in wanted):
            raise DataMismatch("The data changed while it was read: try again when no other program writes to it.")
        if not is_new and found != self.binding:
            raise DataMismatch(_OTHER)
        if found in self._others:
            raise DataMismatch(_AGAIN)
        self.binding = found
        self._totals |= totals

    def totals(self, query: Query) -> Sequence[int]:
        """Return the totals of a query as they were when the data was read."""
        if isinstance(self.source, Pinned):
            return self.source.totals(query)
        if query.identifier not in self._totals:
            raise DataUnavailable(f"'{query}' was added after the ledger was opened: open it again.")
        return self._totals[query.identifier]

    def _read_binding(self, *, is_new: bool) -> str:
        if isinstance(self.source, Pinned):
            return root_binding(self.source.root)
        return fingerprint_binding(self.source, self._key(is_new=is_new))

    def _key(self, *, is_new: bool) -> bytes:
        if self._key_file.exists():
            return read_secret(self._key_file)
        if is_new and not self._others:  # or those who are bound with the lost key could not be told from new ones
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
