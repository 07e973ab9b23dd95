"""Messy files are read alike with and without an engine."""

from __future__ import annotations

from pathlib import Path

import pytest

from noiseledger.core.filters.condition import Kind
from noiseledger.data.delimited import Dialect
from noiseledger.data.engines.files import open_file
from noiseledger.data.reading import Reading
from noiseledger.data.small import open_small


@pytest.mark.parametrize("kind", ["text", "number"])
def test_a_latin_1_byte_in_a_declared_column_is_read_alike_if_not_all_columns_are_declared(
    tmp_path: Path, kind: Kind
) -> None:
    """DuckDB 1.5.6 fails on it with an internal error, after which that database is unusable."""
    file = tmp_path / "f.csv"
    file.write_bytes(b"id,name,age\n1,M\xfcller,61\n2,Meier,62\n")
    small, large = (
        open_it(file, "csv", Reading({"name": kind}), None, Dialect()) for open_it in (open_small, open_file)
    )
    assert (small.rows, small.fingerprint(bytes(32))) == (large.rows, large.fingerprint(bytes(32)))
