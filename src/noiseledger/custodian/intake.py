"""Take up queries that ``publish`` added while the worker was running, and notice when the catalogue can no longer be used.

Why the promise holds: a query is taken up only after every check that is made at the start (the catalogue, its terms, and the
commitment to the data, the secret and the journal), and only with totals of the data that the worker has pinned.
"""

from __future__ import annotations

import time
from contextlib import closing
from pathlib import Path

from noiseledger.chain.values import Terms
from noiseledger.core.query import Query
from noiseledger.custodian.custody import Custody
from noiseledger.custodian.journal import Journal
from noiseledger.custodian.publish import check_terms
from noiseledger.data.catalogue import Catalogue, read_catalogue
from noiseledger.data.commitment import read_secret
from noiseledger.data.pinned import Pinned
from noiseledger.errors import NoiseledgerError
from noiseledger.progress import CatalogueRead, CatalogueRefused, Listener

#: After a failure, the same catalogue is tried again at this interval: its data may have been unavailable.
RETRY_SECONDS = 60.0

#: What identifies the content of a file without reading it; None if the file is missing.
_Stamp = tuple[int, int, int] | None


class Intake:
    """Keeps the pinned data of a running worker up to date with the journal's queries."""

    def __init__(self, catalogue: Catalogue, data: Pinned, journal: Journal, terms: Terms, listener: Listener) -> None:
        """Add to ``data``, which the journal draws from; ``terms`` are those of the published ledger."""
        self._file = catalogue.file
        self._custody = Custody.of(catalogue)
        self._data = data
        self._journal = journal
        self._terms = terms
        self._notify = listener
        self._tried = (_stamp(self._file), frozenset[str]())
        self._retry = 0.0
        self._problem = ""

    def check(self) -> None:
        """Read the catalogue again if it was changed, or if the journal contains a query whose totals were not read.

        Nothing that is wrong with the catalogue or the data stops the worker: it answers the other queries.
        """
        missing = [query for query in self._journal.queries() if not self._data.has(query)]
        state = _stamp(self._file), frozenset(query.identifier for query in missing)
        is_pending = bool(missing or self._problem)
        if state == self._tried and not (is_pending and time.monotonic() >= self._retry):
            return
        try:
            self._read(missing)
        except NoiseledgerError as error:
            self._refuse(type(error).__name__, str(error))
        except Exception as error:
            # An engine can fail in ways that are not ours. Its message may contain values of the data.
            self._refuse(type(error).__name__, "The catalogue's data could not be read.")
        else:
            self._problem = ""
            self._notify(CatalogueRead(tuple(query.identifier for query in missing)))
        self._tried, self._retry = state, time.monotonic() + RETRY_SECONDS

    def _read(self, missing: list[Query]) -> None:
        catalogue = read_catalogue(self._file)
        check_terms(catalogue, self._terms, self._journal.zones)
        self._custody.check_codes(catalogue)
        if not missing:
            return
        with closing(catalogue.open()) as source:
            # Not with Custody.pin: that creates a secret if there is none.
            later = Pinned(source, missing, read_secret(self._custody.secret_file))
        self._custody.check(self._terms.commitment, later, self._journal)
        self._data.take(later)

    def _refuse(self, kind: str, reason: str) -> None:
        if reason != self._problem:
            self._problem = reason
            self._notify(CatalogueRefused(kind, reason))


def _stamp(file: Path) -> _Stamp:
    try:
        found = file.stat()
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size, found.st_ino
