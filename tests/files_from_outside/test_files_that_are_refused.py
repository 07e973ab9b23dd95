"""Files that cannot be read as they are: each refusal names the place and says what to do, and quotes no value."""

from __future__ import annotations

import gzip
import zipfile
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from command import Run, Runner
from noiseledger.data import look_text

STATISTICS_OFFICE = """Bevölkerung nach Kreisen;;;
Stichtag: 31.12.2023;;;

Kreis;Name;Insgesamt;Anteil
01001;Flensburg;92.550;0,11
01002;Kiel;248.873;0,30
01003;Lübeck;218.095;0,26
__________
(C)opyright Statistisches Amt, 2024
"""
TABLE = "\n".join(STATISTICS_OFFICE.splitlines()[3:7]) + "\n"

#: A name for each file, its bytes, and what the refusal says after the file's name.
A_TABLE = "expected a table as text, with the names of the columns in line 1 and one record in each line after it. Save"
REFUSED: dict[str, tuple[bytes, str]] = {
    "preamble.csv": (
        STATISTICS_OFFICE.replace(";;;", "").encode(),
        ", line 1 does not belong to the table, which seems to start in line 4: remove the lines above it",
    ),
    "title-in-a-sheet.csv": (
        (STATISTICS_OFFICE.splitlines()[0].rstrip(";") + ";;;\n" + TABLE).encode(),
        ", line 1 names only the first of 4 columns, so it seems to be a title: remove the lines above",
    ),
    "footer.csv": (
        (TABLE + "(C)opyright 2024\n").encode(),
        ", line 5: expected 4 fields, as in the first line, but found 1. Remove the line",
    ),
    "blank-line-first.csv": (("\n" + TABLE).encode(), ", line 1 is blank: expected the names of the columns."),
    "r-write-table.txt": (
        b'"age"\t"town"\n"1"\t61\t"Ulm"\n"2"\t34\t"Bonn"\n',
        ", line 1 has 2 names for 3 columns, because R's write.table leaves out the first: add a name",
    ),
    "r-write-table-with-blanks.txt": (
        b'"age" "town"\n"1" 61 "Ulm"\n"2" 34 "Bonn"\n',
        ", line 1: the names are separated by blanks, which is not supported: write the file again with one of , ; | or tabs "
        "(in R, with write.csv instead of write.table).",
    ),
    "excel-sep.csv": (
        b"sep=;\r\nage;town\r\n61;Ulm\r\n34;Bonn\r\n",
        ", line 1 tells Excel the delimiter, but would be read as the names of the columns: remove it.",
    ),
    "delimiter-after-names.csv": (
        b"age,town,\n61,Ulm\n34,Bonn\n",
        ", line 1 ends with a delimiter, but the records do not: remove it.",
    ),
    "same-name.csv": (
        b"age,town,Age\n61,Ulm,2\n",
        ", line 1: the columns 1 and 3 have the same name (case is ignored): rename",
    ),
    "too-many-fields.csv": (
        b"age,town\n61,Ulm\n34,Ulm, Donau\n5,Bonn\n",
        ", line 3: expected 2 fields, as in the first line, but found 3.",
    ),
    "line-break-in-a-field.csv": (b'age,note\n61,"a\nb"\n34,c\n', ", line 2: a quote is not closed in this line"),
    "names-only.csv": (b"age,town\n", " has only one line: expected a table as text, with the names of the columns"),
    "page.html": (b"<!DOCTYPE html>\n<table><tr><td>61</td></tr></table>\n", f" looks like an HTML page: {A_TABLE}"),
    "page.csv": (b"\xef\xbb\xbf  <html lang=en>\n61\n", f" looks like an HTML page: {A_TABLE}"),
    "people.xml": (
        b'<?xml version="1.0"?>\n<people><person age="61"/></people>\n',
        f" looks like an XML file: {A_TABLE}",
    ),
    "people.json": (b'[{"age": 61, "town": "Ulm"}]\n', f" looks like JSON: {A_TABLE}"),
    "wide.json": (b'[\n  {\n    "age": 61\n  }\n]\n', f" looks like JSON: {A_TABLE}"),
    "lists.json": (b'[["age"], [61]]\n', f" looks like JSON: {A_TABLE}"),
    "people.jsonl": (b'{"age": 61}\n{"age": 34}\n', f" looks like JSON: {A_TABLE}"),
    "object.json": (b'{\n  "people": [61]\n}\n', f" looks like JSON: {A_TABLE}"),
    "empty.csv": (b"", " is empty: expected a first line with the names of the columns."),
    "one-blank-line.csv": (b"\n", ", line 1 is blank"),
    "old-macintosh.csv": (b"age,town\r61,Ulm\r", ", line 1: lines end with a carriage return only"),
    "nul.csv": (b"age,town\n61,U\0lm\n", ", line 2, has a NUL byte"),
    "utf-16-without-mark.csv": (
        "age,town\n61,Ulm\n".encode("utf-16-le"),
        ", line 1, has a NUL byte, so it is not text, or UTF-16",
    ),
    "control.csv": (b"age,town\n61,U\x07lm\n", ", line 2: there are control characters"),
    "picture.csv": (
        b"\x89PNG\r\n\x1a\n\x01\x02\x03\x04" * 20,
        ", line 2: there are control characters, which text may not contain.",
    ),
    "people.csv.gz": (gzip.compress(b"age\n61\n"), " is compressed: unpack it first."),
    "people.dta": (b"<stata_dta><header><release>118", " is a Stata file: export it as CSV first (export delimited)."),
    "people.sav": (b"$FL2@(#) IBM SPSS STATISTICS", " is an SPSS file: save it as CSV first."),
    "people.xls": (
        b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1",
        " is a workbook or an archive: save the table as CSV or Parquet first.",
    ),
    "broken.parquet": (b"PAR1 and no more", " cannot be read as parquet (ArrowInvalid)"),
    "broken.sqlite": (b"SQLite format 3\0 and no more", " cannot be read as sqlite (DatabaseError)"),
    "broken.duckdb": (b"12345678DUCK and no more", " cannot be read as duckdb ("),
}
PRIVATE = ("Ulm", "Bonn", "Flensburg", "92.550", "61")


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    return Runner(monkeypatch, capsys)


