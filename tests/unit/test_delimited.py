"""Delimited text: what is a record, and what is refused, with the line and how to fix it."""

from __future__ import annotations

import codecs
from pathlib import Path

import pytest

from noiseledger.data.delimited import ENCODINGS, Dialect, columns_of, records_of
from noiseledger.errors import DataUnavailable, InvalidInput


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "people.csv"


@pytest.mark.parametrize(
    ("line", "fields"),
    [
        ("", [""]),
        ("61,Ulm", ["61", "Ulm"]),
        ("61,,", ["61", "", ""]),
        (' "61" ,Ulm', ["61", "Ulm"]),
        ('"Ulm, Donau",61', ["Ulm, Donau", "61"]),
        ('"say ""hi""","a",""', ['say "hi"', "a", ""]),
        ('5" pipe,a"b"', ['5" pipe', 'a"b"']),
        ('"Ulm', None),
        ('"Ulm" a. D.,61', None),
        ('61,"Ulm""', None),
    ],
)
def test_a_line_is_split(line: str, fields: list[str] | None) -> None:
    assert Dialect().split(line) == fields
    assert Dialect(quote="").split(line) == line.split(",")


@pytest.mark.parametrize(
    ("dialect", "content", "names", "records"),
    [
        (Dialect(), "age,town\n61,Ulm\n34,Bonn", ["age", "town"], [["61", "Ulm"], ["34", "Bonn"]]),
        (Dialect(), "\ufeffage,town\r\n61,Ulm\r\n", ["age", "town"], [["61", "Ulm"]]),
        (Dialect(), " age , \n61,Ulm\n", ["age", "column_2"], [["61", "Ulm"]]),
        (Dialect(header=False), "61,Ulm\n34,Bonn\n", ["column_1", "column_2"], [["61", "Ulm"], ["34", "Bonn"]]),
        # Blank lines: records of one column, nothing in a table of several.
        (Dialect(), "age\n61\n\n34\n", ["age"], [["61"], [""], ["34"]]),
        (Dialect(), "age,town\n\n61,Ulm\n\n", ["age", "town"], [["61", "Ulm"]]),
        (Dialect(header=False), "\n61\n", ["column_1"], [[""], ["61"]]),
        # Empty fields at the end of a line, which some programs write.
        (Dialect(), "age,town\n61,Ulm,\n34,,,\n", ["age", "town"], [["61", "Ulm"], ["34", ""]]),
        # A name with another delimiter, which the quotes or a second column show to be one name.
        (Dialect(), '"age;years"\n61\n', ["age;years"], [["61"]]),
        (Dialect(), "age;years,town\n61,Ulm\n", ["age;years", "town"], [["61", "Ulm"]]),
        (Dialect(header=False), "61;Ulm\n", ["column_1"], [["61;Ulm"]]),
        (Dialect(delimiter=";"), "age;town\n61;Ulm, Donau\n", ["age", "town"], [["61", "Ulm, Donau"]]),
    ],
)
def test_columns_and_records(
    file: Path, dialect: Dialect, content: str, names: list[str], records: list[list[str]]
) -> None:
    file.write_bytes(content.encode())
    assert columns_of(file, dialect) == names
    assert list(records_of(file, dialect)) == records


@pytest.mark.parametrize(
    ("dialect", "content", "said"),
    [
        (Dialect(), "", " is empty: expected a first line"),
        (Dialect(), "\n61\n", ", line 1 is empty: expected a first line"),
        (Dialect(header=False), "", " is empty"),
        (Dialect(header=False), "61,\n\n\n", ", line 2 is empty, and in a file without a header"),
        (Dialect(), '"age,town\n61,Ulm\n', ", line 1: a quote is not closed"),
        (Dialect(), 'age,town\n61,Ulm\n34,"Bonn\n', ", line 3: a quote is not closed"),
        (
            Dialect(),
            "age;town\n61;Ulm\n",
            ", line 1: with the delimiter ',' there is one column, but its name contains ';'",
        ),
        (Dialect(delimiter=";"), "age\ttown\n", 'write delimiter = "\\t" in [source]'),
        (Dialect(), "age,to\0wn\n", ", line 1: the name of column 2 contains a NUL character"),
        (Dialect(), "age,town,AGE\n", ", line 1: the columns 1 and 3 have the same name"),
        (Dialect(), "age,town\n61\n", ", line 2: expected 2 fields, as in the first line, but found 1."),
        (Dialect(), "age,town\n61,Ulm, Donau\n", ", line 2: expected 2 fields, as in the first line, but found 3."),
        (Dialect(quote="'"), "age,town\n61,Ulm,''\n", "but found 3."),
    ],
)
def test_what_is_refused(file: Path, dialect: Dialect, content: str, said: str) -> None:
    file.write_text(content)
    with pytest.raises(DataUnavailable) as refused:
        list(records_of(file, dialect))
    assert said in str(refused.value)
    assert str(file) in str(refused.value)


