"""A Merkle tree of one depth for every number of leaves, in which an empty place looks like any other.

A node has four children, and there are 16 levels of them above 2^32 places. Each leaf has a place; where there is none, for as
far as there is none, a *filler* stands, which its owner makes look random. So a way to the top always has the same form:
a place, and three siblings on each level, of which nobody else can say whether they stand for leaves or for nothing.

Level by level, only nodes with a leaf below them are hashed. What is kept are 36 bytes a leaf; a way to the top is found by
hashing the tree once more.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from hashlib import blake2b
from struct import iter_unpack
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

SIZE = 32
CHILDREN = 4
LEVELS = 16
PLACES = CHILDREN**LEVELS
#: On each level from the leaf upwards: the hashes of the other three children, by their order.
Siblings: TypeAlias = tuple[bytes, ...]
#: Returns hashes for empty places, given the level, which piece of it, and how many: the same ones whenever it is asked.
Fillers: TypeAlias = Callable[[int, int, int], bytes]

# Other hashes of a commitment are personalised otherwise, so that none can be passed off as a node.
_NODE = blake2b(digest_size=SIZE, person=b"noiseledger node")
_PIECE = 2**14
_HASH = f"V{SIZE}"


class Tree:
    """The tree over leaves at different places."""

    def __init__(self, places: NDArray[np.uint32], leaves: NDArray[np.void], fillers: Fillers) -> None:
        """Keep the leaves, sorted by their places, and what fills the others."""
        self._places, self._leaves, self._fillers = places, leaves, fillers

    def has(self, place: int, leaf: bytes) -> bool:
        """Say whether a leaf is at a place."""
        index = int(self._places.searchsorted(place))
        return index < len(self._places) and self._places[index] == place and self._leaves[index].tobytes() == leaf

    def top(self) -> bytes:
        """Return the hash that all leaves lead to."""
        return self._hash([])[0]

    def siblings(self, wanted: Sequence[int]) -> list[Siblings]:
        """Return the ways from leaves at some places to the top."""
        return [tuple(way) for way in self._hash(wanted)[1]]

    def _hash(self, wanted: Sequence[int]) -> tuple[bytes, list[list[bytes]]]:
        """Hash the tree; on the way, note the siblings of what is above some places."""
        if not len(self._places):
            return self._fillers(LEVELS, 0, 1), []
        ways: list[list[bytes]] = [[] for _ in wanted]
        # Every level takes the place of the one below, which is never shorter.
        places, nodes = self._places.copy(), self._leaves.copy()
        for level in range(LEVELS):
            start = end = 0
            for number, piece in enumerate(_pieces(places)):
                parents, children = self._children(places[piece], nodes[piece], level, number)
                for way, place in zip(ways, wanted, strict=True):
                    way.extend(_siblings(parents, children, place >> 2 * level))
                start, end = end, end + len(parents)
                places[start:end], nodes[start:end] = parents, _nodes(children)
            places, nodes = places[:end], nodes[:end]
        return nodes[0].tobytes(), ways

    def _children(
        self, places: NDArray[np.uint32], nodes: NDArray[np.void], level: int, piece: int
    ) -> tuple[NDArray[np.uint32], NDArray[np.void]]:
        """Return the places of the parents of some nodes, and all children of these, four by four."""
        import numpy as np  # noqa: PLC0415 - takes a tenth of a second, which most commands can do without

        above = places // CHILDREN
        is_first = np.append(True, above[1:] != above[:-1])
        parents = above[is_first]
        taken = CHILDREN * (np.cumsum(is_first) - 1) + places % CHILDREN
        children = np.empty(CHILDREN * len(parents), dtype=_HASH)
        is_empty = np.ones(len(children), dtype=bool)
        is_empty[taken] = False
        children[taken] = nodes
        children[is_empty] = np.frombuffer(self._fillers(level, piece, len(children) - len(nodes)), dtype=_HASH)
        return parents, children


def climb(leaf: bytes, place: int, siblings: Siblings) -> bytes:
    """Return the top that a leaf at a place leads to."""
    node = leaf
    for level, others in enumerate(siblings):
        before = SIZE * (place >> 2 * level & CHILDREN - 1)
        node = _node(others[:before] + node + others[before:])
    return node


def _pieces(places: NDArray[np.uint32]) -> list[slice]:
    """Cut a level into pieces that are neither long nor part two children of one parent."""
    pieces, start = [], 0
    while start < len(places):
        end = min(start + _PIECE, len(places))
        while end < len(places) and places[end] // CHILDREN == places[end - 1] // CHILDREN:
            end += 1
        pieces.append(slice(start, end))
        start = end
    return pieces


def _siblings(parents: NDArray[np.uint32], children: NDArray[np.void], place: int) -> list[bytes]:
    """Return the siblings of the node at a place; nothing if it is not among these."""
    above, own = divmod(place, CHILDREN)
    index = int(parents.searchsorted(above))
    if index == len(parents) or parents[index] != above:
        return []
    family = children[CHILDREN * index : CHILDREN * (index + 1)]
    return [b"".join(child.tobytes() for number, child in enumerate(family) if number != own)]


def _nodes(children: NDArray[np.void]) -> NDArray[np.void]:
    import numpy as np  # noqa: PLC0415 - see above

    hashes = bytearray()
    for (four,) in iter_unpack(f"{CHILDREN * SIZE}s", children.data):
        # As below; a call would take a third more time, ten million times and more.
        node = _NODE.copy()
        node.update(four)
        hashes += node.digest()
    return np.frombuffer(hashes, dtype=_HASH)


def _node(children: bytes) -> bytes:
    # A copy takes half the time of a new hash.
    node = _NODE.copy()
    node.update(children)
    return node.digest()
