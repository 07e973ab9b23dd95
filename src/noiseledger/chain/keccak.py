"""Keccak-256, the hash function of Ethereum."""

from __future__ import annotations

from Crypto.Hash import keccak as _keccak


def keccak(data: bytes) -> bytes:
    """Return the 32 bytes of Keccak-256, which differs from SHA3-256 in the padding.

    >>> keccak(b"").hex()[:16]
    'c5d2460186f7233c'
    """
    return _keccak.new(digest_bits=256, data=data).digest()
