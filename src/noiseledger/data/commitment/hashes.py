"""The hashes of a commitment. Each kind is personalised, so that no hash can be passed off as one of another kind."""

from __future__ import annotations

from hashlib import blake2b

from noiseledger.data.commitment.merkle import SIZE

RECORD = blake2b(digest_size=SIZE, person=b"noiseledger text")
LEAF = blake2b(digest_size=SIZE, person=b"noiseledger leaf")
ROOT = blake2b(digest_size=SIZE, person=b"noiseledger root")
SORTED = blake2b(digest_size=SIZE, person=b"noiseledger sort")


def text_hash(text: str) -> bytes:
    """Return the hash of a record's text."""
    return keyed_hash(RECORD, text.encode())


def keyed_hash(kind: blake2b, content: bytes | bytearray) -> bytes:
    """Return the hash of some content; ``kind`` already contains its key or personalisation."""
    # A copy takes half the time of a new hash.
    hashed = kind.copy()
    hashed.update(content)
    return hashed.digest()


def sorted_digest(hashes: bytes | bytearray) -> bytes:
    """Return a digest of the sorted hashes of all records. It is not keyed: for use in memory only, never to be written."""
    return keyed_hash(SORTED, hashes)
