"""What a look at a file proposes."""

from __future__ import annotations

from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from noiseledger.data import look_text
from noiseledger.data.look import Look, look
from noiseledger.data.look_kinds import MISSING_TEXTS, decimal_mark, guess
from noiseledger.data.reading import Reading
from noiseledger.errors import DataUnavailable, InvalidInput


@pytest.mark.parametrize(
    ("fields", "kind"),
    [
        (["61", " 34", "-5", "1e3", ".5", ""], "number"),
        (["1.0", "", "3.0"], "number"),
        (["0", "1", "1"], "number"),
        (["61", "NA", "34"], "number"),
        (["7"] * 19 + ["hemolysed"], "number"),
        (["7"] * 4 + ["hemolysed"], "text"),
        (["01067", "89073"], "text"),
        (["0", "5"], "number"),
        (["1234567890123456", "1"], "text"),
        (["123456789012345", "1"], "number"),
        (["0.30000000000000004"], "number"),
        (["yes", "No"], "flag"),
        (["T", "F", "NA"], "flag"),
        (["true", "true"], "flag"),
        (["f", "f"], "text"),
        (["f", "m"], "text"),
        (["t", "1"], "text"),
        (["2024-02-29", "1999-12-31 23:59:59"], "date"),
        (["2023-02-29", "31.12.2024"], "text"),
        (["2024-01-01T00:00:00Z"], "text"),
        (["12 %", "5 %"], "text"),
        (["1_000", "2_000"], "text"),
        (["", " "], "text"),
    ],
)
def test_kinds(fields: list[str], kind: str) -> None:
    assert guess(fields, ".").kind == kind


def test_a_proposed_kind_reads_what_it_was_proposed_for() -> None:
    for fields in (["61", " 34", "1e3"], ["yes", "N", "F"], ["2024-02-29", "1999-12-31T23:59"]):
        kind = guess(fields, ".").kind
        assert kind is not None
        assert None not in [Reading({"x": kind}).read("x", field) for field in fields]


@pytest.mark.parametrize(
    ("fields", "decimal", "note"),
    [
        (["7"] * 19 + ["hemolysed"], ".", "some values are not numbers, and would be missing"),
        (["7"] * 8 + ["x"] * 3, ".", "3 of 11 values that were inspected are not numbers, so it is proposed as text"),
        (
            ["31.12.2024", "1.1.2024"],
            ".",
            "expected dates such as 2024-12-31, without a time zone: these values are compared as text",
        ),
        (
            ["12/31/24"],
            ".",
            "expected dates such as 2024-12-31, without a time zone: these values are compared as text",
        ),
        (
            ["1,234", "5", "1,234,567.5"],
            ".",
            "these look like numbers with thousands separators, which are not supported",
        ),
        (
            ["1.234", "5", "1.234.567"],
            ",",
            "these look like numbers with thousands separators, which are not supported",
        ),
        (["1 234", "5", "12 345"], ".", "these look like numbers with thousands separators, which are not supported"),
        (
            ["1.234", "5.678"],
            ".",
            "the dot is read as the decimal mark; if it separates thousands, write the file without it",
        ),
        (["1.5"], ".", 'some values have fractions: choose a grid such as "0.1"'),
        ([""], ".", "there is no value in the part of the file that was inspected"),
    ],
)
def test_what_is_noted(fields: list[str], decimal: str, note: str) -> None:
    assert any(found.startswith(note) for found in guess(fields, decimal).notes)


def test_whole_numbers_with_a_point_are_not_said_to_have_fractions() -> None:
    assert guess(["1.0", "2.00"], ".").notes == ()


@pytest.mark.parametrize(
    ("fields", "mark"),
    [
        (["1,5", "2"], ","),
        (["1,5", "1.5"], "."),
        (["1.234,50"], ","),
        (["1,234.50"], "."),
        (["1,234", "12,345"], "."),
        (["Ulm, Donau"], "."),
        ([], "."),
    ],
)
def test_the_decimal_mark(fields: list[str], mark: str) -> None:
    assert decimal_mark(fields) == mark


def looked(folder: Path, text: str | bytes, header: bool | None = None) -> Look:
    file = folder / "data.csv"
    file.write_bytes(text if isinstance(text, bytes) else text.encode())
    return look(file, header=header)


