"""A commitment to a dataset: it binds the custodian, tells nobody anything, and lets each person find their own record.

The record's text is hashed; this hash is hashed again with a salt of its own, which makes a leaf; the leaves, sorted, are
those of a Merkle tree; its top and the number of rows are hashed to the root, which is published. The salts come from one
secret of 256 bits that the custodian keeps and can show an auditor: the salt of the j-th of several equal records is a
keyed hash of j and the record's hash.

Why the promise holds:

* It binds. Everything is SHA-256 of parts that are told apart by their lengths, and the four kinds of hash (record, leaf,
  node, root) begin with bytes of their own; so whoever opens one root to two datasets, or shows a record under it that is
  not there, has found a collision of SHA-256. Two people with equal records who compare proofs see whether they were
  given the same leaf.
* It hides. A salt that was not handed out is 256 bits that nobody can tell from random without the secret, and no other
  record has it; so a leaf is a random-looking number to all but the holder of its salt. Nobody can test guesses about a
  person against the root, nor against the leaves and nodes in proofs that they or others hold.
* Holders of proofs learn nothing of each other. Even those who have a record equal to another's do not know the other's
  salt, so they cannot find its leaf, nor tell whether there is such a record at all. Where a leaf stands among the sorted
  ones tells no more than the leaf itself. A secret serves one dataset: under a second, leaves that stayed would show.
* It does not depend on the order of the records: sorting brings equal ones together to be counted, and sorts the leaves.

What is kept is 32 bytes a record at first and 64 in the end, never their texts, so ten million records need well below one
gigabyte.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from hashlib import blake2b, sha256
from pathlib import Path
from typing import Any

from noiseledger.data.merkle import SIZE, Packed, Steps, Tree, climb
from noiseledger.data.record import Record, record_text
from noiseledger.errors import DataMismatch, InvalidInput

SECRET_BYTES = 32
# What is hashed says what it is, so that none can be passed off as another; nodes begin with a 2.
_RECORD, _LEAF, _ROOT = b"\x00", b"\x01", b"\x03"
_SALT = b"noiseledger salt"
_PUBLISHED = b"noiseledger/commitment/1"


@dataclass(frozen=True)
class Proof:
    """What one person needs to find their record under the root; it is for them alone, since it contains their salt."""

    record: str
    salt: bytes
    rows: int
    #: From the leaf upwards: the neighbour's hash, and whether it stands to the left.
    steps: Steps

    def root(self) -> bytes:
        """Return the root that this proof leads to."""
        return _root(climb(_leaf(self.salt, _hash(self.record)), self.steps), self.rows)

    def dump(self) -> dict[str, Any]:
        """Return the proof as plain JSON values."""
        steps = [{"hash": neighbour.hex(), "left": left} for neighbour, left in self.steps]
        return {"record": self.record, "salt": self.salt.hex(), "rows": self.rows, "steps": steps}

    @classmethod
    def load(cls, state: Mapping[str, Any]) -> Proof:
        """Restore what ``dump`` returned."""
        try:
            steps = tuple((_digest(step["hash"]), bool(step["left"])) for step in state["steps"])
            return cls(str(state["record"]), _digest(state["salt"]), _number(state["rows"]), steps)
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
        # BLAKE2b takes a key by design, and a quarter of the time of HMAC-SHA256.
        self._salts = blake2b(key=secret, digest_size=SIZE, person=_SALT)
        hashes = Packed()
        for record in records:
            hashes.append(_hash(record_text(record)))
        self.rows = len(hashes)
        self._tree = Tree(self._leaves(hashes))
        self.root = _root(self._tree.top, self.rows)

    def proof(self, record: Record, occurrence: int = 0) -> Proof:
        """Return the proof for a record; of several equal ones, that with the given number."""
        text = record_text(record)
        salt = self._salt(_hash(text), occurrence)
        steps = self._tree.steps(_leaf(salt, _hash(text)))
        if steps is None:
            raise DataMismatch("The dataset has no such record.")
        return Proof(text, salt, self.rows, steps)

    def _leaves(self, hashes: Packed) -> Packed:
        leaves = Packed()
        hashes.sort()
        previous, occurrence = b"", 0
        for current in hashes:
            occurrence = occurrence + 1 if current == previous else 0
            leaves.append(_leaf(self._salt(current, occurrence), current))
            previous = current
        return leaves

    def _salt(self, record: bytes, occurrence: int) -> bytes:
        salt = self._salts.copy()
        salt.update(_bytes(occurrence) + record)
        return salt.digest()


def bind(root: bytes, journal: bytes) -> bytes:
    """Return what is published: a hash of the data's root and of the hash of the journal's name, which stays private."""
    return sha256(_PUBLISHED + root + journal).digest()


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


def _hash(text: str) -> bytes:
    return sha256(_RECORD + text.encode()).digest()


def _leaf(salt: bytes, record: bytes) -> bytes:
    return sha256(_LEAF + salt + record).digest()


def _root(top: bytes, rows: int) -> bytes:
    return sha256(_ROOT + _bytes(rows) + top).digest()


def _bytes(number: int) -> bytes:
    return number.to_bytes(8, "big")


def _digest(text: str) -> bytes:
    digest = bytes.fromhex(text)
    if len(digest) != SIZE:
        raise ValueError
    return digest


def _number(number: int) -> int:
    if not 0 < int(number) < 2**64:
        raise ValueError
    return int(number)
