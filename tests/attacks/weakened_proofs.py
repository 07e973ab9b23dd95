"""Commitments whose proofs tell how many records there are, each in its own way."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from hashlib import blake2b, sha256
from typing import Any

from noiseledger.data.commitment import Commitment
from noiseledger.data.record import Record, record_text


class OneFiller(Commitment):
    """All that is empty looks the same: who sees it knows how far their leaf is alone."""

    def _fillers(self, level: int, piece: int, number: int) -> bytes:
        return bytes(32) * number


class NextToEachOther(Commitment):
    """The leaves stand side by side, turned around at random: one proof tells nothing, two tell where they part."""

    def _leaf(self, record: bytes, occurrence: int) -> tuple[bytes, bytes, int]:
        salt, leaf, _ = super()._leaf(record, occurrence)
        self._next = getattr(self, "_next", {})
        mask = int.from_bytes(self._filler_key[:4], "big")
        return salt, leaf, self._next.setdefault(leaf, len(self._next)) ^ mask


@dataclass(frozen=True)
class SortedProof:
    """A proof as it was before: the number of rows, and a way to the top that is as long as the tree is high."""

    rows: int
    leaf: bytes
    steps: Sequence[tuple[bytes, bool]]

    @property
    def place(self) -> int:
        """The number of the leaf, as far as the way tells it."""
        return sum(left << height for height, (_, left) in enumerate(self.steps))

    @property
    def siblings(self) -> list[bytes]:
        """The hashes beside the way."""
        return [neighbour for neighbour, _ in self.steps]

    def dump(self) -> dict[str, Any]:
        """Return the proof as plain JSON values."""
        steps = [{"hash": neighbour.hex(), "left": left} for neighbour, left in self.steps]
        return {"rows": self.rows, "leaf": self.leaf.hex(), "steps": steps}


class SortedLeaves:
    """The commitment as it was before: a binary tree over the sorted leaves."""

    def __init__(self, records: Iterable[Record], secret: bytes) -> None:
        self._secret = secret
        self._levels = [sorted(self._leaf(record) for record in records)]
        while len(below := self._levels[-1]) > 1:
            pairs = [below[i : i + 2] for i in range(0, len(below), 2)]
            self._levels.append([sha256(b"".join(pair)).digest() if len(pair) == 2 else pair[0] for pair in pairs])

    def proofs(self, wanted: Iterable[tuple[Record, int]]) -> list[SortedProof]:
        return [self._proof(record) for record, _ in wanted]

    def _proof(self, record: Record) -> SortedProof:
        leaf = self._leaf(record)
        index = self._levels[0].index(leaf)
        steps = []
        for level in self._levels[:-1]:
            if index ^ 1 < len(level):
                steps.append((level[index ^ 1], bool(index & 1)))
            index //= 2
        return SortedProof(len(self._levels[0]), leaf, steps)

    def _leaf(self, record: Record) -> bytes:
        return blake2b(record_text(record).encode(), key=self._secret, digest_size=32).digest()
