"""A proof of inclusion: it lets one person check that their record is part of the published dataset."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import sha256
from typing import Any

from noiseledger.data.commitment.hashes import LEAF, ROOT, keyed_hash, text_hash
from noiseledger.data.commitment.merkle import CHILDREN, LEVELS, SIZE, Siblings, climb
from noiseledger.errors import InvalidInput

#: The format identifier in a proof; earlier versions had none.
FORM = "noiseledger/proof/2"
#: The prefix of the hash input of the published commitment, and the format identifier in the ledger file.
PUBLISHED = "noiseledger/commitment/2"
PLACE_BYTES = 4


@dataclass(frozen=True)
class Proof:
    """A proof that one record is included under the root; it is for that person alone, because it contains their salt."""

    record: str
    salt: bytes
    place: int
    #: The siblings on the path from the leaf upwards, three on each level.
    siblings: Siblings

    def root(self) -> bytes:
        """Return the root computed from this proof."""
        return keyed_hash(ROOT, climb(keyed_hash(LEAF, self.salt + text_hash(self.record)), self.place, self.siblings))

    def dump(self) -> dict[str, Any]:
        """Return the proof as plain JSON values; its size does not depend on the other records."""
        return {
            "form": FORM,
            "record": self.record,
            "salt": self.salt.hex(),
            "place": self.place.to_bytes(PLACE_BYTES, "big").hex(),
            "siblings": [siblings.hex() for siblings in self.siblings],
        }

    @classmethod
    def load(cls, state: Mapping[str, Any]) -> Proof:
        """Restore what ``dump`` returned."""
        if "steps" in state and "form" not in state:
            raise InvalidInput(
                "This proof was written by an earlier version of noiseledger, whose proofs revealed the number of records: ask "
                "the custodian for a new one, and keep or destroy this one."
            )
        try:
            siblings = tuple(_digest(text, (CHILDREN - 1) * SIZE) for text in state["siblings"])
            if state["form"] != FORM or len(siblings) != LEVELS:
                raise ValueError  # noqa: TRY301 - one message for all
            place = int.from_bytes(_digest(state["place"], PLACE_BYTES), "big")
            return cls(str(state["record"]), _digest(state["salt"], SIZE), place, siblings)
        except (KeyError, TypeError, ValueError):
            raise InvalidInput(
                "This is not a proof of inclusion: expected the file that the custodian gave you."
            ) from None


def bind(root: bytes, journal: bytes) -> bytes:
    """Return the published commitment: a hash of the data's root and of the hash of the journal's name, which is private."""
    return sha256(PUBLISHED.encode() + root + journal).digest()


def _digest(text: str, size: int) -> bytes:
    digest = bytes.fromhex(text)
    if len(digest) != size:
        raise ValueError
    return digest
