"""The Merkle tree over all records of a dataset, which only its custodian can build."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property
from hashlib import blake2b, shake_256
from itertools import count
from struct import iter_unpack
from typing import TYPE_CHECKING

from noiseledger.data.commitment.hashes import LEAF, ROOT, keyed_hash, sorted_digest, text_hash
from noiseledger.data.commitment.merkle import PLACES, SIZE, Tree
from noiseledger.data.commitment.proof import PLACE_BYTES, Proof
from noiseledger.data.commitment.secret import SECRET_BYTES
from noiseledger.data.record import Record, record_text
from noiseledger.errors import DataMismatch, InvalidInput
from noiseledger.extras import require

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

#: Half of the places, so that at least every second draw finds a free one.
MOST_RECORDS = PLACES // 2
_SALT, _PLACE, _FILLER = b"noiseledger salt", b"noiseledger move", b"noiseledger fill"


class Commitment:
    """The Merkle tree over all records of a dataset, which only its custodian can build.

    >>> people = [{"age": 61}, {"age": 34}, {"age": 61}]
    >>> tree = Commitment(people, secret=bytes(32))
    >>> tree.root == Commitment(reversed(people), secret=bytes(32)).root
    True
    >>> tree.proof(people[1]).root() == tree.root
    True
    """

    def __init__(self, records: Iterable[Record], secret: bytes) -> None:
        """Hash every record with its own salt; the records are read once and not kept."""
        if len(secret) != SECRET_BYTES:
            raise InvalidInput(f"The secret of a commitment must have {SECRET_BYTES} bytes.")
        # BLAKE2b is designed to take a key.
        self._salts = blake2b(key=secret, digest_size=SIZE + PLACE_BYTES, person=_SALT)
        self._moves = blake2b(key=secret, digest_size=PLACE_BYTES, person=_PLACE)
        self._filler_key = blake2b(key=secret, digest_size=SIZE, person=_FILLER).digest()
        hashes = bytearray()
        for record in records:
            hashes += text_hash(record_text(record))
        self.rows = len(hashes) // SIZE
        if self.rows > MOST_RECORDS:
            raise InvalidInput(f"A dataset may have at most {MOST_RECORDS:,} records.")
        self._tree = self._plant(hashes)

    @cached_property
    def root(self) -> bytes:
        """The root, which is published together with the journal's name: see ``bind``."""
        return keyed_hash(ROOT, self._tree.top())

    def proof(self, record: Record, occurrence: int = 0) -> Proof:
        """Return the proof for a record; ``occurrence`` selects one of several equal records."""
        return self.proofs([(record, occurrence)])[0]

    def proofs(self, wanted: Iterable[tuple[Record, int]]) -> list[Proof]:
        """Return the proofs for several records at once, in about the time that one takes."""
        texts = [(record_text(record), occurrence) for record, occurrence in wanted]
        found = [self._find(text, occurrence) for text, occurrence in texts]
        ways = self._tree.siblings([place for _, place in found])
        return [Proof(text, *place, way) for (text, _), place, way in zip(texts, found, ways, strict=True)]

    def _find(self, text: str, occurrence: int) -> tuple[bytes, int]:
        """Return salt and place of a record."""
        salt, leaf, place = self._leaf(text_hash(text), occurrence)
        for attempt in range(self._attempts):
            place = self._move(leaf, attempt) if attempt else place
            if self._tree.has(place, leaf):
                return salt, place
        raise DataMismatch("The dataset does not contain this record.")

    def _plant(self, hashes: bytearray) -> Tree:
        """Create the leaves of the records with these hashes, and assign each a place."""
        require("custodian", "For a commitment to data,")
        import numpy as np  # noqa: PLC0415 - takes a tenth of a second, which most commands can do without

        # NumPy treats zero bytes at the end of a text as padding; for texts of equal length that makes no difference.
        np.frombuffer(hashes, dtype=f"S{SIZE}").sort()
        #: A digest of the records in any order, without the secret: for use in memory only.
        self.records_digest = sorted_digest(hashes)
        leaves, drawn = bytearray(), bytearray()
        previous, occurrence = b"", 0
        for (current,) in iter_unpack(f"{SIZE}s", hashes):
            occurrence = occurrence + 1 if current == previous else 0
            _, leaf, place = self._leaf(current, occurrence)
            leaves += leaf
            drawn += place.to_bytes(PLACE_BYTES, "little")
            previous = current
        hashes.clear()
        places, values = np.frombuffer(drawn, dtype="<u4"), np.frombuffer(leaves, dtype=f"V{SIZE}")
        order = self._settle(places, values)
        return Tree(places[order], values[order], self._fillers)

    def _settle(self, places: NDArray[np.uint32], leaves: NDArray[np.void]) -> NDArray[np.intp]:
        """Move leaves that collide, all but the first, until none collide; return their order by place.

        Which leaves move depends only on which places are equal, not on which places these are. So all assignments of
        different places to the leaves are equally probable.
        """
        for attempt in count(1):
            order = places.argsort(kind="stable")
            is_taken = places[order[1:]] == places[order[:-1]]
            if not is_taken.any():
                self._attempts = attempt
                break
            for index in order[1:][is_taken]:
                places[index] = self._move(leaves[index].tobytes(), attempt)
        return order

    def _leaf(self, record: bytes, occurrence: int) -> tuple[bytes, bytes, int]:
        """Return salt, leaf and first place of the record with this hash."""
        drawn = keyed_hash(self._salts, occurrence.to_bytes(8, "big") + record)
        salt = drawn[:SIZE]
        return salt, keyed_hash(LEAF, salt + record), int.from_bytes(drawn[SIZE:], "big")

    def _move(self, leaf: bytes, attempt: int) -> int:
        """Return the place of a leaf at this attempt, if it must move."""
        return int.from_bytes(keyed_hash(self._moves, attempt.to_bytes(8, "big") + leaf), "big")

    def _fillers(self, level: int, piece: int, number: int) -> bytes:
        address = self._filler_key + level.to_bytes(1, "big") + piece.to_bytes(8, "big")
        return shake_256(address).digest(SIZE * number)
