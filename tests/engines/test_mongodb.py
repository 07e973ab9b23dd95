"""MongoDB's protocol, spoken by a real FerretDB.

FerretDB cannot hold NaN, infinity, decimals, or quotes in a field's name; how these are read is tested on BSON itself.
"""

from __future__ import annotations

from contextlib import closing
from datetime import date, datetime, time
from itertools import count
from typing import Any

import bson
import pytest
from bson import Binary, Code, Decimal128, Int64, ObjectId
from pymongo import MongoClient

from engines.dataset import Cell, Dataset
from engines.suite import BooleanConformance, EngineConformance, Load
from noiseledger.core.query import Column, Query
from noiseledger.data import Source
from noiseledger.data.engines.mongodb import Documents, _content, _plain, open_mongodb
from noiseledger.data.source import check_query
from noiseledger.errors import DataMismatch, DataUnavailable


def _stored(cell: Cell) -> Any:
    if isinstance(cell, date):
        return datetime.combine(cell, time())
    return Int64(cell) if isinstance(cell, int) and not isinstance(cell, bool) and abs(cell) > 99 else cell


@pytest.fixture(scope="module")
def load(ferretdb: str) -> Load:
    numbers = count()

    def load(data: Dataset) -> Source:
        name = f"people{next(numbers)}"
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
        return open_mongodb(f"{ferretdb}/study", name)

    return load


class TestMongoDb(EngineConformance, BooleanConformance):
    odd_names = ("select", "group", "two words", "it's", "größe €", "100%", "_ID", "n", "CamelCase", "f0")


def test_documents_are_records_without_their_id(load: Load) -> None:
    with closing(load(Dataset({"n": "whole"}, [[1], [None], [2]]))) as source:
        assert list(source.columns) == ["n"]
        assert sorted(source.records(), key=str) == sorted([{"n": 1}, {"n": None}, {"n": 2}], key=str)


def test_numbers_of_all_types_are_one_column(ferretdb: str) -> None:
    with MongoClient[dict[str, Any]](ferretdb) as client:
        client["study"]["numbers"].insert_many(
            [{"x": 1}, {"x": 1.0}, {"x": Int64(1)}, {"x": Int64(2**53 + 1)}, {"x": 2.0**53}]
        )
    with closing(open_mongodb(f"{ferretdb}/study", "numbers")) as source:
        assert source.columns["x"].is_numeric
        assert source.totals(Query.count("x = 1")) == [3]
        assert source.totals(Query.count("x = 9007199254740992")) == [1]


def test_a_field_with_many_values_is_summed_here_and_with_few_on_the_server(load: Load) -> None:
    rows = [(n, n % 7) for n in range(3000)]
    with closing(load(Dataset({"many": "whole", "few": "whole"}, rows))) as source:
        assert isinstance(source, Documents)
        assert [source._groups_well([name]) for name in ("many", "few")] == [False, True]
        for name, column in (("many", 0), ("few", 1)):
            assert source.totals(Query.sum(Column.of(name, 0, 5000))) == [sum(row[column] for row in rows)]


def test_what_is_no_value_of_ours_is_named_and_refused(ferretdb: str) -> None:
    with MongoClient[dict[str, Any]](ferretdb) as client:
        client["study"]["others"].insert_many([{"n": 1, "tags": ["secret"]}, {"n": 2, "at": datetime(2024, 1, 1, 12)}])
    with closing(open_mongodb(f"{ferretdb}/study", "others")) as source:
        assert source.totals(Query.count("n = 1")) == [1]
        assert source.columns["tags"].contents == {"other"}
        with pytest.raises(DataMismatch, match="column at has values that are not text"):
            check_query(Query.count("at = '2024-01-01'"), source.columns)
        with pytest.raises(DataMismatch, match=r"field tags.*leave it out with a view") as caught:
            list(source.records())
        assert "secret" not in str(caught.value)


@pytest.mark.parametrize(
    ("stored", "plain", "content"),
    [
        (5, 5, "number"),
        (Int64(-(2**63)), -(2**63), "number"),
        (0.1, 0.1, "number"),
        (float("nan"), None, None),
        (float("-inf"), None, None),
        (Decimal128("0.1"), 0.1, "number"),
        (Decimal128("NaN"), None, None),
        (Decimal128("sNaN"), None, None),
        (Decimal128("-Infinity"), None, None),
        (Decimal128("9.99E+6144"), None, None),
        (Decimal128("1E-6176"), 0.0, "number"),
        (True, True, "boolean"),
        (None, None, None),
        ("text", "text", "text"),
        ("", "", "text"),
        (datetime(2024, 2, 29), date(2024, 2, 29), "text"),
        (datetime(2024, 2, 29, 1), None, "other"),
        (ObjectId(), None, "other"),
        (Binary(b"x"), None, "other"),
        (Code("x"), None, "other"),
        ({"a": 1}, None, "other"),
        ([1], None, "other"),
    ],
)
def test_every_type_of_bson_is_a_value_of_ours_or_none(stored: object, plain: object, content: str | None) -> None:
    read = _plain(bson.decode(bson.encode({"x": stored}))["x"])
    assert _content(read) == content
    if plain is not None:
        assert (read, type(read) is bool) == (plain, type(plain) is bool)


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
        open_mongodb(url, "people")
    assert "s3cret" not in str(caught.value)


def test_a_collection_that_is_not_there_is_said(ferretdb: str) -> None:
    with pytest.raises(DataUnavailable, match="no collection absent"):
        open_mongodb(f"{ferretdb}/study", "absent")
