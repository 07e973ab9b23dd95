"""MongoDB's protocol, spoken by a real FerretDB.

FerretDB cannot hold NaN, infinity, decimals, or quotes in a field's name; how these are read is tested on BSON itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from datetime import date, datetime, time
from decimal import Decimal
from fractions import Fraction
from itertools import count
from typing import Any, ClassVar

import bson
import pytest
from bson import Binary, Code, DatetimeMS, Decimal128, Int64, ObjectId, Regex
from bson.codec_options import CodecOptions, DatetimeConversion
from pymongo import MongoClient

from engines.dataset import Cell, Dataset
from engines.law import READING, VALUES, Law, RawRecord, Store
from engines.suite import EngineConformance, Load
from noiseledger.core.query import Query
from noiseledger.data import Source
from noiseledger.data.engines.mongodb import _plain, _projection, open_mongodb
from noiseledger.data.reading import KINDS, Reading
from noiseledger.errors import DataUnavailable

#: For names, in the whole module: pytest makes the fixtures of a class anew when it comes back to the class.
NUMBERS = count()


def _stored(cell: Cell) -> Any:
    if type(cell) is date:
        return datetime.combine(cell, time())
    return Int64(cell) if isinstance(cell, int) and not isinstance(cell, bool) and abs(cell) > 99 else cell


@pytest.fixture(scope="module")
def load(ferretdb: str) -> Load:
    def load(data: Dataset) -> Source:
        name = f"people{next(NUMBERS)}"
        # Every other missing value is not there at all.
        documents = [
            {name: _stored(cell) for name, cell in record.items() if cell is not None or number % 2}
            for number, record in enumerate(data.records)
        ]
        with MongoClient[dict[str, Any]](ferretdb) as client:
            database = client["study"]
            database.create_collection(name)
            if documents:
                database[name].insert_many(documents)
        return open_mongodb(f"{ferretdb}/study", name, data.reading)

    return load


class TestMongoDb(EngineConformance):
    # FerretDB cannot hold them.
    test_nan_and_infinity_are_missing = None  # type: ignore[assignment]
    odd_names = ("select", "group", "two words", "it's", "größe €", "100%", "_ID", "n", "CamelCase", "f0")


class TestLaw(Law):
    pairs = 8
    #: FerretDB has no decimals, and dates have a time of day.
    values: ClassVar = [value for value in VALUES if not isinstance(value, Decimal) and type(value) is not date]

    @pytest.fixture(scope="class")
    @classmethod
    def store(cls, ferretdb: str) -> Store:
        def store(records: Sequence[RawRecord]) -> Source:
            # What is missing is not there at all.
            documents = [{k: _stored(v) for k, v in record.items() if v is not None} for record in records]
            with MongoClient[dict[str, Any]](ferretdb) as client:
                collection = client["study"].create_collection(name := f"law{next(NUMBERS)}")
                if documents:
                    collection.insert_many(documents)
            return open_mongodb(f"{ferretdb}/study", name, READING)

        return store


def test_one_double_among_equal_integers_is_one_record(ferretdb: str) -> None:
    with MongoClient[dict[str, Any]](ferretdb) as client:
        client["study"]["equal"].insert_many([*({"x": Int64(2**60)} for _ in range(50)), {"x": 2.0**60}])
    with closing(open_mongodb(f"{ferretdb}/study", "equal", Reading({"x": "text"}))) as source:
        assert source.totals(Query.count("x = '1152921504606846976'")) == [50], "a double so large has no text"


def test_documents_are_records_without_their_id(load: Load) -> None:
    with closing(load(Dataset({"n": "whole"}, [[1], [None], [2]]))) as source:
        assert list(source.kinds) == ["n"]
        assert sorted(source.records(), key=str) == sorted([{"n": 1}, {"n": None}, {"n": 2}], key=str)


def test_numbers_of_all_types_are_one_column(ferretdb: str) -> None:
    with MongoClient[dict[str, Any]](ferretdb) as client:
        client["study"]["numbers"].insert_many(
            [{"x": 1}, {"x": 1.0}, {"x": Int64(1)}, {"x": Int64(2**53 + 1)}, {"x": 2.0**53}, {"x": "1"}, {"x": True}]
        )
    with closing(open_mongodb(f"{ferretdb}/study", "numbers", Reading({"x": "number"}))) as source:
        assert source.totals(Query.count("x = 1")) == [4]
        assert source.totals(Query.count("x = 9007199254740992")) == [2]
        assert source.totals(Query.count("x IS NULL")) == [1]


@pytest.mark.parametrize(
    ("stored", "number", "text", "flag", "day"),
    [
        (5, 5, "5", None, None),
        (1, 1, "1", True, None),
        (0.0, 0, "0", False, None),
        (Int64(-(2**63)), Fraction("-9.223372036854776e18"), "-9223372036854775808", None, None),
        (Int64(2**53 + 1), 2**53, "9007199254740993", None, None),
        (0.1, Fraction("0.1"), None, None, None),
        (float("nan"), None, None, None, None),
        (float("-inf"), None, None, None, None),
        (Decimal128("0.1"), Fraction("0.1"), None, None, None),
        (Decimal128("1.000"), 1, "1", True, None),
        (Decimal128("NaN"), None, None, None, None),
        (Decimal128("sNaN"), None, None, None, None),
        (Decimal128("-Infinity"), None, None, None, None),
        (Decimal128("9.99E+6144"), None, None, None, None),
        (Decimal128("1E-6176"), 0, None, None, None),
        (True, None, None, True, None),
        (None, None, None, None, None),
        ("text", None, "text", None, None),
        ("", None, None, None, None),
        (datetime(2024, 2, 29, 1), None, None, None, date(2024, 2, 29)),
        (DatetimeMS(2**60), None, None, None, None),
        (ObjectId(), None, None, None, None),
        (Binary(b"1"), None, None, None, None),
        (Code("1"), None, None, None, None),
        (Regex("1"), None, None, None, None),
        ({"a": 1}, None, None, None, None),
        ([1], None, None, None, None),
    ],
)
def test_every_type_of_bson_is_read_by_the_rule(
    stored: object, number: object, text: object, flag: object, day: object
) -> None:
    codec = CodecOptions[dict[str, Any]](datetime_conversion=DatetimeConversion.DATETIME_AUTO)
    value = _plain(bson.decode(bson.encode({"x": stored}), codec)["x"])
    found = [Reading({"x": kind}).read("x", value) for kind in KINDS]
    assert found == [number, text, flag, day]
    assert type(found[2]) is type(flag)


@pytest.mark.parametrize(
    ("url", "hint"),
    [
        ("mongodb://someone:s3cret@127.0.0.1:1/study?serverSelectionTimeoutMS=200", "check host, port"),
        ("mongodb://someone:s3cret@127.0.0.1:port/study", "check host, port"),
        ("mongodb://some:one:s3cret@127.0.0.1/study", "check host, port"),
        ("mongodb://someone:s3cret@127.0.0.1/", "ends in the name of the database"),
    ],
)
def test_what_cannot_be_opened_is_said_without_the_password(url: str, hint: str) -> None:
    with pytest.raises(DataUnavailable, match=hint) as caught:
        open_mongodb(url, "people", Reading())
    assert "s3cret" not in str(caught.value)


def test_a_collection_that_is_not_there_is_said(ferretdb: str) -> None:
    with pytest.raises(DataUnavailable, match="no collection absent"):
        open_mongodb(f"{ferretdb}/study", "absent", Reading())


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        ([], {"_id": 1}),
        (["age"], {"_id": 0, "age": 1}),
        (["age", "town"], {"_id": 0, "age": 1, "town": 1}),
        (["age", "home.town"], {"_id": 0}),
        (["$age", "town"], {"_id": 0}),
        (["age", "a\0b"], {"_id": 0}),
    ],
)
def test_fields_that_cannot_be_named_to_the_server_are_read_all_the_same(names: list[str], expected: object) -> None:
    """To the server, "home.town" leads into a document; the field of that name would come back as missing."""
    assert _projection(names) == expected
