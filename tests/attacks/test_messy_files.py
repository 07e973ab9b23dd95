"""Messy files are read alike with and without an engine."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import pytest

from noiseledger.core.filters.condition import Kind
from noiseledger.data.delimited import Dialect
from noiseledger.data.engines.files import open_file
from noiseledger.data.reading import Reading
from noiseledger.data.small import open_small
from noiseledger.errors import DataUnavailable, NoiseledgerError


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


@pytest.mark.parametrize("open_it", [open_small, open_file])
@pytest.mark.parametrize(
    ("encoding", "declared", "says"),
    [
        ("utf-16-le", "utf-16", "has no byte order mark"),
        ("utf-16-be", "utf-16", "has no byte order mark"),
        ("utf-16-le", "utf-8", "so the file is not utf-8 text"),
        ("utf-16", "windows-1252", "so the file is not windows-1252 text"),
        ("utf-32", "utf-16", "so the file is not utf-16 text"),
    ],
)
def test_utf_16_that_is_not_declared_or_has_no_mark_is_refused_with_the_command_that_converts_it(
    tmp_path: Path, open_it: Any, encoding: str, declared: str, says: str
) -> None:
    file = tmp_path / "my file.csv"
    file.write_text("name,age\nM\xfcller,61\n", encoding=encoding)
    with pytest.raises(DataUnavailable, match=says) as caught:
        open_it(file, "csv", Reading({"age": "number"}), None, Dialect(encoding=declared))
    if encoding == "utf-32":
        return
    command = str(caught.value).partition("(")[2].partition(")")[0]
    subprocess.run(command, shell=True, check=True)
    assert open_it(tmp_path / "my file-utf-8.csv", "csv", Reading({"age": "number"}), None, Dialect()).rows == 1


@pytest.mark.parametrize("open_it", [open_small, open_file])
@pytest.mark.parametrize("declared", ["age", "na\0me"])
def test_a_nul_in_the_name_of_a_column_is_refused(tmp_path: Path, open_it: Any, declared: str) -> None:
    """The one kept it, the other ended the name there."""
    file = tmp_path / "f.csv"
    file.write_bytes(b"age,na\0me\n61,Ulm\n")
    with pytest.raises(NoiseledgerError, match="contains a NUL character"):
        open_it(file, "csv", Reading({declared: "text"}), None, Dialect())
