"""A commitment to a dataset: it binds the custodian, tells nobody anything, and lets each person find their own record.

The leaves of a Merkle tree are hashes of the records, each with a salt of its own; the root is published. The salts come
from one secret of 256 bits that the custodian keeps and can show an auditor.

Why the promise holds: without a record's salt its leaf is a random-looking number, so nobody can test guesses about a
person against the published root or against another person's proof; a salt is given to the person it belongs to only.

The order of the records does not matter: leaves are sorted, and equal records are told apart by counting them.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import os
import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

from noiseledger.core.condition import Row
from noiseledger.errors import DataMismatch, InvalidInput

SECRET_BYTES = 32
# Leaves, inner nodes and the root are hashed apart, so that none can be passed off as another.
_LEAF, _NODE, _ROOT = b"\x00", b"\x01", b"\x02"


@dataclass(frozen=True)
class Proof:
    """What one person needs to find their record under the root; it is for them alone, since it contains their salt."""

    record: str
    salt: bytes
    rows: int
    #: From the leaf upwards: the neighbour's hash, and whether it stands to the left.
    steps: tuple[tuple[bytes, bool], ...]

    def root(self) -> bytes:
        """Return the root that this proof leads to."""
        node = _leaf(self.salt, self.record)
        for neighbour, on_the_left in self.steps:
            node = _node(neighbour, node) if on_the_left else _node(node, neighbour)
        return _root(node, self.rows)

    def dump(self) -> dict[str, Any]:
        """Return the proof as plain JSON values."""
        steps = [{"hash": neighbour.hex(), "left": left} for neighbour, left in self.steps]
        return {"record": self.record, "salt": self.salt.hex(), "rows": self.rows, "steps": steps}

    @classmethod
    def load(cls, state: Mapping[str, Any]) -> Proof:
        """Restore what ``dump`` returned."""
        try:
            steps = tuple((bytes.fromhex(step["hash"]), bool(step["left"])) for step in state["steps"])
            return cls(str(state["record"]), bytes.fromhex(state["salt"]), int(state["rows"]), steps)
        except (KeyError, TypeError, ValueError):
            raise InvalidInput("This is not a proof of inclusion: expected what the custodian handed out.") from None


class Commitment:
    """The Merkle tree over all records of a dataset, as only its custodian can build it.

    >>> people = [{"age": Fraction(61)}, {"age": Fraction(34)}, {"age": Fraction(61)}]
    >>> tree = Commitment(people, secret=bytes(32))
    >>> tree.root == Commitment(reversed(people), secret=bytes(32)).root
    True
    >>> tree.proof(people[1]).root() == tree.root
    True
    """

    def __init__(self, records: Iterable[Row], secret: bytes) -> None:
        """Hash every record with its own salt."""
        if len(secret) != SECRET_BYTES:
            raise InvalidInput(f"The secret of a commitment must have {SECRET_BYTES} bytes.")
        self._secret = secret
        counts: Counter[str] = Counter(record_text(record) for record in records)
        self.rows = counts.total()
        leaves = sorted(
            _leaf(_salt(secret, text, occurrence), text)
            for text, times in counts.items()
            for occurrence in range(times)
        )
        self._levels = [leaves or [b""]]
        while len(self._levels[-1]) > 1:
            self._levels.append(_parents(self._levels[-1]))
        self.root = _root(self._levels[-1][0], self.rows)

    def proof(self, record: Row, occurrence: int = 0) -> Proof:
        """Return the proof for a record; of several equal ones, that with the given number."""
        text = record_text(record)
        salt = _salt(self._secret, text, occurrence)
        leaf = _leaf(salt, text)
        index = bisect_left(self._levels[0], leaf)
        if index == len(self._levels[0]) or self._levels[0][index] != leaf:
            raise DataMismatch("The dataset has no such record.")
        steps = []
        for level in self._levels[:-1]:
            neighbour = index ^ 1
            if neighbour < len(level):
                steps.append((level[neighbour], neighbour < index))
            index //= 2
        return Proof(text, salt, self.rows, tuple(steps))


def record_text(record: Row) -> str:
    """Return the one text of a record: its columns by name, numbers exact, whatever engine it came from."""
    fields = {name: [_kind(value), str(value)] for name, value in record.items() if value is not None}
    return json.dumps(fields, sort_keys=True, separators=(",", ":"))


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


def _kind(value: Fraction | str | bool) -> str:
    return "boolean" if isinstance(value, bool) else "text" if isinstance(value, str) else "number"


def _salt(secret: bytes, text: str, occurrence: int) -> bytes:
    return hmac.digest(secret, f"{occurrence}:{text}".encode(), "sha256")


def _leaf(salt: bytes, text: str) -> bytes:
    return hashlib.sha256(_LEAF + salt + text.encode()).digest()


def _node(left: bytes, right: bytes) -> bytes:
    return hashlib.sha256(_NODE + left + right).digest()


def _root(top: bytes, rows: int) -> bytes:
    return hashlib.sha256(_ROOT + rows.to_bytes(8, "big") + top).digest()


def _parents(level: list[bytes]) -> list[bytes]:
    """Hash neighbours in pairs; a last one without a neighbour moves up as it is."""
    paired = [_node(level[i], level[i + 1]) for i in range(0, len(level) - 1, 2)]
    return paired + level[len(paired) * 2 :]
