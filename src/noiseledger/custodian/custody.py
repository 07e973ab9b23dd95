"""What a custodian keeps beside a catalogue: the secret, the journal, and where the ledger is.

Why the promise holds: what is published commits to the data *and* to the journal, so a worker with another journal, which
could draw a second value for a stretch that was already revealed, is not the one this ledger was published with.
"""

from __future__ import annotations

import hashlib
import json
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from noiseledger.data.catalogue import Catalogue
from noiseledger.data.commitment import new_secret, read_secret
from noiseledger.data.pinned import Pinned
from noiseledger.errors import DataMismatch, InvalidInput
from noiseledger.ledger.local import LocalLedger


@dataclass(frozen=True)
class Custody:
    """A folder beside the catalogue; everything in it is for the custodian only, except the ledger file."""

    folder: Path

    @classmethod
    def of(cls, catalogue: Catalogue) -> Custody:
        """Return the custody of a catalogue: a folder of the same name, ending in .custody."""
        return cls(catalogue.file.with_suffix(".custody"))

    @property
    def journal_file(self) -> Path:
        """The journal: the truth about what was released."""
        return self.folder / "journal.ledger"

    @property
    def secret_file(self) -> Path:
        """The secret of the commitment."""
        return self.folder / "secret"

    @property
    def ledger_file(self) -> Path:
        """Where the ledger is: for analysts."""
        return self.folder / "ledger.json"

    def pin(self, catalogue: Catalogue) -> Pinned:
        """Read the data once: the totals of all queries, and what the commitment needs. Makes the secret, if need be."""
        self.folder.mkdir(mode=0o700, exist_ok=True)
        if not self.secret_file.exists():
            new_secret(self.secret_file)
        with closing(catalogue.source.open()) as source:
            return Pinned(source, [entry.query for entry in catalogue.entries], read_secret(self.secret_file))

    def prepare(self, catalogue: Catalogue, data: Pinned) -> None:
        """Make the journal, where it is not there already; add the queries that it does not know."""
        queries = [entry.query for entry in catalogue.entries]
        if self.journal_file.exists():
            with closing(self.journal(data)) as journal:
                journal.add(*queries)
            return
        budget = catalogue.budget
        LocalLedger.create(
            self.journal_file,
            epsilon=budget.epsilon,
            delta=budget.delta,
            population=catalogue.population(data.rows),
            queries=queries,
            source=data,
        ).close()

    def journal(self, data: Pinned | None) -> LocalLedger:
        """Open the journal; with the data it can draw, without it only repeat."""
        return LocalLedger.open(self.journal_file, data)

    def check(self, published: bytes, data: Pinned, journal: LocalLedger) -> None:
        """Refuse data or a journal that the ledger was not published with."""
        if commitment(data, journal) != published:
            raise DataMismatch(
                "The ledger was published with other data, another journal or another secret: nothing is answered, "
                "since two journals could give two answers to one question."
            )

    def write_ledger_file(self, content: dict[str, Any]) -> None:
        """Write where the ledger is, in one step."""
        new = self.ledger_file.with_suffix(".new")
        new.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")
        new.replace(self.ledger_file)

    def read_ledger_file(self) -> dict[str, Any] | None:
        """Return where the ledger is, or None if none was published."""
        try:
            content: dict[str, Any] = json.loads(self.ledger_file.read_text(encoding="utf-8"))
        except FileNotFoundError:
            return None
        except ValueError:
            raise InvalidInput(f"{self.ledger_file} is not a ledger file.") from None
        return content


def commitment(data: Pinned, journal: LocalLedger) -> bytes:
    """Return what is published: a commitment to the data and to the journal."""
    return bind(data.root, journal.identity)


def bind(root: bytes, journal: str) -> bytes:
    """Return the commitment to a Merkle root and a journal; the journal's own name stays private."""
    name = hashlib.sha256(bytes.fromhex(journal)).digest()
    return hashlib.sha256(b"noiseledger/commitment/1" + root + name).digest()