@pytest.mark.parametrize(
    ("dialect", "line", "is_advised"),
    [
        (Dialect(), "61,70,5", True),
        (Dialect(), "70,5,Ulm", True),
        (Dialect(), "61,Ulm,Donau", True),  # 61 may be the end of a number as well
        (Dialect(), "Ulm,a.,D.", False),
        (Dialect(), "61", False),
        (Dialect(delimiter=";"), "61;70;5", False),
    ],
)
def test_decimal_commas_are_advised_about(file: Path, dialect: Dialect, line: str, is_advised: bool) -> None:
    file.write_text(f"age{dialect.delimiter}weight\n{line}\n")
    with pytest.raises(DataUnavailable) as refused:
        list(records_of(file, dialect))
    assert ('declare delimiter = ";" and decimal = ","' in str(refused.value)) == is_advised


@pytest.mark.parametrize("encoding", ENCODINGS)
def test_every_encoding_is_read(file: Path, encoding: str) -> None:
    file.write_bytes("größe\n61\n".encode(encoding))
    assert list(records_of(file, Dialect(encoding=encoding))) == [["61"]]
    assert columns_of(file, Dialect(encoding=encoding)) == ["größe"]


@pytest.mark.parametrize("order", ["le", "be"])
def test_utf_16_shows_the_order_of_its_bytes_or_is_refused(file: Path, order: str) -> None:
    dialect, mark = Dialect(encoding="utf-16"), codecs.BOM_UTF16_LE if order == "le" else codecs.BOM_UTF16_BE
    content = "age\n61\n".encode(f"utf-16-{order}")
    file.write_bytes(mark + content)
    assert list(records_of(file, dialect)) == [["61"]]
    file.write_bytes(mark + content + b"\0")
    with pytest.raises(DataUnavailable, match="a byte is missing, or there is one too many"):
        columns_of(file, dialect)
    file.write_bytes(content)
    with pytest.raises(DataUnavailable, match=f"no byte order mark.*iconv -f UTF-16{order.upper()} -t UTF-8"):
        columns_of(file, dialect)
    # Declared as another encoding, the marks of UTF-16 are in the name.
    with pytest.raises(DataUnavailable, match=f"NUL character.*iconv -f UTF-16{order.upper()} -t UTF-8"):
        columns_of(file, Dialect())


def test_bytes_that_are_not_of_the_encoding_are_replaced_where_they_are(file: Path) -> None:
    file.write_bytes(b"age,town\n61,K\xf6ln\n34,Ulm\n")
    assert list(records_of(file, Dialect())) == [["61", "K\ufffdln"], ["34", "Ulm"]]


def test_a_file_that_is_not_there(file: Path) -> None:
    with pytest.raises(
        DataUnavailable, match=r"people\.csv cannot be read: No such file or directory\. Put the file there"
    ):
        columns_of(file, Dialect())


def test_a_file_without_the_right_to_read_it(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "open", refuse)  # the tests may run as root, to whom nothing is locked
    with pytest.raises(
        DataUnavailable, match=r"people\.csv cannot be read: Permission denied\. .*: chmod u\+r .*people\.csv"
    ):
        columns_of(file, Dialect())


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"delimiter": "::"}, "delimiter must be one of"),
        ({"quote": "`"}, "quote must be"),
        ({"encoding": "ebcdic"}, "encoding must be one of"),
        ({"header": 1}, "header must be true or false"),
    ],
)
def test_a_dialect_that_nobody_reads_is_refused(settings: dict[str, object], said: str) -> None:
    with pytest.raises(InvalidInput, match=said):
        Dialect.of(settings)
    assert Dialect.of({"delimiter": "|", "kind": "csv"}) == Dialect(delimiter="|")
