"""A collection of a MongoDB server. A document is a record, its fields are the columns, and ``_id`` is left out.

MongoDB has its own rules of comparison (a list matches if one of its items does, 0.1 as a decimal is not 0.1 as a double, and
a group of equal values is represented by one of them), so filters and grouping are not delegated to it: it sends the fields
that a query uses, and the contribution of each document is computed here, by the reference in :mod:`noiseledger.data.table`.
A field that a document does not have is missing.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from decimal import Decimal
from functools import cached_property
from typing import Any

from bson import Decimal128
from bson.codec_options import CodecOptions, DatetimeConversion
from bson.errors import BSONError
from pymongo import MongoClient
from pymongo.collection import Collection
from pymongo.errors import PyMongoError

from noiseledger.core.filters.condition import Kind, Row
from noiseledger.core.query import Query
from noiseledger.data.fingerprint import fingerprint_of
from noiseledger.data.reading import Reading
from noiseledger.data.record import Record
from noiseledger.data.table import totals
from noiseledger.errors import DataUnavailable

_CONNECT_MILLISECONDS = 10_000


def open_mongodb(url: str, collection: str, reading: Reading) -> Documents:
    """Open a collection; the url names the database, as in ``mongodb://host/study``."""
    client: MongoClient[dict[str, Any]] | None = None
    try:
        client = MongoClient(_with_timeout(url), appname="noiseledger")
        # Dates that Python cannot represent are returned as numbers of milliseconds instead of failing.
        # Invalid bytes become the character U+FFFD, in that value alone.
        codec = CodecOptions[dict[str, Any]](
            datetime_conversion=DatetimeConversion.DATETIME_AUTO, unicode_decode_error_handler="replace"
        )
        database = client.get_default_database(codec_options=codec)
        found = collection in database.list_collection_names()
    except (PyMongoError, BSONError, ValueError) as error:
        if client is not None:
            client.close()
        # The driver's message may quote the url with its password.
        raise DataUnavailable(
            f"The MongoDB server cannot be opened ({type(error).__name__}): check host, port, user and password, and that "
            "the url ends in the name of the database."
        ) from None
    if not found:
        client.close()
        raise DataUnavailable(f"The database has no collection {collection}: check its name.")
    documents = Documents(client, database[collection], reading)
    try:
        documents.rows  # noqa: B018 - unreadable data fails now, not when somebody asks
    except DataUnavailable:
        client.close()
        raise
    return documents


def _with_timeout(url: str) -> str:
    """Shorten the driver's timeout, unless the url sets one."""
    if "serverselectiontimeoutms" in url.lower():
        return url
    return f"{url}{'&' if '?' in url else '?'}serverSelectionTimeoutMS={_CONNECT_MILLISECONDS}"


class Documents:
    """A collection of documents."""

    def __init__(
        self, client: MongoClient[dict[str, Any]], collection: Collection[dict[str, Any]], reading: Reading
    ) -> None:
        """Store the connection."""
        self._client = client
        self._collection = collection
        self._reading = reading

    @cached_property
    def rows(self) -> int:
        """The number of records."""
        return sum(1 for _ in self.records())

    @property
    def kinds(self) -> Mapping[str, Kind]:
        """The declared columns, by name, and their kinds."""
        return self._reading.kinds

    def records(self) -> Iterator[Record]:
        """Yield the records."""
        for document in self._documents(self.kinds):
            yield self._reading.record({name: _plain(document.get(name)) for name in self.kinds})

    def totals(self, query: Query) -> Sequence[int]:
        """Return the exact total for each coordinate of the answer, in whole units of the query's grid."""
        return totals(query, self._rows_with(list(query.kinds)))

    def fingerprint(self, key: bytes) -> bytes:
        """Return a keyed digest of the records, in any order."""
        return fingerprint_of(self.records(), key)

    def close(self) -> None:
        """Close the connection."""
        self._client.close()

    def _rows_with(self, names: Sequence[str]) -> Iterator[Row]:
        for document in self._documents(names):
            yield {name: self._reading.read(name, _plain(document.get(name))) for name in names}

    def _documents(self, names: Iterable[str]) -> Iterator[dict[str, Any]]:
        """Yield the documents, with at least these fields."""
        with _translated(), self._collection.find({}, _projection(list(names))) as found:
            yield from found


def _projection(names: Sequence[str]) -> dict[str, int]:
    """Return the fields to request: only these if the server can select all of them, otherwise all."""
    if not names:
        return {"_id": 1}
    return {"_id": 0, **dict.fromkeys(names, 1)} if all(map(_is_path, names)) else {"_id": 0}


def _is_path(name: str) -> bool:
    """Return whether the server can select a field: for it, a dot leads into a document and a dollar is special."""
    return bool(name) and "." not in name and not name.startswith("$") and "\0" not in name


def _plain(value: object) -> object:
    """Return a value as other engines return it."""
    if isinstance(value, Decimal128):
        # A signalling NaN is not a number either, but Python would raise an error on it.
        return Decimal("NaN") if "NaN" in str(value) else value.to_decimal()
    if isinstance(value, str) and type(value) is not str:
        return None  # code, which is text in Python only
    return value


@contextmanager
def _translated() -> Iterator[None]:
    try:
        yield
    except (PyMongoError, BSONError) as error:
        raise DataUnavailable(f"The data engine failed ({type(error).__name__}): try again.") from None
