"""A Merkle tree with the same depth for every number of leaves, in which an empty place looks like any other.

A node has four children, and there are 16 levels of nodes above 2^32 places. Each leaf has a place; an empty subtree is
replaced by a *filler*, which looks random to everyone but its owner. So an authentication path always has the same form: a
place, and three siblings on each level, and nobody else can tell whether these stand for leaves or for empty subtrees.

On each level, only nodes with a leaf below them are hashed. The tree keeps 36 bytes per leaf; authentication paths are
computed by hashing the tree again.
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
#: For each level from the leaf upwards: the hashes of the other three children, in order.
Siblings: TypeAlias = tuple[bytes, ...]
#: Returns hashes for empty places, given the level, the piece of the level and their number; always the same ones.
Fillers: TypeAlias = Callable[[int, int, int], bytes]

# Other hashes of a commitment are personalised differently, so that none can be passed off as a node.
_NODE = blake2b(digest_size=SIZE, person=b"noiseledger node")
_PIECE = 2**14
_HASH = f"V{SIZE}"


class Tree:
    """The tree over leaves at different places."""

    def __init__(self, places: NDArray[np.uint32], leaves: NDArray[np.void], fillers: Fillers) -> None:
        """Store the leaves, sorted by their places, and the function that makes fillers."""
        self._places, self._leaves, self._fillers = places, leaves, fillers

    def has(self, place: int, leaf: bytes) -> bool:
        """Return whether a leaf is at a place."""
        index = int(self._places.searchsorted(place))
        return index < len(self._places) and self._places[index] == place and self._leaves[index].tobytes() == leaf

    def top(self) -> bytes:
        """Return the hash at the top of the tree."""
        return self._hash([])[0]

    def siblings(self, wanted: Sequence[int]) -> list[Siblings]:
        """Return the authentication paths of the leaves at these places."""
        return [tuple(way) for way in self._hash(wanted)[1]]

    def _hash(self, wanted: Sequence[int]) -> tuple[bytes, list[list[bytes]]]:
        """Hash the tree, and collect the siblings of the nodes above these places."""
        if not len(self._places):
            return self._fillers(LEVELS, 0, 1), []
        ways: list[list[bytes]] = [[] for _ in wanted]
        # Every level overwrites the one below, which is never shorter.
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
        """Return the places of the parents of these nodes, and all children of the parents, in fours."""
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
    """Return the top of the tree, computed from a leaf, its place and its siblings."""
    node = leaf
    for level, others in enumerate(siblings):
        before = SIZE * (place >> 2 * level & CHILDREN - 1)
        node = _node(others[:before] + node + others[before:])
    return node


def _pieces(places: NDArray[np.uint32]) -> list[slice]:
    """Split a level into short pieces that do not separate children of the same parent."""
    pieces, start = [], 0
    while start < len(places):
        end = min(start + _PIECE, len(places))
        while end < len(places) and places[end] // CHILDREN == places[end - 1] // CHILDREN:
            end += 1
        pieces.append(slice(start, end))
        start = end
    return pieces


def _siblings(parents: NDArray[np.uint32], children: NDArray[np.void], place: int) -> list[bytes]:
    """Return the siblings of the node at a place; an empty list if it is not among these."""
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
        # The same as _node; a call would take a third more time, ten million times and more.
        node = _NODE.copy()
        node.update(four)
        hashes += node.digest()
    return np.frombuffer(hashes, dtype=_HASH)


def _node(children: bytes) -> bytes:
    # A copy takes half the time of a new hash.
    node = _NODE.copy()
    node.update(children)
    return node.digest()
