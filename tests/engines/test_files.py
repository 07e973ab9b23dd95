"""Files read by DuckDB."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from datetime import date
from decimal import Decimal
from importlib import resources
from itertools import count
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from engines.dataset import Dataset, write_csv, write_duckdb, write_parquet, write_sqlite
from engines.suite import SECRET, EngineConformance, Load, same_records
from noiseledger.core.filters.condition import Kind
from noiseledger.core.query import Column, Query
from noiseledger.data import Source, Table
from noiseledger.data.delimited import Dialect
from noiseledger.data.engines.files import open_file
from noiseledger.data.formats import Format
from noiseledger.data.reading import KINDS, Reading
from noiseledger.data.record import record_text
from noiseledger.data.table import CENSUS_KINDS
from noiseledger.errors import DataUnavailable, InvalidInput


def _loading(write: Callable[[Dataset, Path], Path], folder: Path, form: Format) -> Load:
    numbers = count()

    def load(data: Dataset) -> Source:
        return open_file(write(data, folder / f"people{next(numbers)}"), form, data.reading)

    return load


class TestCsv(EngineConformance):
    line_breaks = False

    @pytest.fixture(scope="class")
    @classmethod
    def load(cls, tmp_path_factory: pytest.TempPathFactory) -> Load:
        return _loading(write_csv, tmp_path_factory.mktemp("csv"), "csv")


CENSUS = resources.files("noiseledger.data") / "acs12.csv"


@pytest.mark.parametrize("query", [Query.count("age > 1"), Query.sum("age", lower=0, upper=99, missing=0)], ids=str)
def test_a_measure_that_the_engine_does_not_know_is_not_computed(query: Query, tmp_path: Path) -> None:
    (tmp_path / "people.csv").write_text("age\n61\n")
    object.__setattr__(query, "measure", "variance")
    opened = open_file(tmp_path / "people.csv", "csv", Reading({"age": "number"}))
    with closing(opened) as source, pytest.raises(AssertionError, match="variance"):
        source.totals(query)


def test_the_census_sample_is_the_same_dataset_in_every_format(tmp_path: Path) -> None:
    expected = Table.census_sample()
    with resources.as_file(CENSUS) as sample, closing(open_file(sample, "csv", Reading(CENSUS_KINDS))) as source:
        assert same_records(source, expected)
        pq.write_table(pa.Table.from_pylist(list(source.records())), tmp_path / "people")
    with closing(open_file(tmp_path / "people", "parquet", Reading(CENSUS_KINDS))) as source:
        assert same_records(source, expected)


@pytest.mark.parametrize(
    "content",
    [
        b"n,t\n1,a\n\n2,b\n",
        b"n,t\r\n1,a\r\n\r\n2,b",
        b"n,t\n1,a\r\n2,b\n",
        b"n,t\n1,a\n# 5,b\n",
        b"n,t\n01067,a\n 7 ,\n",
        b"n , t\n 1 ,-0\n2,0.0\n",
        b"n,t\n1e-400,1e400\n-1.5e3,nan\n7,-INFINITY\n8,5\n",
        b"n,t\n123456789012345678,1234567890123456789\n",
        b'n,t\n"1","say ""no"""\n 2 , "x, y" \n',
        b'n,t\n1,  "Ulm"\n   "2",   ""  \n',
        b'n,t\n5" pipe,a"b\n',
        b"n,t\n",
        b"n,t\n,\n,\n",
        b"n,t\n1,a,\n2,b\n",
        b"\xef\xbb\xbfn,t\n1,a\n",
        b"n,t\n1,\xff\xc3\n2,\xc3\xa9\n",
        b"n,t\n1,a\0b\n2,\0\n",
        b"n,t\n1," + b"x" * 3_000_000 + b"\n2,b\n",
        b"n,t\n" + b'1,"a"\n' * 9 + b'2,"' + b'""' * 1000 + b'"\n',
    ],
)
def test_a_csv_file_means_what_the_reference_reads(tmp_path: Path, content: bytes) -> None:
    file = tmp_path / "people"
    file.write_bytes(content)
    reading = Reading({"n": "number", "t": "text"})
    reference = Table.read_csv(file, reading)
    with closing(open_file(file, "csv", reading)) as source:
        assert source.rows == reference.rows
        assert same_records(source, reference)