@pytest.mark.parametrize("name", REFUSED)
def test_the_place_and_what_to_do(name: str, tmp_path: Path, run: Run) -> None:
    content, message = REFUSED[name]
    file = tmp_path / name
    file.write_bytes(content)
    done = run("init", file)
    assert done.code == 2
    assert f"{file}{message}" in done.err
    # The folder of a test may be called pytest-61.
    assert not [value for value in PRIVATE if value in done.err.replace(str(tmp_path), "")]
    assert not list(tmp_path.glob("*.toml"))


def test_a_workbook(tmp_path: Path, run: Run) -> None:
    file = tmp_path / "people.xlsx"
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("[Content_Types].xml", "<Types/>")
    assert "is a workbook or an archive: save the table as CSV or Parquet first." in run("init", file).err


def test_a_folder(tmp_path: Path, run: Run) -> None:
    assert f"{tmp_path} is a folder: give a file in it" in run("init", tmp_path).err


def test_a_file_that_one_may_not_read(tmp_path: Path, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    def denied(*_: object, **__: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "open", denied)  # tests may run as root, to whom nothing is denied
    assert "people.csv cannot be read: Permission denied." in run("init", tmp_path / "people.csv").err


def test_a_line_without_an_end(tmp_path: Path, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(look_text, "_BYTES", 2**10)
    file = tmp_path / "people.csv"
    file.write_bytes(b"a," * 2**12)
    assert ", line 1 is longer than 1,024 bytes" in run("init", file).err


def test_a_table_of_what_has_none(tmp_path: Path, run: Run) -> None:
    file = tmp_path / "people.csv"
    file.write_text(TABLE, "utf-8")
    assert "is a single table: leave out --table." in run("init", file, "--table", "people").err
    assert run("init", file).code == 0


def test_two_columns_of_a_parquet_file_with_one_name(tmp_path: Path, run: Run) -> None:
    file = tmp_path / "people.parquet"
    pq.write_table(pa.table([pa.array([1]), pa.array([2])], names=["Age", "age"]), file)
    assert f"{file}: the columns Age and age have the same name (case is ignored): rename" in run("init", file).err
