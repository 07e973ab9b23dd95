"""One odd value, or one odd file: what attackers chose, and what it may not do to the records beside it."""

from __future__ import annotations

from contextlib import closing
from datetime import date, datetime
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from noiseledger.core.filters.condition import Kind
from noiseledger.core.groups import Bins, Keys
from noiseledger.core.query import Column, Query
from noiseledger.data import Table
from noiseledger.data.delimited import Dialect
from noiseledger.data.engines.files import open_file
from noiseledger.data.formats import Format
from noiseledger.data.reading import Reading
from noiseledger.errors import DataUnavailable


def _values(file: Path, form: Format, kind: Kind, dialect: Dialect | None = None) -> list[Any]:
    with closing(open_file(file, form, Reading({"n": kind}), dialect=dialect)) as source:
        return [record["n"] for record in source.records()]


def _duckdb(folder: Path, *statements: str) -> Path:
    with duckdb.connect(folder / "people.duckdb") as engine:
        for statement in statements:
            engine.execute(statement)
    return folder / "people.duckdb"


def test_one_byte_too_many_cannot_turn_the_records_after_it_into_others(tmp_path: Path) -> None:
    file = tmp_path / "people.csv"
    lines = "n\nUlm\n".encode("utf-16"), "Ulm\n".encode("utf-16-le") * 40
    file.write_bytes(b"".join(lines))
    assert _values(file, "csv", "text", Dialect(encoding="utf-16")) == ["Ulm"] * 41
    file.write_bytes(b"x".join(lines))
    with pytest.raises(DataUnavailable, match="utf-16"):
        open_file(file, "csv", Reading({"n": "text"}), dialect=Dialect(encoding="utf-16"))
    with pytest.raises(DataUnavailable, match="utf-16"):
        Table.read_csv(file, {"n": "text"}, Dialect(encoding="utf-16"))


def test_a_view_cannot_have_the_kinds_of_its_columns_guessed_from_all_records(tmp_path: Path) -> None:
    people = tmp_path / "people.csv"
    people.write_text("n\n" + "01067\n" * 40)
    file = _duckdb(tmp_path, f"CREATE VIEW people AS FROM read_csv('{people}')")
    with pytest.raises(DataUnavailable, match="CREATE TABLE"):
        open_file(file, "duckdb", Reading({"n": "text"}))


def test_no_text_is_null_by_its_looks(tmp_path: Path) -> None:
    file = tmp_path / "people.csv"
    odd = ["\x01\x02noiseledger\x02\x01", "NULL", "\\N", "\0"]
    file.write_text("n\n" + "".join(f"{text}\n" for text in odd))
    assert _values(file, "csv", "text") == odd


def test_a_column_may_have_any_name(tmp_path: Path) -> None:
    file = tmp_path / "people.csv"
    file.write_text("self,exprs\n1,2\n")
    with closing(open_file(file, "csv", Reading({"self": "number", "exprs": "number"}))) as source:
        assert list(source.records()) == [{"self": 1, "exprs": 2}]


@pytest.mark.parametrize("digits", [4, 38])
def test_decimals_below_one_are_read_as_elsewhere(tmp_path: Path, digits: int) -> None:
    given = [Decimal(0), Decimal("0.5"), Decimal("-0.5"), None]
    pq.write_table(pa.table({"n": pa.array(given, pa.decimal128(digits, digits))}), tmp_path / "people")
    for kind in ("number", "text", "flag"):
        expected = [record["n"] for record in Table([{"n": value} for value in given], {"n": kind}).records()]
        assert _values(tmp_path / "people", "parquet", kind) == expected


def test_decimals_that_duckdb_misreads_are_refused(tmp_path: Path) -> None:
    content = pa.array([Decimal(1)], pa.decimal256(60, 0))
    pq.write_table(pa.table({"n": content, "m": [5]}), tmp_path / "people")
    with pytest.raises(DataUnavailable, match=r"column n .* 38 digits"):
        open_file(tmp_path / "people", "parquet", Reading({"n": "number"}))
    with closing(open_file(tmp_path / "people", "parquet", Reading({"m": "number"}))) as source:
        assert list(source.records()) == [{"m": 5}]


@pytest.mark.parametrize("codes", [[], [Fraction(98)], [Fraction(5)]])
def test_not_a_number_is_missing_although_the_statistics_of_the_file_do_not_count_it(
    tmp_path: Path, codes: list[Fraction]
) -> None:
    """Arrow leaves NaN out of minimum and maximum: DuckDB took all values to lie within the bounds, and failed in a sum."""
    given = [98.0, 99.0, float("nan"), -0.0, None] * 9
    pq.write_table(pa.table({"n": pa.array(given, pa.float64())}), tmp_path / "people", row_group_size=5)
    reading = Reading({"n": "number"}, missing_codes={"n": frozenset(codes)} if codes else {})
    expected, column = Table([{"n": value} for value in given], reading), Column.of("n", 0, 100, "0.5", missing=7)
    queries = [Query.mean(column), Query.sum(column, "n < 99"), Query.sum(column, by=Bins.of("n", [0, 50, 1000]))]
    queries += [Query.count(where) for where in ("n > 1", "NOT (n > 99)", "n <> 5", "n IS NULL", "n IN (0, 98)")]
    with closing(open_file(tmp_path / "people", "parquet", reading)) as source:
        for query in queries:
            assert list(source.totals(query)) == list(expected.totals(query)), query