@pytest.mark.parametrize("content", [b"n\n1\n\n2\n", b'n\n1\n""\n2\n', b"n\n1\n\n", b"n\r\n\r\n"])
def test_an_empty_line_is_a_record_where_there_is_one_column(tmp_path: Path, content: bytes) -> None:
    file = tmp_path / "people"
    file.write_bytes(content)
    with closing(open_file(file, "csv", Reading({"n": "text"}))) as source:
        assert source.rows == content.count(b"\n") - 1
        assert same_records(source, Table.read_csv(file, {"n": "text"}))


@pytest.mark.parametrize(
    ("content", "hint"),
    [
        (b"", "is empty"),
        (b"n,n\n1,secret\n", "line 1: the columns 1 and 2 have the same name"),
        (b"n,N\n1,secret\n", "line 1: the columns 1 and 2 have the same name"),
        (b"n,t\n1,secret,3\n", "line 2: expected 2 fields"),
        (b"n,t\n1,2\nsecret\n", "line 3: expected 2 fields"),
        (b'n,t\n1,"secret\n', "line 2: a quote is not closed"),
        (b'n,t\n1,"secret\n1,2"\n', "line 2: a quote is not closed"),
        (b'n,t\n1,"secret"x\n', "line 2: .* or text follows"),
    ],
)
def test_a_file_that_cannot_be_read_is_said_without_a_value(tmp_path: Path, content: bytes, hint: str) -> None:
    file = tmp_path / "people"
    file.write_bytes(content)
    with pytest.raises(DataUnavailable, match=hint) as caught:
        open_file(file, "csv", Reading({"n": "number"}))
    assert "secret" not in str(caught.value)


def test_the_first_record_does_not_decide_what_the_empty_lines_are(tmp_path: Path) -> None:
    """With one column they are records, so a first record with two fields may not make them nothing."""
    file, form = tmp_path / "people", Dialect(header=False)
    file.write_bytes(b"61\n" + b"\n" * 40)
    with closing(open_file(file, "csv", Reading({"column_1": "number"}), dialect=form)) as source:
        assert source.rows == 41
    file.write_bytes(b"61,\n" + b"\n" * 40)
    with pytest.raises(DataUnavailable, match="line 2 is empty"):
        open_file(file, "csv", Reading({"column_1": "number"}), dialect=form)


def test_an_invalid_byte_in_one_record_does_not_change_how_blanks_before_quotes_are_read(tmp_path: Path) -> None:
    """It makes the rule split the file instead of DuckDB, which kept two blanks and the quotes."""
    query, counts = Query.counts_by("t", ["Ulm", "Bonn"]), []
    for one in (b"Bonn", b"\xff"):
        (tmp_path / "people").write_bytes(b"n,t\n1," + one + b"\n" + b'1,  "Ulm"\n' * 40)
        with closing(open_file(tmp_path / "people", "csv", Reading({"t": "text"}))) as source:
            counts.append(list(source.totals(query)))
    assert counts == [[1, 40], [0, 40]]


@pytest.mark.parametrize("extra", [*"0123456789abcdefghijklmnopqrstuvwxyz\\ \t\x01\x7f", "NULL", '"x"', ",x"])
def test_a_field_too_many_is_refused_whatever_it_is(tmp_path: Path, extra: str) -> None:
    """DuckDB drops an extra last field that the text for null starts with; with random text that was one field in sixteen."""
    file = tmp_path / "people"
    file.write_text(f"n,t\n1,a\n2,b,{extra}\n")
    with pytest.raises(DataUnavailable, match="line 3: expected 2 fields"):
        open_file(file, "csv", Reading({"n": "number"}))


