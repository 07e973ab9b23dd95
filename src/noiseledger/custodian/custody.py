"""The custody folder beside a catalogue: the secret, the journal and the ledger file.

Why the promise holds: the published ledger commits to the data *and* to the journal. A worker with a different journal could
draw a second value for a stretch that was already revealed; its journal does not match the commitment, so it is refused.
"""

from __future__ import annotations

import hashlib
from contextlib import closing, suppress
from dataclasses import dataclass
from pathlib import Path

from noiseledger.core.query import Query
from noiseledger.custodian.journal import Journal
from noiseledger.data.catalogue import Catalogue
from noiseledger.data.commitment import PUBLISHED, bind, new_secret, read_secret
from noiseledger.data.pinned import Pinned
from noiseledger.errors import DataMismatch, JournalLost, LedgerError
from noiseledger.ledger.durable import write_durably
from noiseledger.ledger.file import LedgerFile


@dataclass(frozen=True)
class Custody:
    """A folder beside the catalogue; everything in it is private to the custodian, except the ledger file."""

    folder: Path

    @classmethod
    def of(cls, catalogue: Catalogue) -> Custody:
        """Return the custody of a catalogue: a folder of the same name, ending in .custody."""
        return cls(catalogue.file.with_suffix(".custody"))

    @property
    def journal_file(self) -> Path:
        """The journal: the authoritative record of what was released."""
        return self.folder / "journal.ledger"

    @property
    def secret_file(self) -> Path:
        """The secret of the commitment."""
        return self.folder / "secret"

    @property
    def identity_file(self) -> Path:
        """A copy of the journal's name: the ledger commits to the name, so a lost journal cannot be rebuilt without it."""
        return self.folder / "journal.identity"

    @property
    def intent_file(self) -> Path:
        """The address at which a ledger is being published; this file exists only during that time."""
        return self.folder / "publish.intent"

    @property
    def ledger_file(self) -> Path:
        """The ledger file, for analysts."""
        return self.folder / "ledger.json"

    def pin(self, catalogue: Catalogue) -> Pinned:
        """Read the data once: the totals of all queries, and what the commitment needs. Creates the secret if there is none."""
        self.check_codes(catalogue)
        self.folder.mkdir(mode=0o700, exist_ok=True)
        if not self.secret_file.exists():
            new_secret(self.secret_file)
        with closing(catalogue.open()) as source:
            return Pinned(source, self._queries(catalogue), read_secret(self.secret_file))

    def _queries(self, catalogue: Catalogue) -> list[Query]:
        """Return the catalogue's queries, and those that it no longer contains: they are still sold, so they are answered."""
        queries = [entry.query for entry in catalogue.entries]
        # A journal that cannot be opened is reported where it is needed.
        with suppress(LedgerError):
            if self.journal_file.exists():
                with closing(self.journal(None)) as journal:
                    queries += journal.queries()
        return list(dict.fromkeys(queries))

    def prepare(self, catalogue: Catalogue, data: Pinned) -> None:
        """Create the journal if there is none; add the queries that it does not contain."""
        queries = [entry.query for entry in catalogue.entries]
        if self.journal_file.exists():
            with closing(self.journal(data)) as journal:
                journal.add(*queries)
                self._keep_identity(journal)
            return
        self._check_not_lost()
        budget = catalogue.budget
        journal = Journal.create(
            self.journal_file,
            epsilon=budget.epsilon,
            delta=budget.delta,
            population=catalogue.population(data.rows),
            queries=queries,
            source=data,
        )
        with closing(journal):
            self._keep_identity(journal)

    def journal(self, data: Pinned | None) -> Journal:
        """Open the journal; with the data it can draw, without the data it can only repeat."""
        if not self.journal_file.exists():
            self._check_not_lost()
        return Journal.open(self.journal_file, data)

    def _keep_identity(self, journal: Journal) -> None:
        """Store a copy of the journal's name before anything is published, because the published ledger commits to it."""
        if not self.identity_file.exists():
            write_durably(self.identity_file, journal.identity + "\n", mode=0o600)

    def _check_not_lost(self) -> None:
        """Never create a second journal after a ledger was published: it could contradict what the first released."""
        if self.ledger_file.exists() or self.identity_file.exists():
            raise JournalLost(
                f"{self.journal_file} is missing, and a ledger may have been published with it. Put it back or, if it is "
                f"lost, run: noiseledger recover {self.folder.with_suffix('.toml').name}"
            )

    def check(self, published: bytes, data: Pinned, journal: Journal) -> None:
        """Refuse data or a journal that the ledger was not published with."""
        if commitment(data, journal) != published:
            self.check_form()
            raise DataMismatch(
                "The ledger was published with other data, another journal or another secret: nothing is answered, "
                "because two journals could give different answers to the same query."
            )

    def check_form(self) -> None:
        """Refuse a ledger that was published with a commitment of another format, which could never match."""
        known = self.read_ledger_file()
        if known is not None and known.commitment != PUBLISHED:
            raise DataMismatch(
                "The ledger was published by an earlier version of noiseledger, whose commitment to the data this one cannot "
                "open: continue with that version, or publish the catalogue again under another name."
            )

    def check_codes(self, catalogue: Catalogue) -> None:
        """Refuse other codes for missing values than the ledger was published with.

        The commitment refuses them too, if a record has such a code, but could not say why; and whether a record has one
        should decide nothing.
        """
        known = self.read_ledger_file()
        if known is None:
            return
        before, now = known.codebook.missing_codes, catalogue.codebook.missing_codes
        for name in sorted(before.keys() | now.keys()):
            if set(before.get(name, ())) != set(now.get(name, ())):
                was = f"missing_codes = [{', '.join(before[name])}]" if name in before else "no missing_codes"
                raise DataMismatch(
                    f"The ledger was published with {was} for the column {name}. Other codes would give every query that "
                    f"uses {name} a second meaning, under the name of the first: put that back into {catalogue.file}. Other "
                    "codes need a ledger of their own."
                )

    def read_ledger_file(self) -> LedgerFile | None:
        """Return the ledger file, or None if no ledger was published."""
        return LedgerFile.read(self.ledger_file) if self.ledger_file.exists() else None


def commitment(data: Pinned, journal: Journal) -> bytes:
    """Return the commitment to the data and to the journal, which is published."""
    return bind(data.root, journal_digest(journal.identity))


def journal_digest(identity: str) -> bytes:
    """Return the hash of a journal's name: the name itself stays private."""
    return hashlib.sha256(bytes.fromhex(identity)).digest()
