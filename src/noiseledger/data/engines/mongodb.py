"""A collection of a MongoDB server. A document is a record, its fields are the columns, and ``_id`` is no part of it.

MongoDB compares by rules of its own (a list matches if one of its items does, 0.1 as a decimal is not 0.1 as a double), so
no filter is handed to it. It only counts: where the fields that a query needs have few different values, the server groups
and counts the documents by them; else it sends just these fields. What each document contributes is decided here, by the
reference in :mod:`noiseledger.data.table`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime, time
from functools import cached_property
from math import prod
from typing import Any

from bson import Decimal128
from bson.codec_options import CodecOptions, DatetimeConversion
from bson.errors import BSONError
from pymongo import MongoClient
from pymongo.collection import Collection
from pymongo.errors import PyMongoError

from noiseledger.core.condition import Row
from noiseledger.core.query import Query
from noiseledger.data.cells import exact_value, kind_of
from noiseledger.data.fingerprint import fingerprint_of
from noiseledger.data.record import Record
from noiseledger.data.source import Content, Profile
from noiseledger.data.table import totals
from noiseledger.errors import DataMismatch, DataUnavailable

_CONNECT_MILLISECONDS = 10_000
#: Up to so many different values, or combinations of them, the server groups by.
_FEW = 1000


def open_mongodb(url: str, collection: str) -> Documents:
    """Open a collection; the url names the database, as in ``mongodb://host/study``."""
    client: MongoClient[dict[str, Any]] | None = None
    try:
        client = MongoClient(_with_timeout(url), appname="noiseledger")
        # Dates that Python cannot hold are handed out as numbers of milliseconds instead of failing.
        codec = CodecOptions[dict[str, Any]](datetime_conversion=DatetimeConversion.DATETIME_AUTO)
        database = client.get_default_database(codec_options=codec)
        found = collection in database.list_collection_names()
    except (PyMongoError, BSONError, ValueError) as error:
        if client is not None:
            client.close()
        # What the driver says may quote the url with its password.
        raise DataUnavailable(
            f"The MongoDB server cannot be opened ({type(error).__name__}): check host, port, user and password, and that "
            "the url ends in the name of the database."
        ) from None
    if not found:
        client.close()
        raise DataUnavailable(f"The database has no collection {collection}: check its name.")
    return Documents(client, database[collection])


def _with_timeout(url: str) -> str:
    """Wait less long for a server than the driver would, unless the url says how long."""
    if "serverselectiontimeoutms" in url.lower():
        return url
    return f"{url}{'&' if '?' in url else '?'}serverSelectionTimeoutMS={_CONNECT_MILLISECONDS}"


class Documents:
    """A collection of documents."""

    def __init__(self, client: MongoClient[dict[str, Any]], collection: Collection[dict[str, Any]]) -> None:
        """Keep the connection; nothing is read yet."""
        self._client = client
        self._collection = collection

    @property
    def rows(self) -> int:
        """The number of records."""
        return self._survey[0]

    @property
    def columns(self) -> Mapping[str, Profile]:
        """The columns, by name."""
        return {name: field.profile(self.rows) for name, field in self._survey[1].items()}

    @cached_property
    def _survey(self) -> tuple[int, dict[str, _Field]]:
        """Read every document once: only they know which fields there are."""
        rows, fields = 0, dict[str, _Field]()
        for document in self._documents():
            rows += 1
            for name, value in document.items():
                fields.setdefault(name, _Field()).add(value)
        return rows, fields

    def records(self) -> Iterator[Record]:
        """Yield the records."""
        for document in self._documents():
            record = {name: _plain(value) for name, value in document.items()}
            others = sorted(name for name, value in record.items() if _content(value) == "other")
            if others:
                raise DataMismatch(
                    f"The field {', '.join(others)} holds what is neither number, text, date nor true/false: leave it out "
                    "with a view."
                )
            yield record

    def totals(self, query: Query) -> Sequence[int]:
        """Return the exact total for each coordinate of the answer, in whole units of the query's grid."""
        names = _needed(query)
        return totals(query, self._counted(names) if self._groups_well(names) else self._listed(names))

    def fingerprint(self, key: bytes) -> bytes:
        """Return a keyed digest of the records, whatever their order."""
        return fingerprint_of(self.records(), key)

    def close(self) -> None:
        """Let go of the server."""
        self._client.close()

    def _groups_well(self, names: Sequence[str]) -> bool:
        fields = self._survey[1]
        few = prod(len(fields[name].values) + 1 for name in names if name in fields) <= _FEW
        return few and all(map(_is_path, names))

    def _counted(self, names: Sequence[str]) -> Iterator[tuple[Row, int]]:
        """Yield each combination of values and how often it occurs, as the server counts them."""
        # Numbers that are equal are one group to the server, whatever their types, and equal to us as well.
        keys = {f"f{i}": f"${name}" for i, name in enumerate(names)}
        with _translated():
            for found in self._collection.aggregate([{"$group": {"_id": keys, "n": {"$sum": 1}}}], allowDiskUse=True):
                values = [found["_id"].get(key) for key in keys]
                yield _row(names, values), int(found["n"])

    def _listed(self, names: Sequence[str]) -> Iterator[tuple[Row, int]]:
        wanted = dict.fromkeys(names, 1) if names and all(map(_is_path, names)) else {}
        for document in self._documents(wanted):
            yield _row(names, [document.get(name) for name in names]), 1

    def _documents(self, wanted: Mapping[str, int] | None = None) -> Iterator[dict[str, Any]]:
        with _translated(), self._collection.find({}, {"_id": 0, **(wanted or {})}) as found:
            yield from found


class _Field:
    """What was seen in a field: kinds, how many values, and which, as long as they are few."""

    def __init__(self) -> None:
        self.contents: set[Content] = set()
        self.values: set[object] = set()
        self._present = 0

    def add(self, value: object) -> None:
        plain = _plain(value)
        content = _content(plain)
        if content is None:
            return
        self._present += 1
        self.contents.add(content)
        if content != "other" and len(self.values) <= _FEW:
            self.values.add(plain)

    def profile(self, rows: int) -> Profile:
        return Profile(frozenset(self.contents), self._present < rows)


def _needed(query: Query) -> list[str]:
    names = [] if query.where is None else list(query.where.columns)
    names += [] if query.groups is None else [query.groups.column]
    names += [] if query.column is None else [query.column.name]
    return list(dict.fromkeys(names))


def _is_path(name: str) -> bool:
    """Say whether a field can be named to the server: to it, a dot leads into a document and a dollar is special."""
    return bool(name) and "." not in name and not name.startswith("$") and "\0" not in name


def _row(names: Sequence[str], values: Sequence[object]) -> Row:
    return {name: exact_value(_plain(value)) for name, value in zip(names, values, strict=True)}


def _plain(value: object) -> object:
    """Return a value as other engines hand it out."""
    if isinstance(value, Decimal128):
        return float(str(value).replace("sNaN", "NaN"))
    # MongoDB has no dates without a time: by custom they are midnights.
    if isinstance(value, datetime) and value.time() == time():
        return value.date()
    return value


def _content(value: object) -> Content | None:
    """Return the kind of a value, or None if it is missing."""
    if isinstance(value, str) and type(value) is not str:
        return "other"  # code, which is text to Python only
    try:
        exact = exact_value(value)
    except DataMismatch:
        return "other"
    return None if exact is None else kind_of(exact)


@contextmanager
def _translated() -> Iterator[None]:
    try:
        yield
    except (PyMongoError, BSONError) as error:
        raise DataUnavailable(f"The data engine failed ({type(error).__name__}): try again.") from None
