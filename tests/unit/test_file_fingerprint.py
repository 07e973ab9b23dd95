"""What DuckDB computes over a file is the fingerprint of its records, to the last bit."""

from __future__ import annotations

import random
import struct
from collections.abc import Callable
from contextlib import closing
from math import isfinite
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from noiseledger.core.condition import Kind
from noiseledger.data import Table
from noiseledger.data.engines.files import open_file
from noiseledger.data.fingerprint import fingerprint_of
from noiseledger.data.reading import Reading

KEY = bytes(range(32))
KINDS: dict[str, Kind] = {"n": "number", "i": "number", "t": "text", 'f"': "flag", "d": "date"}
NUMBERS = [0.0, -0.0, 0.1, 1 / 3, 5e-324, 1.7976931348623157e308, 1e15, 1e16, 1e17, 1e22, 1e-4, 1e-5, 2.0**53, None]
TEXTS = ["", "1", "Ulm;", '"n":n1;', "ß", "e\u0301", "\U0001f600", "\x00", "a\x00b", "d\n", "\ud7ff", None, "0:", ";"]


def _doubles(dice: random.Random, count: int) -> list[float]:
    drawn = (struct.unpack("d", dice.randbytes(8))[0] for _ in range(2 * count))
    return [number for number in drawn if isfinite(number)][:count]


def _records(seed: int) -> list[dict[str, Any]]:
    dice = random.Random(seed)
    numbers = NUMBERS + _doubles(dice, 2000) + [float(dice.randint(-(10**k), 10**k)) for k in range(1, 22)]
    return [
        {
            "n": number,
            "i": dice.choice([None, 0, -1, 2**53 + 1, -(2**63), 2**63 - 1, dice.randrange(100)]),
            "t": dice.choice(TEXTS),
            'f"': dice.choice([True, False, None]),
            "d": dice.choice(["2024-02-29", "0001-01-01", "9999-12-31", None]),
        }
        for number in numbers
    ]


def _fingerprint(file: Path, records: list[dict[str, Any]], key: bytes = KEY) -> bytes:
    columns = {"n": pa.float64(), "i": pa.int64(), "t": pa.string(), 'f"': pa.bool_(), "d": pa.string()}
    pq.write_table(pa.Table.from_pylist(records, schema=pa.schema(list(columns.items()))), file)
    with closing(open_file(file, "parquet", Reading(KINDS))) as source:
        return source.fingerprint(key)


@pytest.mark.parametrize("count", [0, 1, None])
def test_duckdb_and_the_reference_agree(tmp_path: Path, count: int | None) -> None:
    records = _records(1)[:count]
    found = _fingerprint(tmp_path / "a.parquet", records)
    assert found == Table(records, KINDS).fingerprint(KEY)
    with closing(open_file(tmp_path / "a.parquet", "parquet", Reading(KINDS))) as source:
        assert found == fingerprint_of(source.records(), KEY)
    assert found == _fingerprint(tmp_path / "b.parquet", records[::-1])


@pytest.mark.parametrize(
    "change",
    [
        lambda records: records[1:],
        lambda records: [*records, records[0]],
        lambda records: [*records, {}],
        lambda records: [{**records[0], "t": "other"}, *records[1:]],
        lambda records: [{**records[0], "n": 5e-324, "t": "x"}, *records[1:]],
    ],
)
def test_other_records_have_another(tmp_path: Path, change: Callable[[list[dict[str, Any]]], Any]) -> None:
    records = _records(2)[:50]
    found = _fingerprint(tmp_path / "a.parquet", records)
    assert found != _fingerprint(tmp_path / "b.parquet", change(records))
    assert found != _fingerprint(tmp_path / "a.parquet", records, bytes(32))
