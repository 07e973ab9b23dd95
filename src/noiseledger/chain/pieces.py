"""Large answers on a chain: revealed in pieces, each of which the contract chains into one hash instead of storing it.

Why no node can change such an answer: the hash in the contract's state depends on every number of every piece, in order.
"""

from __future__ import annotations

from collections.abc import Sequence

from noiseledger.chain.abi_types import encode
from noiseledger.chain.keccak import keccak

_HASHED = ("bytes32", "uint256", "uint256", "int256[]")


def next_digest(digest: bytes, end: int, first: int, increments: Sequence[int]) -> bytes:
    """Return the contract's hash after a piece; ``digest`` is the one before it, at first the identifier of the query.

    >>> next_digest(bytes(32), 1, 0, [5]).hex()[:16]
    'f3d0d1eb5b47a1df'
    """
    return keccak(encode(_HASHED, (digest, end, first, list(increments))))
