"""Let somebody in the data check that they are in it: their record and its salt lead to what the ledger has published.

Why the promise holds: a proof holds one person's record and salt and is for them alone; the hashes beside it look random to
everyone, and their number is the same whatever else is in the data (see :mod:`noiseledger.data.commitment`).
"""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from noiseledger.audit import wire
from noiseledger.audit.chain import Moved, Place, Reader, connect
from noiseledger.data.commitment import Proof, bind
from noiseledger.data.record import cells_of
from noiseledger.errors import ChainMismatch, ChainUnreachable, InvalidInput


@dataclass(frozen=True)
class Inclusion:
    """A proof, and the hash of the journal's name, which the ledger has published together with the data's root."""

    proof: Proof
    journal: bytes

    @property
    def commitment(self) -> bytes:
        """What the ledger must have published."""
        return bind(self.proof.root(), self.journal)

    def dump(self) -> dict[str, Any]:
        """Return it as plain JSON values."""
        return {**self.proof.dump(), "journal": self.journal.hex()}

    @classmethod
    def read(cls, file: str | os.PathLike[str]) -> Inclusion:
        """Read the file that the custodian handed out."""
        try:
            content = json.loads(Path(file).read_text(encoding="utf-8"))
            journal = bytes.fromhex(content["journal"])
            if "form" in content:
                cells_of(content["record"])
        except OSError as error:
            raise InvalidInput(f"The proof {file} cannot be read: {error.strerror}.") from None
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
            raise InvalidInput(f"{file} is not a proof of inclusion: expected what the custodian handed out.") from None
        return cls(Proof.load(content), journal)


def is_included(inclusion: Inclusion, ledger: str | os.PathLike[str], *, rpc: str) -> bool:
    """Say whether a proof leads to what a ledger has published."""
    place = Place.find(os.fspath(ledger))
    with connect(place, rpc) as endpoint:
        reader = Reader(endpoint, place.address)
        try:
            (reply,) = reader.read(reader.head("latest"), wire.call("terms()"))
        except Moved:
            raise ChainUnreachable("The chain was reorganised meanwhile: try again.") from None
    terms = bytes.fromhex(reply[2:])
    if len(terms) < wire.WORD:
        raise ChainMismatch(f"What is at {place.address} is a contract, but not a ledger: check address and endpoint.")
    return terms[: wire.WORD] == inclusion.commitment
