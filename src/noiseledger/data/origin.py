"""What a dataset is recognised by: its place, the bytes of its file, and its records in any order.

Why the promise holds: the digests here are not keyed, so they stay in memory and are never written. Whatever is stored is a
keyed hash of them (``Origin.marks``), without whose key no guess about a record can be tested.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path

from noiseledger.data.commitment.hashes import sorted_digest, text_hash
from noiseledger.data.location import Location
from noiseledger.data.record import Record, record_text
from noiseledger.errors import DataUnavailable

_SIZE = 32
_PORTION = 2**20


@dataclass(frozen=True)
class Origin:
    """Where data was read, and what was read there. Two of them may be compared only by their marks."""

    #: The file, with links followed, or the server and its table, without a password; empty if it is not known.
    place: str
    #: A digest of the records in any order, as the catalogue reads them.
    records: bytes
    #: A digest of the file as it is, whatever the catalogue reads of it; None for a server.
    file: bytes | None = None

    @classmethod
    def of(cls, location: Location, records: bytes) -> Origin:
        """Return the origin of data at a location."""
        return cls(location.normal, records, _file_digest(location))

    def marks(self, key: bytes) -> dict[str, str]:
        """Return what may be stored: keyed hashes, without the key worth nothing.

        >>> Origin("", bytes(32)).marks(bytes(32)).keys()
        dict_keys(['records'])
        """
        found = {"records": self.records, "file": self.file}
        return {name: keyed_mark(key, name, digest) for name, digest in found.items() if digest is not None}


def keyed_mark(key: bytes, kind: str, content: bytes) -> str:
    """Return a keyed hash by which the same content is recognised."""
    return blake2b(content, key=key, digest_size=_SIZE, person=f"nl {kind}".encode()).hexdigest()


def records_digest(records: Iterable[Record]) -> bytes:
    """Return a digest of records in any order, for use in memory only.

    >>> people = [{"age": 61}, {"age": 34}]
    >>> records_digest(people) == records_digest(reversed(people))
    True
    """
    return sorted_digest(b"".join(sorted(text_hash(record_text(record)) for record in records)))


def _file_digest(location: Location) -> bytes | None:
    """Return a digest of a file or a folder of files, and of the name of the table in it."""
    if "://" in location.place:
        return None
    digest = blake2b((location.table_read or "").encode(), digest_size=_SIZE)
    try:
        for portion in _portions(Path(location.place)):
            digest.update(portion)
    except OSError as error:
        raise DataUnavailable(f"{error.filename or location.place} cannot be read: {error.strerror}.") from None
    return digest.digest()


def _portions(place: Path) -> Iterator[bytes]:
    files = sorted(file for file in place.rglob("*") if file.is_file()) if place.is_dir() else [place]
    for file in files:
        # The length separates one file from the next.
        yield file.stat().st_size.to_bytes(8, "big")
        with file.open("rb") as stream:
            while portion := stream.read(_PORTION):
                yield portion
