"""A real PostgreSQL server, from the machine's packages, in a temporary folder."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from itertools import count

import psycopg
import pytest
from psycopg import Connection, sql

from engines.dataset import Dataset
from engines.servers import PASSWORD
from engines.suite import BooleanConformance, EngineConformance, Load, NotFiniteConformance
from noiseledger.core.query import Column, Query
from noiseledger.data import Source, Table
from noiseledger.data.commitment import Commitment
from noiseledger.data.engines.postgres import open_postgres
from noiseledger.data.location import Location
from noiseledger.errors import DataMismatch, DataUnavailable

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


class TestPostgres(EngineConformance, BooleanConformance, NotFiniteConformance):
    @pytest.fixture(scope="class")
    @classmethod
    def load(cls, postgres: str, owner: Connection) -> Load:
        numbers = count()

        def load(data: Dataset) -> Source:
            name = sql.Identifier(f"people{next(numbers)}")
            columns = [
                sql.SQL("{} {}").format(sql.Identifier(column), sql.SQL(_TYPES[kind]))
                for column, kind in data.types.items()
            ]
            owner.execute(sql.SQL("CREATE TABLE {} ({})").format(name, sql.SQL(", ").join(columns)))
            with owner.cursor() as cursor, cursor.copy(sql.SQL("COPY {} FROM STDIN").format(name)) as copy:
                for row in data.rows:
                    copy.write_row(row)
            return open_postgres(postgres, f"public.{name.as_string()[1:-1]}")

        return load


def test_decimals_are_the_nearest_doubles(postgres: str, owner: Connection) -> None:
    given = [
        "0.1",
        "NaN",
        "Infinity",
        "-Infinity",
        "1e400",
        "-1e400",
        "1e-400",
        "2.675",
        "12345678901234567890.5",
        None,
    ]
    owner.execute("CREATE TABLE decimals (x numeric, y numeric(20, 3), z real)")
    for value in given:
        owner.execute("INSERT INTO decimals (x) VALUES (%s::numeric)", [value])
    owner.execute("UPDATE decimals SET y = x, z = x WHERE x IN (0.1, 2.675)")
    reference = Table({"x": None if value is None else float(value)} for value in given)
    with closing(open_postgres(postgres, "decimals")) as source:
        columns = [Column.of("x", -100, 100, grid, missing=0) for grid in ("1", "0.01", "0.1")]
        for query in [*map(Query.sum, columns), Query.count("x = 0.1"), Query.count("x = 0"), Query.count("x > 5")]:
            assert list(source.totals(query)) == list(reference.totals(query))
        assert source.totals(Query.count("y = 2.675")) == [1]
        assert source.totals(Query.count("y IS NULL")) == [len(given) - 2]
        assert source.totals(Query.count("z = 0.1")) == [0], "a real is not the decimal that it prints as"
        records = [{"x": record["x"]} for record in source.records()]
        assert Commitment(records, bytes(32)).root == Commitment(reference.records(), bytes(32)).root


def test_what_a_table_makes_of_text_does_not_matter(postgres: str, owner: Connection) -> None:
    owner.execute("CREATE COLLATION blurred (provider = icu, locale = 'und-u-ks-level2', deterministic = false)")
    owner.execute("CREATE TYPE size AS ENUM ('small', 'large')")
    owner.execute("CREATE TABLE texts (padded char(6), blurred text COLLATE blurred, size size, short varchar(9))")
    owner.execute("INSERT INTO texts VALUES ('Ulm', 'ULM', 'small', 'Ulm ')")
    with closing(open_postgres(postgres, "texts")) as source:
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
        with closing(open_postgres(postgres, "days")) as source:
            assert next(source.records()) == {"day": "2024-02-29", "x": 0.1 + 0.2}
            assert source.totals(Query.count("day = '2024-02-29'")) == [1]
    finally:
        owner.execute("ALTER ROLE owner RESET ALL")


def test_what_is_no_value_of_ours_is_named_and_refused(postgres: str, owner: Connection) -> None:
    owner.execute("CREATE TABLE others (n int, at timestamp, tags text[])")
    owner.execute("INSERT INTO others VALUES (1, now(), '{secret}')")
    with closing(open_postgres(postgres, "others")) as source:
        assert source.totals(Query.count("n = 1")) == [1]
        with pytest.raises(DataMismatch, match=r"at, tags.*leave it out with a view") as caught:
            list(source.records())
        assert "secret" not in str(caught.value)


def test_a_view_in_another_schema_is_read(postgres: str, owner: Connection) -> None:
    owner.execute('CREATE SCHEMA "my study"')
    owner.execute('CREATE VIEW "my study"."the people" AS SELECT n, n::text AS t FROM generate_series(1, 5) AS n')
    with closing(open_postgres(postgres, "my study.the people")) as source:
        assert (source.rows, list(source.columns)) == (5, ["n", "t"])


def test_nothing_can_be_written(postgres: str, owner: Connection) -> None:
    owner.execute("CREATE TABLE kept (n int)")
    source = open_postgres(postgres, "kept")
    with pytest.raises(psycopg.errors.ReadOnlySqlTransaction):
        source._engine.raw_sql("INSERT INTO kept VALUES (1)")
    source.close()


def test_a_server_that_goes_away_is_said_without_a_value(postgres: str, owner: Connection) -> None:
    owner.execute("CREATE TABLE gone (n int)")
    source = open_postgres(postgres, "gone")
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
        open_postgres(postgres.replace(*change, 1), table)
    assert "ss" not in str(caught.value).replace("password", "")


def test_a_password_from_the_environment_may_have_any_letters(
    postgres: str, owner: Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    owner.execute("CREATE TABLE IF NOT EXISTS one (n int)")
    url = postgres.replace("p%40ss%2Fw%3Ard", "${DATA_PASSWORD}")
    place = Location("postgres", url, "one")
    monkeypatch.setenv("DATA_PASSWORD", PASSWORD)
    place.open().close()
    monkeypatch.delenv("DATA_PASSWORD")
    with pytest.raises(DataUnavailable, match=r"no variable DATA_PASSWORD"):
        place.open()
