"""A Merkle tree over values of 32 bytes, kept in one packed string per level: 64 bytes a leaf, whatever their number."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator
from hashlib import sha256
from struct import iter_unpack
from typing import TypeAlias

SIZE = 32
#: From a leaf upwards: the neighbour's hash, and whether it stands to the left.
Steps: TypeAlias = tuple[tuple[bytes, bool], ...]
# Other hashes of a commitment begin with other bytes, so that none can be passed off as a node.
_NODE = b"\x02"


class Packed:
    """A list of values of 32 bytes each, without the 40 bytes more that Python takes for an object."""

    def __init__(self) -> None:
        """Start with none."""
        self._bytes = bytearray()

    def append(self, value: bytes) -> None:
        """Add a value at the end."""
        self._bytes += value

    def sort(self) -> None:
        """Sort in place."""
        import numpy as np  # noqa: PLC0415 - takes a tenth of a second, which most commands can do without

        # To NumPy, zero bytes at the end of a text are padding; among texts of one length that makes no difference.
        np.frombuffer(self._bytes, dtype=f"S{SIZE}").sort()

    def __len__(self) -> int:
        """Return the number of values."""
        return len(self._bytes) // SIZE

    def __getitem__(self, index: int) -> bytes:
        """Return one value."""
        if not 0 <= index < len(self):
            raise IndexError(index)
        return bytes(self._bytes[index * SIZE : (index + 1) * SIZE])

    def __iter__(self) -> Iterator[bytes]:
        """Yield the values."""
        return (value for (value,) in iter_unpack(f"{SIZE}s", self._bytes))

    def pairs(self) -> Iterator[tuple[bytes, bytes]]:
        """Yield neighbours two by two; a last one without a neighbour is left out."""
        return iter_unpack(f"{SIZE}s{SIZE}s", memoryview(self._bytes)[: len(self) // 2 * 2 * SIZE])


class Tree:
    """The tree over some leaves, which it sorts: their order tells nothing but the order of random-looking numbers."""

    def __init__(self, leaves: Packed) -> None:
        """Hash neighbours in pairs, level by level; a last one without a neighbour moves up as it is."""
        leaves.sort()
        self._levels = [leaves]
        while len(self._levels[-1]) > 1:
            self._levels.append(_parents(self._levels[-1]))

    @property
    def top(self) -> bytes:
        """The hash that all leaves lead to; empty if there are none."""
        return self._levels[-1][0] if self._levels[-1] else b""

    def steps(self, leaf: bytes) -> Steps | None:
        """Return the way from a leaf to the top; None if there is no such leaf."""
        index = bisect_left(self._levels[0], leaf)
        if index == len(self._levels[0]) or self._levels[0][index] != leaf:
            return None
        steps = []
        for level in self._levels[:-1]:
            neighbour = index ^ 1
            if neighbour < len(level):
                steps.append((level[neighbour], neighbour < index))
            index //= 2
        return tuple(steps)


def climb(leaf: bytes, steps: Steps) -> bytes:
    """Return the top that some steps lead to."""
    node = leaf
    for neighbour, on_the_left in steps:
        node = _node(neighbour, node) if on_the_left else _node(node, neighbour)
    return node


def _parents(level: Packed) -> Packed:
    parents = Packed()
    for left, right in level.pairs():
        parents.append(_node(left, right))
    if len(level) % 2:
        parents.append(level[len(level) - 1])
    return parents


def _node(left: bytes, right: bytes) -> bytes:
    return sha256(_NODE + left + right).digest()