@pytest.mark.parametrize("view", [False, True])
@pytest.mark.parametrize("collation", ["NOCASE", "NOACCENT", "NFC", "NOCASE.NOACCENT", "de"])
def test_a_collation_merges_no_texts(collation: str, view: bool, tmp_path: Path) -> None:
    """Neither of a table nor of a view: each text is compared as it is stored, in filters, groups, codes and missing texts."""
    towns = ["Ulm", "ULM", "ulm", "Ulm", "\u00dclm", "U\u0308lm", "Ulm "]
    with duckdb.connect(tmp_path / "people") as run:
        run.execute(f"CREATE TABLE kept (t VARCHAR COLLATE {collation}, n INTEGER)")
        run.executemany("INSERT INTO kept VALUES (?, ?)", [(town, place) for place, town in enumerate(towns)])
        run.execute("CREATE VIEW people AS SELECT * FROM kept" if view else "ALTER TABLE kept RENAME TO people")
    reading = Reading(
        {"t": "text", "n": "number"}, missing=frozenset({"ulm"}), missing_codes={"t": frozenset({"Ulm "})}
    )
    expected = Table([{"t": town, "n": place} for place, town in enumerate(towns)], reading)
    queries = [Query.counts_by("t", ["Ulm", "ULM", "\u00dclm", "U\u0308lm"])]
    queries += [Query.count(where) for where in ("t = 'ULM'", "t <> 'Ulm'", "t IN ('Ulm', 'x')", "t IS NULL")]
    queries += [Query.sum(Column.of("n", 0, 9, missing=0), by=Keys.of("t", ["ULM", "Ulm"]))]
    with closing(open_file(tmp_path / "people", "duckdb", reading, "people")) as source:
        for query in queries:
            assert list(source.totals(query)) == list(expected.totals(query)), query


@pytest.mark.parametrize(
    ("kind", "code"), [("number", Fraction(1)), ("text", "1"), ("date", date(1970, 1, 1))], ids=str
)
def test_a_column_of_a_type_that_has_no_values_of_its_kind_may_have_codes(
    kind: Kind, code: Any, tmp_path: Path
) -> None:
    """All of it is missing, with codes as without."""
    reading = Reading({"n": kind}, missing_codes={"n": frozenset([code])})
    for column in (pa.array([0, 1], pa.timestamp("us", "UTC")), pa.array([b"1", b"2"]), pa.array([True, False])):
        pq.write_table(pa.table({"n": column}), tmp_path / "people")
        with closing(open_file(tmp_path / "people", "parquet", reading)) as source:
            assert source.totals(Query.count("n IS NULL")) == [2]


@pytest.mark.parametrize("kind", ["TIMESTAMP", "TIMESTAMP_S", "TIMESTAMP_MS", "TIMESTAMP_NS"])
def test_a_time_without_end_is_that_records_missing_value(tmp_path: Path, kind: str) -> None:
    times = "('infinity'), ('-infinity'), ('1969-12-31 23:59:59'), ('2024-02-29 00:00:00')"
    file = _duckdb(tmp_path, f"CREATE TABLE people (n {kind})", f"INSERT INTO people VALUES {times}")
    assert _values(file, "duckdb", "date") == [None, None, date(1969, 12, 31), date(2024, 2, 29)]


def test_a_moment_before_1970_is_not_rounded_to_the_next_day(tmp_path: Path) -> None:
    pq.write_table(pa.table({"n": pa.array([-1, 0], pa.timestamp("ns"))}), tmp_path / "people")
    assert _values(tmp_path / "people", "parquet", "date") == [date(1969, 12, 31), date(1970, 1, 1)]


def test_the_not_a_time_of_pandas_is_missing() -> None:
    class NotATime(datetime):
        """Is a datetime, equals nothing, and has itself for its day."""

        __hash__ = None  # type: ignore[assignment]

        def __ne__(self, other: object) -> bool:
            return True

        def date(self) -> Any:
            return self

    records: list[dict[str, object]] = [{"n": NotATime(1, 1, 1)}, {"n": datetime(2024, 2, 29)}]
    assert [r["n"] for r in Table(records, {"n": "date"}).records()] == [None, date(2024, 2, 29)]
