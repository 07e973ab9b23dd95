"""The custody folder beside a catalogue: the secret, the journal and the ledger file.

Why the promise holds: the published ledger commits to the data *and* to the journal. A worker with a different journal could
draw a second value for a stretch that was already revealed; its journal does not match the commitment, so it is refused.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from noiseledger.chain.values import Terms
from noiseledger.core.filters.condition import Kind
from noiseledger.core.query import Query
from noiseledger.core.zones import Zones
from noiseledger.custodian.intact import check_complete, is_full, remove_unfinished
from noiseledger.custodian.journal import Journal, journal_digest
from noiseledger.custodian.mismatch import another_identity, explain, find_mismatch
from noiseledger.data.catalogue import Catalogue
from noiseledger.data.commitment import PUBLISHED, SECRET_BYTES, bind, read_secret
from noiseledger.data.pinned import Pinned
from noiseledger.data.source import check_query
from noiseledger.data.zone_words import described
from noiseledger.errors import CustodyDamaged, DataMismatch, JournalLost, LedgerNotFound
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

    @property
    def _catalogue_name(self) -> str:
        return self.folder.with_suffix(".toml").name

    def pin(self, catalogue: Catalogue, *, without_journal: bool = False) -> Pinned:
        """Read the data once: the totals of all queries, and what the commitment needs.

        The queries are those of the catalogue and those of the journal: what was published once can be bought for ever, so it
        must be answered even if it is no longer in the catalogue. If nothing was published yet, the secret is a new one.
        """
        self.check_complete(without_journal=without_journal)
        self.check_codes(catalogue)
        kept = [] if without_journal else self._kept_queries()
        queries = dict.fromkeys([*(entry.query for entry in catalogue.entries), *kept])
        with closing(catalogue.open()) as source:
            for query in kept:
                _check_readable(query, source.kinds, catalogue)
            return Pinned(source, queries, self._secret(), catalogue.source)

    def check_complete(self, *, without_journal: bool = False) -> None:
        """Refuse a folder in which something is missing, empty or unreadable that a published ledger may depend on."""
        check_complete(self.folder, self._catalogue_name, without_journal=without_journal)

    def _secret(self) -> bytes:
        """Return the secret, or a new one, which is stored only when something is published with it."""
        return read_secret(self.secret_file) if is_full(self.secret_file) else os.urandom(SECRET_BYTES)

    def _store_secret(self, data: Pinned) -> None:
        """Store a new secret durably, before anything depends on it."""
        try:
            self.folder.mkdir(mode=0o700, exist_ok=True)
            remove_unfinished(self.folder)
            if not self.secret_file.exists():
                write_durably(self.secret_file, data.secret.hex() + "\n", mode=0o600)
        except OSError as error:
            raise CustodyDamaged(
                f"{error.filename or self.folder} cannot be written: {error.strerror}. The custody folder is made beside the "
                "catalogue: put that into a folder that you can write to."
            ) from None

    def _kept_queries(self) -> list[Query]:
        """Return the queries that the journal contains."""
        if not is_full(self.journal_file):
            return []
        with closing(self.journal(None)) as journal:
            return journal.queries()

    def prepare(self, catalogue: Catalogue, data: Pinned) -> None:
        """Store the secret and create the journal if there is none; add the queries that it does not contain."""
        queries = [entry.query for entry in catalogue.entries]
        self.check_complete()
        self.check_own_zones(catalogue)
        self._store_secret(data)
        if self.journal_file.exists():
            with closing(self.journal(data)) as journal:
                journal.add(*queries)
                self.keep_identity(journal)
            return
        budget = catalogue.budget
        journal = Journal.create(
            self.journal_file,
            epsilon=budget.epsilon,
            delta=budget.delta,
            population=catalogue.population(data.rows),
            queries=queries,
            source=data,
            # Why the promise holds: the journal charges the same zones as the contract, so either alone is enough.
            zones=catalogue.zones,
        )
        with closing(journal):
            self.keep_identity(journal)

    def check_own_zones(self, catalogue: Catalogue) -> None:
        """Refuse a catalogue with other zones than the journal was created with, in which it counts what is spent."""
        if not is_full(self.journal_file):
            return
        with closing(self.journal(None)) as journal:
            if journal.zones != catalogue.zones:
                raise DataMismatch(
                    f"{self.journal_file} counts what is spent by other zones than {catalogue.file} declares, for good: put "
                    f"[zones] back as it was ({described(journal.zones)}). Nothing was changed."
                )

    def journal(self, data: Pinned | None) -> Journal:
        """Open the journal; with the data it can draw, without the data it can only repeat."""
        self.check_complete()
        try:
            return Journal.open(self.journal_file, data)
        except LedgerNotFound as error:
            raise JournalLost(
                f"{error} It should be the journal: put the right file back. If it is lost, move this one out of the folder "
                f"and run: noiseledger recover {self._catalogue_name}"
            ) from None

    def keep_identity(self, journal: Journal) -> None:
        """Store a copy of the journal's name before anything is published, because the published ledger commits to it.

        Of a published ledger, only the name of a journal that was checked may be stored.
        """
        kept = self.kept_identity()
        if kept not in (None, journal.identity):
            raise CustodyDamaged(
                f"{self.identity_file} does not have the name of {self.journal_file}: restore both from your "
                "backup, as they were together. Nothing was changed."
            )
        if kept is None:
            write_durably(self.identity_file, journal.identity + "\n", mode=0o600)

    def kept_identity(self) -> str | None:
        """Return the journal's name from its own file, or None if there is none."""
        return read_secret(self.identity_file).hex() if self.identity_file.exists() else None

    def check(self, published: bytes, data: Pinned, journal: Journal) -> None:
        """Refuse data, a secret or a journal that the ledger was not published with, and say which of them it is."""
        if commitment(data, journal) != published:
            self.check_form()
            raise DataMismatch(explain(self.folder, published, data, journal, self.kept_identity()))
        if self.kept_identity() not in (None, journal.identity):
            raise CustodyDamaged(another_identity(self.folder))

    def check_on_this_machine(self, data: Pinned) -> list[str]:
        """Do the checks of ``check`` as far as they need no chain; return what is missing and can be written again."""
        self.check_form()
        with closing(self.journal(None)) as journal:
            wrong = find_mismatch(self.folder, data, journal, self.kept_identity())
        if wrong:
            raise DataMismatch(wrong)
        return self.missing()

    def missing(self) -> list[str]:
        """Return what is missing in a folder of which everything else is there, and that a command writes again."""
        if self.identity_file.exists():
            return []
        return [
            f"{self.identity_file} is missing: it is the name of the journal, without which a lost journal cannot be rebuilt. "
            f"Restore it from your backup, or run noiseledger publish {self._catalogue_name}, which writes it again from the "
            "journal."
        ]

    def own_identity(self) -> str | None:
        """Return the journal's name, from its own file or else from the journal; None if there is neither."""
        kept = self.kept_identity()
        if kept is not None or not is_full(self.journal_file):
            return kept
        with closing(self.journal(None)) as journal:
            return journal.identity

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


def zone_terms(zones: Zones) -> tuple[int, bytes]:
    """Return what the contract stores of zones: how many there are, and the SHA-256 of their canonical text."""
    return zones.count, hashlib.sha256(zones.canonical.encode()).digest()


def check_zones(journal: Journal, terms: Terms) -> None:
    """Refuse a journal that counts what is spent by other zones than its ledger.

    Why the promise holds: the journal charges its own budget for every point that it draws, whatever the chain says. That is a
    second guard of the same promise only if both charge the same zones.
    """
    if zone_terms(journal.zones) != (terms.zones, terms.zone_list):
        raise DataMismatch(
            f"{journal.file} has {described(journal.zones)}, and the ledger was published with others, so the two would not "
            "count the same as spent: restore the journal of this ledger from your backup. Nothing was changed or drawn."
        )


def _check_readable(query: Query, kinds: Mapping[str, Kind], catalogue: Catalogue) -> None:
    """Refuse a catalogue that no longer declares what a published query needs."""
    try:
        check_query(query, kinds)
    except DataMismatch as error:
        raise DataMismatch(
            f"'{query}' is in the ledger permanently and must stay answerable, but {catalogue.file} no longer declares its "
            f"columns as they were: {error}"
        ) from None