@pytest.mark.parametrize("form", ["parquet", "duckdb", "sqlite"])
def test_what_is_no_such_file_is_said(tmp_path: Path, form: Format) -> None:
    heads = {"parquet": b"PAR1 secret", "duckdb": b"secret  DUCK secret", "sqlite": b"SQLite format 3\0 secret"}
    (tmp_path / "people").write_bytes(heads[form])
    with pytest.raises(DataUnavailable, match=f"as {form}") as caught:
        open_file(tmp_path / "people", form, Reading({"n": "number"}))
    assert "secret" not in str(caught.value)


def test_text_of_invalid_bytes_is_refused_when_it_is_opened_by_its_column(tmp_path: Path) -> None:
    broken = pa.StringArray.from_buffers(1, pa.py_buffer(b"\0\0\0\0\2\0\0\0"), pa.py_buffer(b"\xff\xfe"))
    pq.write_table(pa.table({"t": broken, "n": [1]}), tmp_path / "people", use_dictionary=False)
    open_file(tmp_path / "people", "parquet", Reading({"n": "number"})).close()
    with pytest.raises(DataUnavailable, match="The column t has a value that the engine cannot read"):
        open_file(tmp_path / "people", "parquet", Reading({"n": "number", "t": "text"}))


@pytest.mark.parametrize("kind", KINDS)
def test_a_number_reads_alike_whatever_the_type_of_its_column(tmp_path: Path, kind: Kind) -> None:
    """Programs that write a column choose its type by all of its values: the same number must read the same."""
    numbers = [0, 1, 7, 2**20, 16777216]
    types = [pa.int32(), pa.int64(), pa.uint32(), pa.uint64(), pa.float32(), pa.float64(), pa.decimal128(24, 2)]
    found = []
    for number, kept in enumerate([*types, pa.decimal128(38, 10), pa.string()]):
        values = [str(n) for n in numbers] if kept == pa.string() else pa.array(numbers).cast(kept, safe=False)
        pq.write_table(pa.table({"n": pa.array(values, kept)}), tmp_path / f"{number}")
        with closing(open_file(tmp_path / f"{number}", "parquet", Reading({"n": kind}))) as source:
            found.append(sorted(map(record_text, source.records())))
    assert all(one == found[0] for one in found)


def test_digits_of_decimals_are_exact(tmp_path: Path) -> None:
    given = [Decimal("1.00000000000000000001"), Decimal("9007199254740993"), Decimal("-5"), Decimal("0")]
    pq.write_table(pa.table({"n": pa.array(given, pa.decimal128(38, 20))}), tmp_path / "people")
    for kind in KINDS:
        reference = Table(({"n": value} for value in given), {"n": kind})
        with closing(open_file(tmp_path / "people", "parquet", Reading({"n": kind}))) as source:
            assert same_records(source, reference)


def test_texts_that_are_almost_whole_numbers_of_64_bits_are_read_by_the_rule(tmp_path: Path) -> None:
    """DuckDB takes most of them for integers; only those that it would write alike are read without the pattern."""
    large = [n + k for n in (2**53, -(2**53), 2**63, -(2**63), 10**18) for k in range(-3, 4)]
    odd = ["-0", "+1", "01", " 1", "1 ", "1.0", "1.5", "2.5", "1e3", "1e-1", "1_000", "0x10", "", "-", "true", "\uff11"]
    fields = [*map(str, large), *odd, "7", "-7"]
    (tmp_path / "people").write_text("\n".join(["n,t", *(f"{field},x" for field in fields), ""]), encoding="utf-8")
    reading = Reading({"n": "number"}, missing=frozenset({"7", "1e3", str(2**53)}))
    with closing(open_file(tmp_path / "people", "csv", reading)) as source:
        assert same_records(source, Table.read_csv(tmp_path / "people", reading))
    pq.write_table(pa.table({"n": fields}), tmp_path / "people")
    with closing(open_file(tmp_path / "people", "parquet", reading)) as source:
        assert same_records(source, Table(({"n": field} for field in fields), reading))


