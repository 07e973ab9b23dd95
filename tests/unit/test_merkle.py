from __future__ import annotations

from hashlib import blake2b

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from noiseledger.data.commitment import merkle
from noiseledger.data.commitment.merkle import CHILDREN, LEVELS, PLACES, Fillers, Tree, climb

# Zeros in all places, above all at the end, where NumPy may take them for padding.
digests = st.lists(st.sampled_from([0, 0, 1, 255]), min_size=32, max_size=32).map(bytes)
# Crowded and scattered ones.
places = st.one_of(st.integers(0, 20), st.integers(PLACES - 20, PLACES - 1), st.integers(0, PLACES - 1))
occupied = st.dictionaries(places, digests, max_size=20)


def fillers(level: int, piece: int, number: int) -> bytes:
    return blake2b(bytes([level]) + piece.to_bytes(8, "big"), digest_size=32).digest() * number


def one_for_each_level(level: int, _: int, number: int) -> bytes:
    return bytes([level]) * 32 * number


def planted(leaves: dict[int, bytes], fillers: Fillers = fillers) -> Tree:
    taken = sorted(leaves)
    values = np.frombuffer(b"".join(leaves[place] for place in taken), dtype="V32")
    return Tree(np.array(taken, dtype=np.uint32), values, fillers)


def top_of(leaves: dict[int, bytes], level: int = 0) -> bytes:
    """Hash the tree in the plainest way; with few leaves a level is one piece."""
    if level == LEVELS:
        return leaves.get(0, fillers(LEVELS, 0, 1))
    filler = fillers(level, 0, 1)
    above = {
        parent: blake2b(
            b"".join(leaves.get(CHILDREN * parent + child, filler) for child in range(CHILDREN)),
            digest_size=32,
            person=b"noiseledger node",
        ).digest()
        for parent in {place // CHILDREN for place in leaves}
    }
    return top_of(above, level + 1)


@given(occupied)
def test_the_top_is_that_of_the_whole_tree(leaves: dict[int, bytes]) -> None:
    assert planted(leaves).top() == top_of(leaves)


@given(occupied, places, digests)
def test_all_leaves_and_no_others_lead_to_the_top(leaves: dict[int, bytes], place: int, other: bytes) -> None:
    tree = planted(leaves)
    for taken, leaf in leaves.items():
        (siblings,) = tree.siblings([taken])
        assert [len(three) for three in siblings] == [96] * LEVELS
        assert climb(leaf, taken, siblings) == tree.top()
        assert climb(bytes([leaf[0] ^ 1]) + leaf[1:], taken, siblings) != tree.top()
        assert climb(leaf, (taken + 1) % PLACES, siblings) != tree.top() or len(set(leaves.values())) < len(leaves)
    assert tree.has(place, other) == (leaves.get(place) == other)


@given(st.dictionaries(st.integers(0, 400), digests, min_size=1, max_size=60))
def test_the_size_of_the_pieces_matters_to_the_fillers_only(leaves: dict[int, bytes]) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(merkle, "_PIECE", 3)
        small = planted(leaves, one_for_each_level)
        small_top = small.top()
        found = zip(leaves.items(), small.siblings(list(leaves)), strict=True)
        ways = [climb(leaf, place, siblings) for (place, leaf), siblings in found]
        patch.setattr(merkle, "_PIECE", 2**14)
        assert planted(leaves, one_for_each_level).top() == small_top
    assert set(ways) == {small_top}
