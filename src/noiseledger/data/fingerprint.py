"""A keyed digest of a dataset, whatever the order of its records: the same data has the same, other data another.

Why the promise holds: a hash of data is not private, since guesses can be tested against it; so this one takes a key of 256
bits, without which nobody can tell it from a random number, and which is never kept in the same file. The numbers of single
records, keyed hashes, are added up modulo 2^64 in two halves and never shown.

The hash of a record is MD5, of the key and the record's text, because DuckDB has it and takes it of many records at once
(:mod:`noiseledger.data.engines.file_fingerprint`). That MD5 has collisions does no harm: without the key nobody can
look for them, and whoever has the key is the custodian, who needs no collision to deceive themselves.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from datetime import date
from functools import lru_cache
from hashlib import blake2b, md5

from noiseledger.data.record import Record

_SIZE = 32
_HALF_BYTES = 8
_HALF = 2 ** (8 * _HALF_BYTES)


def fingerprint_of(records: Iterable[Record], key: bytes) -> bytes:
    """Return the fingerprint of records, in any order.

    >>> people = [{"age": 61}, {"age": 34}]
    >>> fingerprint_of(people, bytes(32)) == fingerprint_of(reversed(people), bytes(32))
    True
    """
    keyed = md5(key.hex().encode(), usedforsecurity=False)
    first = second = count = 0
    for record in records:
        one = keyed.copy()
        one.update("".join(_cell(name, record[name]) for name in sorted(record)).encode())
        digest = one.digest()
        first += int.from_bytes(digest[:_HALF_BYTES], "little")
        second += int.from_bytes(digest[_HALF_BYTES:], "little")
        count += 1
    return sealed(first, second, count, key)


def sealed(first: int, second: int, count: int, key: bytes) -> bytes:
    """Return the fingerprint, given the sums of both halves of the records' hashes, and how many records there are."""
    whole = b"".join((number % _HALF).to_bytes(_HALF_BYTES, "big") for number in (first, second, count))
    return blake2b(whole, key=key, digest_size=_SIZE, person=b"noiseledger all").digest()


@lru_cache(maxsize=1024)
def heading(name: str, letter: str) -> str:
    """Return what a value's text begins with: its column, and a letter for its kind."""
    return f"{json.dumps(name)}{letter}"


def _cell(name: str, value: object) -> str:
    """Return the text of a value; what is missing has none, as if its column were not there."""
    match value:
        case None:
            return ""
        case str():
            return f"{heading(name, 't')}{len(value)}:{value};"
        case bool():
            return f"{heading(name, 'f')}{int(value)};"
        case date():
            return f"{heading(name, 'd')}{value.isoformat()};"
        case _:
            # The nearest double, as everywhere; and no zero has a sign.
            return f"{heading(name, 'n')}{float(value) + 0.0!r};"  # type: ignore[arg-type]