def test_words_for_missing_values_are_missing_in_every_kind(tmp_path: Path) -> None:
    (tmp_path / "people").write_text("n,t,b,d\n99,99,n,9999-12-31\n1,a,y,2024-02-29\n", encoding="utf-8")
    words = frozenset({"99", "n", "9999-12-31"})
    reading = Reading({"n": "number", "t": "text", "b": "flag", "d": "date"}, missing=words)
    with closing(open_file(tmp_path / "people", "csv", reading)) as source:
        assert same_records(source, Table.read_csv(tmp_path / "people", reading))
        assert source.totals(Query.count("n IS NULL AND t IS NULL AND b IS NULL AND d IS NULL")) == [1]


def test_a_decimal_comma_is_read(tmp_path: Path) -> None:
    (tmp_path / "people").write_text("n;t\n1,5;a\n1.5;b\n1.000,5;c\n", encoding="utf-8")
    reading, dialect = Reading({"n": "number"}, decimal=","), Dialect(delimiter=";")
    with closing(open_file(tmp_path / "people", "csv", reading, dialect=dialect)) as source:
        assert same_records(source, Table.read_csv(tmp_path / "people", reading, dialect))
        assert source.totals(Query.count("n = 1.5")) == [1]


class TestParquet(EngineConformance):
    @pytest.fixture(scope="class")
    @classmethod
    def load(cls, tmp_path_factory: pytest.TempPathFactory) -> Load:
        return _loading(write_parquet, tmp_path_factory.mktemp("parquet"), "parquet")


class TestDuckDb(EngineConformance):
    @pytest.fixture(scope="class")
    @classmethod
    def load(cls, tmp_path_factory: pytest.TempPathFactory) -> Load:
        return _loading(write_duckdb, tmp_path_factory.mktemp("duckdb"), "duckdb")


class TestSqlite(EngineConformance):
    @pytest.fixture(scope="class")
    @classmethod
    def load(cls, tmp_path_factory: pytest.TempPathFactory) -> Load:
        return _loading(write_sqlite, tmp_path_factory.mktemp("sqlite"), "sqlite")


@pytest.mark.parametrize(("write", "form"), [(write_csv, "csv"), (write_parquet, "parquet")])
def test_the_name_of_a_folder_is_no_value(write: Callable[[Dataset, Path], Path], form: Format, tmp_path: Path) -> None:
    (tmp_path / "n=7").mkdir()
    file = write(Dataset({"n": "whole"}, [[1], [2]]), tmp_path / "n=7" / "people")
    with closing(open_file(file, form, Reading({"n": "number"}))) as source:
        assert [record["n"] for record in source.records()] == [1, 2]


def test_sqlite_values_are_read_one_by_one(tmp_path: Path) -> None:
    rows: list[list[Any]] = [[2**60 + 1], [0.5], [None], ["7"], ["x"], [b"7"]]
    file = write_sqlite(Dataset({"x": "mixed"}, rows), tmp_path / "people")
    with closing(open_file(file, "sqlite", Reading({"x": "number"}))) as source:
        assert [record["x"] for record in source.records()] == [2.0**60, 0.5, None, 7, None, None]


def test_sqlite_values_are_read_once(tmp_path: Path) -> None:
    """A text that means "missing" is compared with texts, not with the text of a number, as in every other format."""
    file = write_sqlite(Dataset({"t": "mixed"}, [[7], ["7"], [99], ["99"]]), tmp_path / "people")
    reading = Reading({"t": "text"}, missing=frozenset({"7"}), missing_codes={"t": frozenset({"99"})})
    with closing(open_file(file, "sqlite", reading)) as source:
        assert [record["t"] for record in source.records()] == ["7", None, None, None]


@pytest.mark.parametrize("write", [write_duckdb, write_sqlite])
def test_a_database_needs_the_name_of_a_table_unless_it_has_one(
    tmp_path: Path, write: Callable[[Dataset, Path], Path]
) -> None:
    file = write(Dataset({"n": "whole"}, [[1]]), tmp_path / "people")
    form: Format = "duckdb" if write is write_duckdb else "sqlite"
    open_file(file, form, Reading({"n": "number"})).close()
    open_file(file, form, Reading({"n": "number"}), "people").close()
    with pytest.raises(InvalidInput, match=r"no table absent in .*: it has people"):
        open_file(file, form, Reading({"n": "number"}), "absent")


