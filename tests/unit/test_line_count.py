"""How many lines a file has, byte by byte, and where an engine would see others."""

from __future__ import annotations

from pathlib import Path

import pytest

from noiseledger.data.delimited import Dialect
from noiseledger.data.engines import line_count
from noiseledger.data.engines.line_count import Lines, one_line_each


@pytest.fixture(params=[1, 2, 3, 2**24])
def file(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A file that is read in pieces of so many bytes, wherever they part what belongs together."""
    monkeypatch.setattr(line_count, "_CHUNK", request.param)
    return tmp_path / "people.csv"


@pytest.mark.parametrize(
    ("text", "records"),
    [
        (b"age", 0),
        (b"age\n", 0),
        (b"age\n61", 1),
        (b"age\n61\n", 1),
        (b"age\n\n62\n", 2),
        (b"age\r\n61\r\n62\r\n", 2),
    ],
)
def test_every_line_but_the_first_is_a_record(file: Path, text: bytes, records: int) -> None:
    file.write_bytes(text)
    assert one_line_each(file, Dialect()) == Lines(records, quotes=False)
    assert one_line_each(file, Dialect(header=False)) == Lines(records + 1, quotes=False)


@pytest.mark.parametrize(
    "text", [b"age\r61\r", b"age\n61\r62\n", b"age\r\n61\n", b"age\n61\r\n", b"age\r\n61\r", b"age\r\r\n61\r\n"]
)
def test_lines_that_do_not_all_end_alike_are_in_doubt(file: Path, text: bytes) -> None:
    file.write_bytes(text)
    assert one_line_each(file, Dialect()) is None


def test_an_empty_file_has_no_records(file: Path) -> None:
    file.write_bytes(b"")
    assert one_line_each(file, Dialect(header=False)) == Lines(0, quotes=False)


def test_quotes_are_those_of_the_file(file: Path) -> None:
    file.write_bytes(b'town\n"Ulm"\n')
    assert one_line_each(file, Dialect()) == Lines(1, quotes=True)
    assert one_line_each(file, Dialect(quote="'")) == one_line_each(file, Dialect(quote="")) == Lines(1, quotes=False)


@pytest.mark.parametrize(
    "line",
    [b'  "Ulm",61', b'61,  "Ulm"', b'61, "Ulm"', b'61,"Ulm" ', b'"Ulm"  ,61', b'"say ""no""" ,61', b'61,"Ulm" \r'],
)
def test_blanks_around_quotes_are_in_doubt(file: Path, line: bytes) -> None:
    """DuckDB keeps two before a quote, and at the end of one of its buffers those after it."""
    for text in (b"town,age\n" + line + b"\n", b"town,age\n" + line):
        file.write_bytes(text)
        assert one_line_each(file, Dialect()) is None
        assert one_line_each(file, Dialect(quote="'")) == one_line_each(file, Dialect(quote="")), "not quotes here"


def test_blanks_inside_a_field_are_not(tmp_path: Path) -> None:
    file = tmp_path / "people.csv"
    file.write_bytes(b'town,says\n Ulm ,"say ""no"" to it"\nNew Ulm,5" or 6" pipe\n')
    assert one_line_each(file, Dialect()) == Lines(2, quotes=True)


def test_other_encodings_are_not_counted(file: Path) -> None:
    file.write_bytes(b"age\n61\n")
    assert one_line_each(file, Dialect(encoding="latin-1")) is None
