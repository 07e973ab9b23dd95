"""A commitment to a dataset: it binds the custodian, tells nobody anything, and lets each person find their own record.

The record's text is hashed; this hash is hashed again with a salt of its own, which makes a leaf; each leaf has a place of
its own among 2^32 in a Merkle tree (:mod:`noiseledger.data.merkle`), whose top is hashed to the root, which is published.
Salts, places and what fills the other places come from one secret of 256 bits that the custodian keeps and can show an
auditor: salt and place of the j-th of several equal records are a keyed hash of j and the record's hash. Leaves that meet
at one place draw again, all but one, until none meet. A proof holds the record, its salt, its place, and three siblings on
each of 16 levels.

Why the promise holds:

* It binds. All hashes are BLAKE2b of parts that are told apart by their lengths, and the four kinds (record, leaf, node,
  root) are personalised differently. The root of a dataset and a secret says what is at every place. So whoever opens one
  root to two datasets, or shows a record under it that is not there, has found a collision of BLAKE2b, or a secret whose
  fillers are hashes of something they know. Two people with equal records who compare proofs see whether they were given
  the same leaf.
* A proof tells its holder that the record is in, and nothing else. Nor do any number of holders who pool their proofs learn
  more than that their own records are in, not even how many others there are: all they hold could be made without the
  others (mathematics page, section 10). In short: a filler, and a leaf whose salt was not handed out, are 256 bits that
  nobody can tell from random ones without the secret, and so are all hashes above them; and the places of any k records are
  k different places drawn uniformly, whatever the number of the others. Every proof of a record has the same size and form,
  for every dataset of up to ``MOST_RECORDS``.
* It hides. Nobody can test guesses about a person against the root, nor against what is in the proofs that they or others
  hold, not even with a record equal to theirs. A secret serves one dataset: under a second, leaves that stayed would show.
* It does not depend on the order of the records: sorting brings equal ones together to be counted.

What is kept is 32 bytes a record at first and 36 in the end, never their texts, and twice as much while the tree is hashed:
ten million records need about one gigabyte.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from hashlib import blake2b, sha256, shake_256
from itertools import count
from pathlib import Path
from struct import iter_unpack
from typing import TYPE_CHECKING, Any

from noiseledger.data.merkle import CHILDREN, LEVELS, PLACES, SIZE, Siblings, Tree, climb
from noiseledger.data.record import Record, record_text
from noiseledger.errors import DataMismatch, InvalidInput

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

SECRET_BYTES = 32
#: Half of the places: then every second draw finds a free one.
MOST_RECORDS = PLACES // 2
#: What a proof of this form says of itself; earlier ones said nothing.
FORM = "noiseledger/proof/2"
#: Begins what is hashed to what is published, and stands in the ledger file.
PUBLISHED = "noiseledger/commitment/2"
_PLACE_BYTES = 4
# What is hashed says what it is, so that none can be passed off as another.
_RECORD = blake2b(digest_size=SIZE, person=b"noiseledger text")
_LEAF = blake2b(digest_size=SIZE, person=b"noiseledger leaf")
_ROOT = blake2b(digest_size=SIZE, person=b"noiseledger root")
_SALT, _PLACE, _FILLER = b"noiseledger salt", b"noiseledger move", b"noiseledger fill"


@dataclass(frozen=True)
class Proof:
    """What one person needs to find their record under the root; it is for them alone, since it contains their salt."""

    record: str
    salt: bytes
    place: int
    #: From the leaf upwards: the hashes beside the way, three on each level.
    siblings: Siblings

    def root(self) -> bytes:
        """Return the root that this proof leads to."""
        return _hash(_ROOT, climb(_hash(_LEAF, self.salt + _text_hash(self.record)), self.place, self.siblings))

    def dump(self) -> dict[str, Any]:
        """Return the proof as plain JSON values, of one size whatever else is in the data."""
        return {
            "form": FORM,
            "record": self.record,
            "salt": self.salt.hex(),
            "place": self.place.to_bytes(_PLACE_BYTES, "big").hex(),
            "siblings": [siblings.hex() for siblings in self.siblings],
        }

    @classmethod
    def load(cls, state: Mapping[str, Any]) -> Proof:
        """Restore what ``dump`` returned."""
        if "steps" in state and "form" not in state:
            raise InvalidInput(
                "This proof was written by an earlier version of noiseledger, whose proofs told the number of records: ask "
                "the custodian for a new one, and keep or destroy this one."
            )
        try:
            siblings = tuple(_digest(text, (CHILDREN - 1) * SIZE) for text in state["siblings"])
            if state["form"] != FORM or len(siblings) != LEVELS:
                raise ValueError  # noqa: TRY301 - one message for all
            place = int.from_bytes(_digest(state["place"], _PLACE_BYTES), "big")
            return cls(str(state["record"]), _digest(state["salt"], SIZE), place, siblings)
        except (KeyError, TypeError, ValueError):
            raise InvalidInput("This is not a proof of inclusion: expected what the custodian handed out.") from None


class Commitment:
    """The Merkle tree over all records of a dataset, as only its custodian can build it.

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
        # BLAKE2b takes a key by design.
        self._salts = blake2b(key=secret, digest_size=SIZE + _PLACE_BYTES, person=_SALT)
        self._moves = blake2b(key=secret, digest_size=_PLACE_BYTES, person=_PLACE)
        self._filler_key = blake2b(key=secret, digest_size=SIZE, person=_FILLER).digest()
        hashes = bytearray()
        for record in records:
            hashes += _text_hash(record_text(record))
        self.rows = len(hashes) // SIZE
        if self.rows > MOST_RECORDS:
            raise InvalidInput(f"A dataset may have {MOST_RECORDS:,} records at most.")
        self._tree = self._plant(hashes)

    @cached_property
    def root(self) -> bytes:
        """What is published, together with the journal's name: see ``bind``."""
        return _hash(_ROOT, self._tree.top())

    def proof(self, record: Record, occurrence: int = 0) -> Proof:
        """Return the proof for a record; of several equal ones, that with the given number."""
        return self.proofs([(record, occurrence)])[0]

    def proofs(self, wanted: Iterable[tuple[Record, int]]) -> list[Proof]:
        """Return the proofs for several records at once, in about the time that one takes."""
        texts = [(record_text(record), occurrence) for record, occurrence in wanted]
        found = [self._find(text, occurrence) for text, occurrence in texts]
        ways = self._tree.siblings([place for _, place in found])
        return [Proof(text, *place, way) for (text, _), place, way in zip(texts, found, ways, strict=True)]

    def _find(self, text: str, occurrence: int) -> tuple[bytes, int]:
        """Return salt and place of a record."""
        salt, leaf, place = self._leaf(_text_hash(text), occurrence)
        for attempt in range(self._attempts):
            place = self._move(leaf, attempt) if attempt else place
            if self._tree.has(place, leaf):
                return salt, place
        raise DataMismatch("The dataset has no such record.")

    def _plant(self, hashes: bytearray) -> Tree:
        """Make the leaves of records, given by their hashes, and give each a place."""
        import numpy as np  # noqa: PLC0415 - takes a tenth of a second, which most commands can do without

        # To NumPy, zero bytes at the end of a text are padding; among texts of one length that makes no difference.
        np.frombuffer(hashes, dtype=f"S{SIZE}").sort()
        leaves, drawn = bytearray(), bytearray()
        previous, occurrence = b"", 0
        for (current,) in iter_unpack(f"{SIZE}s", hashes):
            occurrence = occurrence + 1 if current == previous else 0
            _, leaf, place = self._leaf(current, occurrence)
            leaves += leaf
            drawn += place.to_bytes(_PLACE_BYTES, "little")
            previous = current
        hashes.clear()
        places, values = np.frombuffer(drawn, dtype="<u4"), np.frombuffer(leaves, dtype=f"V{SIZE}")
        order = self._settle(places, values)
        return Tree(places[order], values[order], self._fillers)

    def _settle(self, places: NDArray[np.uint32], leaves: NDArray[np.void]) -> NDArray[np.intp]:
        """Let leaves that meet draw again, all but the first, until none meet; return their order by place.

        Which leaves draw again depends on which places are the same, and not on which places these are. So all ways to give
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
        """Return salt, leaf and first place of a record, given by its hash."""
        drawn = _hash(self._salts, occurrence.to_bytes(8, "big") + record)
        salt = drawn[:SIZE]
        return salt, _hash(_LEAF, salt + record), int.from_bytes(drawn[SIZE:], "big")

    def _move(self, leaf: bytes, attempt: int) -> int:
        """Return where a leaf goes at this attempt, if it must."""
        return int.from_bytes(_hash(self._moves, attempt.to_bytes(8, "big") + leaf), "big")

    def _fillers(self, level: int, piece: int, number: int) -> bytes:
        address = self._filler_key + level.to_bytes(1, "big") + piece.to_bytes(8, "big")
        return shake_256(address).digest(SIZE * number)


def bind(root: bytes, journal: bytes) -> bytes:
    """Return what is published: a hash of the data's root and of the hash of the journal's name, which stays private."""
    return sha256(PUBLISHED.encode() + root + journal).digest()


def new_secret(file: str | os.PathLike[str]) -> bytes:
    """Draw a secret and write it to a file that only its owner can read; refuse to overwrite one."""
    secret = os.urandom(SECRET_BYTES)
    try:
        descriptor = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        raise InvalidInput(
            f"{file} exists already and is kept: with another secret the commitment would not open."
        ) from None
    with os.fdopen(descriptor, "w", encoding="ascii") as stream:
        stream.write(secret.hex() + "\n")
        stream.flush()
        os.fsync(stream.fileno())
    return secret


def read_secret(file: str | os.PathLike[str]) -> bytes:
    """Read a secret; refuse a file that others can read too."""
    path = Path(file)
    try:
        mode, content = path.stat().st_mode, path.read_text(encoding="ascii", errors="replace")
    except OSError as error:
        raise InvalidInput(f"The secret in {file} cannot be read: {error.strerror}.") from None
    if mode & 0o077:
        raise InvalidInput(f"{file} can be read by others: make it yours alone with `chmod 600`.")
    if not re.fullmatch(f"[0-9a-f]{{{2 * SECRET_BYTES}}}", content.strip()):
        raise InvalidInput(f"{file} does not hold a secret: expected {2 * SECRET_BYTES} hexadecimal digits.")
    return bytes.fromhex(content)


def _text_hash(text: str) -> bytes:
    return _hash(_RECORD, text.encode())


def _hash(kind: blake2b, content: bytes) -> bytes:
    # A copy takes half the time of a new hash.
    hashed = kind.copy()
    hashed.update(content)
    return hashed.digest()


def _digest(text: str, size: int) -> bytes:
    digest = bytes.fromhex(text)
    if len(digest) != size:
        raise ValueError
    return digest
