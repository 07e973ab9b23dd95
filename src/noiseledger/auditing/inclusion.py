"""Let a person check that their record is in the data: the record and its salt must hash to the published commitment.

Why the promise holds: a proof contains one person's record and salt, and only that person receives it. The hashes beside it
look random to everyone, and their number does not depend on the other records (see :mod:`noiseledger.data.commitment`).
"""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from noiseledger.auditing import wire
from noiseledger.auditing.chain import ChainReorganised, Reader, Target, connect
from noiseledger.data.commitment import Proof, bind
from noiseledger.data.record import cells_of
from noiseledger.errors import ChainMismatch, ChainUnreachable, InvalidInput


@dataclass(frozen=True)
class Inclusion:
    """A proof, and the hash of the journal's identity, which the commitment binds together with the root of the data."""

    proof: Proof
    journal: bytes

    @property
    def commitment(self) -> bytes:
        """The commitment that the ledger must have published."""
        return bind(self.proof.root(), self.journal)

    def dump(self) -> dict[str, Any]:
        """Return the proof as JSON values."""
        return {**self.proof.dump(), "journal": self.journal.hex()}

    @classmethod
    def read(cls, file: str | os.PathLike[str]) -> Inclusion:
        """Read the file that the custodian wrote."""
        try:
            content = json.loads(Path(file).read_text(encoding="utf-8"))
            journal = bytes.fromhex(content["journal"])
            if "form" in content:
                cells_of(content["record"])
        except OSError as error:
            raise InvalidInput(f"The proof {file} cannot be read: {error.strerror}.") from None
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
            raise InvalidInput(
                f"{file} is not a proof of inclusion: expected the file that noiseledger prove wrote. Ask the custodian for it."
            ) from None
        return cls(Proof.load(content), journal)


def is_included(inclusion: Inclusion, ledger: str | os.PathLike[str], *, rpc: str) -> bool:
    """Say whether a proof leads to the commitment that a ledger published."""
    target = Target.resolve(os.fspath(ledger))
    with connect(target, rpc) as endpoint:
        reader = Reader(endpoint, target.address)
        try:
            (reply,) = reader.read(reader.find_block("latest"), wire.call("terms()"))
        except ChainReorganised:
            raise ChainUnreachable("The chain was reorganised while it was read: try again.") from None
    terms = bytes.fromhex(reply[2:])
    if len(terms) < wire.WORD:
        raise ChainMismatch(f"The contract at {target.address} is not a ledger: check the address and the endpoint.")
    return terms[: wire.WORD] == inclusion.commitment
