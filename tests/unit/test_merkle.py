from __future__ import annotations

from hashlib import sha256

from hypothesis import given
from hypothesis import strategies as st

from noiseledger.data.merkle import Packed, Tree, climb

# Zeros in all places, above all at the end, where NumPy takes them for padding.
digests = st.lists(st.sampled_from([0, 0, 1, 255]), min_size=32, max_size=32).map(bytes)
lists = st.lists(digests, max_size=20)


def packed(values: list[bytes]) -> Packed:
    result = Packed()
    for value in values:
        result.append(value)
    return result


def top_of(level: list[bytes]) -> bytes:
    """Build the tree in the plainest way."""
    if len(level) < 2:
        return b"".join(level)
    pairs = [level[i : i + 2] for i in range(0, len(level), 2)]
    return top_of([sha256(b"\x02" + b"".join(pair)).digest() if len(pair) == 2 else pair[0] for pair in pairs])


@given(lists)
def test_packed_values_are_a_list(values: list[bytes]) -> None:
    values_packed = packed(values)
    assert list(values_packed) == [values_packed[i] for i in range(len(values_packed))] == values
    values_packed.sort()
    assert list(values_packed) == sorted(values)


@given(lists)
def test_the_top_is_that_of_the_sorted_leaves(leaves: list[bytes]) -> None:
    assert Tree(packed(leaves)).top == top_of(sorted(leaves))


@given(lists, digests)
def test_all_leaves_and_no_others_lead_to_the_top(leaves: list[bytes], other: bytes) -> None:
    tree = Tree(packed(leaves))
    for leaf in leaves:
        steps = tree.steps(leaf)
        assert steps is not None
        assert climb(leaf, steps) == tree.top
    assert (tree.steps(other) is None) == (other not in leaves)
