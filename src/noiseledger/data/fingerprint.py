"""A keyed digest of a dataset that does not depend on the order of its records: it changes if and only if the data does.

Why the promise holds: a plain hash of data is not private, because guesses can be tested against it. This digest uses a key
of 256 bits, without which it cannot be distinguished from a random number, and the key is never stored in the same file. The
keyed hashes of single records are added modulo 2^256 and never shown.
"""

from __future__ import annotations

from collections.abc import Iterable
from hashlib import blake2b

from noiseledger.data.record import Record, record_text

_SIZE = 32
_MODULUS = 2 ** (8 * _SIZE)


def fingerprint_of(records: Iterable[Record], key: bytes) -> bytes:
    """Return the fingerprint of records, in any order.

    >>> people = [{"age": 61}, {"age": 34}]
    >>> fingerprint_of(people, bytes(32)) == fingerprint_of(reversed(people), bytes(32))
    True
    """
    hashed = blake2b(key=key, digest_size=_SIZE, person=b"noiseledger one")
    total = count = 0
    for record in records:
        one = hashed.copy()
        one.update(record_text(record).encode())
        total += int.from_bytes(one.digest(), "big")
        count += 1
    whole = (total % _MODULUS).to_bytes(_SIZE, "big") + count.to_bytes(8, "big")
    return blake2b(whole, key=key, digest_size=_SIZE, person=b"noiseledger all").digest()