@pytest.mark.parametrize("rows", [200_000_000, pytest.param(1_000_000_000, marks=pytest.mark.deep)])
def test_a_sum_over_many_rows_is_exact(tmp_path: Path, rows: int) -> None:
    """The sums are beyond what a double counts in ones, and the second beyond 64 bits."""
    with duckdb.connect(tmp_path / "people") as run:
        run.execute(f"CREATE VIEW people AS SELECT range AS n FROM range({rows})")
    with closing(open_file(tmp_path / "people", "duckdb", Reading({"n": "number"}))) as source:
        assert source.rows == rows
        assert source.totals(Query.sum(Column.of("n", 0, rows, missing=0))) == [rows * (rows - 1) // 2]
        assert source.totals(Query.sum(Column.of("n", -(2**50), 1 - 2**50, missing=1 - 2**50))) == [rows * (1 - 2**50)]


def _fingerprint(file: Path, rows: list[tuple[Any, ...]], form: Format = "parquet", key: bytes = SECRET) -> bytes:
    write = {"parquet": write_parquet, "csv": write_csv}[form]
    data = Dataset({"n": "whole", "x": "double", "t": "text", "b": "boolean", "d": "date"}, rows)
    with closing(open_file(write(data, file), form, data.reading)) as source:
        return source.fingerprint(key)


def test_the_fingerprint_is_of_the_records_in_any_order(tmp_path: Path) -> None:
    rows: list[tuple[Any, ...]] = [
        (n % 9 or None, n / 8, f"t{n % 5}", n % 2 == 0, date(2024, 1, 1 + n % 28)) for n in range(5000)
    ]
    expected = _fingerprint(tmp_path / "a", rows)
    assert _fingerprint(tmp_path / "b", rows[::-1]) == expected
    assert _fingerprint(tmp_path / "c", rows, key=bytes(32)) != expected
    assert _fingerprint(tmp_path / "d", [(*rows[0][:1], -0.0, *rows[0][2:]), *rows[1:]]) == expected, "-0.0 is 0"
    assert len({_fingerprint(tmp_path / f"e{n}", other) for n, other in enumerate(_others(rows))} - {expected}) == 7


def _others(rows: list[tuple[Any, ...]]) -> list[list[tuple[Any, ...]]]:
    n, x, t, b, d = rows[1]
    changed = [(n, x, t + ";", b, d), (n, None, t, b, d), (n, x, None, b, d), (n, x, t, None, d), (n, x, t, b, None)]
    return [rows[1:], [*rows, rows[0]], *([rows[0], one, *rows[2:]] for one in changed)]


def test_the_fingerprint_keeps_columns_and_records_apart(tmp_path: Path) -> None:
    pairs: list[list[tuple[Any, ...]]] = [
        [(1, None, "a", None, None), (None, 1.0, "b", None, None)],
        [(1, None, "b", None, None), (None, 1.0, "a", None, None)],
        [(None, 1.0, "a", None, None), (1, None, "b", None, None), (1, None, "b", None, None)],
        [(11, None, "a", None, None), (None, None, "b", None, None)],
        [(1, 1.0, "a", None, None), (None, None, "b", None, None)],
    ]
    assert len({_fingerprint(tmp_path / str(n), rows) for n, rows in enumerate(pairs)}) == len(pairs)


@pytest.mark.parametrize("kind", ["UHUGEINT", "BIGNUM"])
def test_a_number_that_cannot_be_read_exactly_is_refused_and_not_missing(tmp_path: Path, kind: str) -> None:
    file = tmp_path / "people.duckdb"
    with duckdb.connect(str(file)) as run:
        run.execute(f"CREATE TABLE people AS SELECT range::{kind} AS income, 'x' AS town FROM range(3)")
    with pytest.raises(DataUnavailable, match="income has a type that cannot be read exactly"):
        open_file(file, "duckdb", Reading({"income": "number"}))
    open_file(file, "duckdb", Reading({"town": "text"})).close()
