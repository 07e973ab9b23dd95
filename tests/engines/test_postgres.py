"""A real PostgreSQL server, from the machine's packages, in a temporary folder."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import closing
from datetime import date
from decimal import Decimal
from itertools import count

import psycopg
import pytest
from psycopg import Connection, sql

from engines.dataset import Dataset
from engines.law import READING, Law, RawRecord, Store
from engines.servers import PASSWORD
from engines.suite import EngineConformance, Load, same_records
from noiseledger.core.filters.condition import Kind
from noiseledger.core.query import Query
from noiseledger.data import Source, Table
from noiseledger.data.engines.postgres import open_postgres
from noiseledger.data.location import Location
from noiseledger.data.reading import KINDS, Reading
from noiseledger.errors import DataUnavailable

#: For names, in the whole module: pytest makes the fixtures of a class anew when it comes back to the class.
FRESH = count()
_TYPES = {
    "whole": "bigint",
    "double": "double precision",
    "text": "text",
    "boolean": "boolean",
    "date": "date",
    "mixed": "text",
}


@pytest.fixture(scope="module")
def owner(postgres: str) -> Iterator[Connection]:
    with psycopg.connect(postgres, autocommit=True) as connection:
        yield connection


class TestPostgres(EngineConformance):
    @pytest.fixture(scope="class")
    @classmethod
    def load(cls, postgres: str, owner: Connection) -> Load:
        def load(data: Dataset) -> Source:
            name = sql.Identifier(f"people{next(FRESH)}")
            columns = [
                sql.SQL("{} {}").format(sql.Identifier(column), sql.SQL(_TYPES[kind]))
                for column, kind in data.types.items()
            ]
            owner.execute(sql.SQL("CREATE TABLE {} ({})").format(name, sql.SQL(", ").join(columns)))
            with owner.cursor() as cursor, cursor.copy(sql.SQL("COPY {} FROM STDIN").format(name)) as copy:
                for row in data.rows:
                    copy.write_row(row)
            return open_postgres(postgres, f"public.{name.as_string()[1:-1]}", data.reading)

        return load


class TestLaw(Law):
    pairs = 8

    @pytest.fixture(scope="class")
    @classmethod
    def store(cls, postgres: str, owner: Connection) -> Store:
        def store(records: Sequence[RawRecord]) -> Source:
            name = f"law{next(FRESH)}"
            owner.execute(
                sql.SQL("CREATE TABLE {} (n text, x text, t text, b text, d text)").format(sql.Identifier(name))
            )
            with (
                owner.cursor() as cursor,
                cursor.copy(sql.SQL("COPY {} FROM STDIN").format(sql.Identifier(name))) as copy,
            ):
                for record in records:
                    copy.write_row([record[name] for name in READING.kinds])
            return open_postgres(postgres, name, READING)

        return store


NUMBERS = [
    "0.1",
    "NaN",
    "Infinity",
    "-Infinity",
    "1e400",
    "-1e400",
    "1e-400",
    "2.4701e-324",
    "2.4703282292062327e-324",
    "2.4703282292062328e-324",
    "1.7976931348623158e308",
    "1.7976931348623159e308",
    "2.675",
    "9007199254740993",
    "12345678901234567890.5",
    "99999999999999999999999999999999999999",
    "100000000000000000000000000000000000000",
    "1.0000000000000000000000001",
    "1",
    "0",
    None,
]


@pytest.mark.parametrize("kind", KINDS)
def test_decimals_are_read_as_by_the_rule(postgres: str, owner: Connection, kind: Kind) -> None:
    owner.execute("CREATE TABLE IF NOT EXISTS decimals (x numeric)")
    owner.execute("TRUNCATE decimals")
    for value in NUMBERS:
        owner.execute("INSERT INTO decimals VALUES (%s::numeric)", [value])
    reference = Table(({"x": None if value is None else Decimal(value)} for value in NUMBERS), {"x": kind})
    with closing(open_postgres(postgres, "decimals", Reading({"x": kind}))) as source:
        assert same_records(source, reference)


def test_a_number_reads_alike_whatever_the_type_of_its_column(postgres: str, owner: Connection) -> None:
    owner.execute("CREATE TABLE alike (a text, b numeric, c numeric(20, 3), d double precision, e real, f char(9))")
    owner.execute(
        "INSERT INTO alike SELECT s, s::numeric, s::numeric, s::float8, s::real, s FROM unnest(%s::text[]) AS s",
        [["0.5", "-0", "0016", "4.125"]],
    )
    for name in "abcdef":
        with closing(open_postgres(postgres, "alike", Reading({name: "number"}))) as source:
            assert [record[name] for record in source.records()] == [0.5, 0, 16, 4.125]


def test_what_a_table_makes_of_text_does_not_matter(postgres: str, owner: Connection) -> None:
    owner.execute("CREATE COLLATION blurred (provider = icu, locale = 'und-u-ks-level2', deterministic = false)")
    owner.execute("CREATE TYPE size AS ENUM ('small', 'large')")
    owner.execute("CREATE TABLE texts (padded char(6), blurred text COLLATE blurred, size size, short varchar(9))")
    owner.execute("INSERT INTO texts VALUES ('Ulm', 'ULM', 'small', 'Ulm ')")
    reading = Reading(dict.fromkeys(("padded", "blurred", "size", "short"), "text"))
    with closing(open_postgres(postgres, "texts", reading)) as source:
        assert next(source.records()) == {"padded": "Ulm", "blurred": "ULM", "size": "small", "short": "Ulm "}
        conditions = {
            "padded = 'Ulm'": 1,
            "blurred = 'ulm'": 0,
            "size = 'small'": 1,
            "size = 'none'": 0,
            "short = 'Ulm'": 0,
        }
        for condition, times in conditions.items():
            assert source.totals(Query.count(condition)) == [times]


def test_dates_and_digits_do_not_depend_on_the_accounts_settings(postgres: str, owner: Connection) -> None:
    owner.execute("CREATE TABLE days (day date, x double precision)")
    owner.execute("INSERT INTO days VALUES ('2024-02-29', 0.1::float8 + 0.2::float8)")
    owner.execute("ALTER ROLE owner SET datestyle = 'German'")
    owner.execute("ALTER ROLE owner SET extra_float_digits = 0")
    try:
        with closing(open_postgres(postgres, "days", Reading({"day": "date", "x": "number"}))) as source:
            assert next(source.records()) == {"day": date(2024, 2, 29), "x": 0.1 + 0.2}
            assert source.totals(Query.count("day = DATE '2024-02-29'")) == [1]
    finally:
        owner.execute("ALTER ROLE owner RESET ALL")


def test_how_long_a_query_takes_does_not_decide_whether_it_is_answered(postgres: str, owner: Connection) -> None:
    owner.execute("CREATE VIEW slow AS SELECT 1 AS n FROM pg_sleep(0.6)")
    owner.execute("ALTER ROLE owner SET statement_timeout = '500ms'")
    try:
        with closing(open_postgres(postgres, "slow", Reading({"n": "number"}))) as source:
            assert source.totals(Query.count("n = 1")) == [1]
    finally:
        owner.execute("ALTER ROLE owner RESET ALL")


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_no_value_of_ours_is_missing(postgres: str, owner: Connection, kind: Kind) -> None:
    owner.execute(
        "CREATE TABLE IF NOT EXISTS others (at timestamptz, tags text[], sum money, raw bytea, doc jsonb, t time)"
    )
    owner.execute("TRUNCATE others")
    owner.execute("INSERT INTO others VALUES (now(), '{1}', 1, '1', '1', '10:00')")
    reading = Reading(dict.fromkeys(("at", "tags", "sum", "raw", "doc", "t"), kind))
    with closing(open_postgres(postgres, "others", reading)) as source:
        assert set(next(source.records()).values()) == {None}


def test_dates_without_an_end_and_before_christ_are_missing(postgres: str, owner: Connection) -> None:
    owner.execute("CREATE TABLE ends (d date, t timestamp, n int)")
    for day in ("infinity", "-infinity", "0044-03-15 BC", "10000-01-01", "0001-01-01", "9999-12-31"):
        owner.execute("INSERT INTO ends VALUES (%s, %s)", [day, day])
    with closing(open_postgres(postgres, "ends", Reading({"d": "date", "t": "date"}))) as source:
        found = sorted((record["d"], record["t"]) for record in source.records() if record["d"] or record["t"])
        assert found == [(date(1, 1, 1),) * 2, (date(9999, 12, 31),) * 2]


def test_a_view_that_fails_at_one_record_is_refused_when_it_is_opened(postgres: str, owner: Connection) -> None:
    owner.execute("CREATE VIEW fails AS SELECT n, 1 / (n - 3) AS x FROM generate_series(1, 5) AS n")
    with pytest.raises(
        DataUnavailable, match=r"The column x has a value that the engine cannot read \(DivisionByZero\)"
    ):
        open_postgres(postgres, "fails", Reading({"n": "number", "x": "number"}))
    open_postgres(postgres, "fails", Reading({"n": "number"})).close()


def test_a_view_in_another_schema_is_read(postgres: str, owner: Connection) -> None:
    owner.execute('CREATE SCHEMA "my study"')
    owner.execute('CREATE VIEW "my study"."the people" AS SELECT n, n::text AS t FROM generate_series(1, 5) AS n')
    with closing(open_postgres(postgres, "my study.the people", Reading({"t": "text"}))) as source:
        assert (source.rows, list(source.kinds)) == (5, ["t"])


def test_nothing_can_be_written(postgres: str, owner: Connection) -> None:
    owner.execute("CREATE TABLE kept (n int)")
    source = open_postgres(postgres, "kept", Reading({"n": "number"}))
    with pytest.raises(psycopg.errors.ReadOnlySqlTransaction):
        source._engine.raw_sql("INSERT INTO kept VALUES (1)")
    source.close()


def test_a_server_that_goes_away_is_said_without_a_value(postgres: str, owner: Connection) -> None:
    owner.execute("CREATE TABLE gone (n int)")
    source = open_postgres(postgres, "gone", Reading({"n": "number"}))
    owner.execute(
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid() AND state = 'idle'"
    )
    with pytest.raises(DataUnavailable, match="engine failed"):
        source.totals(Query.count())


@pytest.mark.parametrize(
    ("change", "table", "hint"),
    [
        (("127.0.0.1:", "127.0.0.1:1"), "people", "check host, port, database, user and password"),
        (("p%40ss", "wr%40ng"), "people", "check host, port, database, user and password"),
        (("/postgres", "/nothing"), "people", "check host, port, database, user and password"),
        (("://owner:", "://owner:%zz"), "people", "check host, port, database, user and password"),
        (("", ""), "absent", "absent cannot be read .*: check its name"),
        (("", ""), 'x"; DROP TABLE people; --', "cannot be read .*: check its name"),
    ],
)
def test_what_cannot_be_opened_is_said_without_the_password(
    postgres: str, change: tuple[str, str], table: str, hint: str
) -> None:
    with pytest.raises(DataUnavailable, match=hint) as caught:
        open_postgres(postgres.replace(*change, 1), table, Reading())
    assert "ss" not in str(caught.value).replace("password", "")


def test_a_password_from_the_environment_may_have_any_letters(
    postgres: str, owner: Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    owner.execute("CREATE TABLE IF NOT EXISTS one (n int)")
    url = postgres.replace("p%40ss%2Fw%3Ard", "${DATA_PASSWORD}")
    place = Location("postgres", url, "one")
    monkeypatch.setenv("DATA_PASSWORD", PASSWORD)
    place.open(Reading({"n": "number"})).close()
    monkeypatch.delenv("DATA_PASSWORD")
    with pytest.raises(DataUnavailable, match=r"variable DATA_PASSWORD, which is not set"):
        place.open(Reading({"n": "number"}))