@pytest.mark.parametrize(
    ("text", "header"),
    [
        ("age,town\n61,Ulm\n34,Bonn\n", True),
        ("name,town\nAda,Ulm\nBen,Bonn\n", True),
        ("61,Ulm\n34,Bonn\n", False),
        ("Ada,Ulm\nAda,Bonn\nBen,Ulm\n", False),
        ("region,2019,2020,2021\nnorth,5,6,7\n", True),
        ("north,2019,5\nsouth,2020,6\n", False),
        ("north,2019,2015\nsouth,2020,1999\n", False),
        ("id,2019\nx,5\ny,6\n", False),
        ("NA,Ulm\n34,Bonn\n", False),
        ("2024-01-01,Ulm\n2024-01-02,Bonn\n", False),
    ],
)
def test_whether_the_first_line_has_names(text: str, header: bool, tmp_path: Path) -> None:
    dialect = looked(tmp_path, text).dialect
    assert dialect is not None
    assert dialect.header is header


@pytest.mark.parametrize(
    ("text", "delimiter", "quote"),
    [
        ("age,town\n61,Ulm\n", ",", '"'),
        ("ort;wert\nUlm, Donau;1,5\nBonn, Rhein;2,5\n", ";", '"'),
        ("a\tb c\n1\t2, 3\n", "\t", '"'),
        ("a|b\n1|2\n", "|", '"'),
        ("name,note\n'Ada','a, b'\n'Ben','c'\n", ",", "'"),
        ("name,note\nAda,it's\nBen,d'or\n", ",", '"'),
        ("age\n61\n34\n", ",", '"'),
        ('a,b\n"1;2;3","x"\n"4;5;6","y"\n', ",", '"'),
    ],
)
def test_delimiter_and_quote(text: str, delimiter: str, quote: str, tmp_path: Path) -> None:
    dialect = looked(tmp_path, text).dialect
    assert dialect is not None
    assert (dialect.delimiter, dialect.quote) == (delimiter, quote)


def test_a_letter_that_comes_late_tells_the_encoding(tmp_path: Path) -> None:
    dialect = looked(tmp_path, b"age,town\n" + b"61,Ulm\n" * 20_000 + b"34,K\xf6ln\n").dialect
    assert dialect is not None
    assert dialect.encoding == "windows-1252"


def test_a_letter_of_two_bytes_may_lie_across_two_looks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(look_text, "_BYTES", 16)
    dialect = looked(tmp_path, "a,b\n1,xxxxxxxxxä\n".encode()).dialect
    assert dialect is not None
    assert dialect.encoding == "utf-8"


def test_only_texts_of_our_own_list_are_proposed_as_missing(tmp_path: Path) -> None:
    found = looked(tmp_path, "age,town\nNA,Ulm\n34,secret\n5,-\n")
    assert found.missing == ("NA", "-")
    assert set(found.missing) <= set(MISSING_TEXTS)


def test_types_of_parquet(tmp_path: Path) -> None:
    file = tmp_path / "data.parquet"
    table = pa.table(
        {
            "whole": pa.array([1, None], pa.int16()),
            "identifier": pa.array([2**53 + 1, 5], pa.int64()),
            "decimal": pa.array([None, None], pa.decimal128(10, 2)),
            "flag": pa.array([True, None]),
            "day": pa.array([None, None], pa.date32()),
            "moment": pa.array([None, None], pa.timestamp("us")),
            "zoned": pa.array([None, None], pa.timestamp("us", "UTC")),
            "word": pa.array(["NA", None], pa.dictionary(pa.int8(), pa.string())),
            "list": pa.array([[1], None]),
        }
    )
    pq.write_table(table, file)
    found = look(file)
    assert {name: column.kind for name, column in found.columns.items()} == {
        "whole": "number",
        "identifier": "text",
        "decimal": "number",
        "flag": "flag",
        "day": "date",
        "moment": "date",
        "zoned": None,
        "word": "text",
        "list": None,
    }
    assert "time zone" in found.columns["zoned"].notes[0]
    assert found.missing == ("NA",)


def test_a_table_of_duckdb_without_rows(tmp_path: Path) -> None:
    file = tmp_path / "data"
    with duckdb.connect(file) as database:
        database.execute("CREATE TABLE people (age UTINYINT, wealth HUGEINT, kind ENUM ('a', 'b'), secret BLOB)")
    found = look(file).columns
    assert [found[name].kind for name in ("age", "wealth", "kind", "secret")] == ["number", "number", "text", None]


def test_what_makes_no_sense_together(tmp_path: Path) -> None:
    file = tmp_path / "data.parquet"
    pq.write_table(pa.table({"age": [61]}), file)
    with pytest.raises(InvalidInput, match="leave out --header"):
        look(file, header=True)
    with pytest.raises(DataUnavailable, match="is a folder"):
        look(tmp_path)
