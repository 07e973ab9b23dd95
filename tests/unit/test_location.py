from __future__ import annotations

import sys
from pathlib import Path

import pytest

from noiseledger.data.location import Location
from noiseledger.data.reading import Reading
from noiseledger.errors import InvalidInput, MissingExtra


@pytest.mark.parametrize(
    ("location", "module"),
    [
        (Location("postgres", "postgresql://localhost/x", "people"), "psycopg"),
        (Location("mongodb", "mongodb://localhost/x", "people"), "pymongo"),
        (Location("spark", "people.csv"), "py4j"),
    ],
)
def test_a_library_that_is_not_installed_is_named(
    location: Location, module: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    loaded = [name for name in sys.modules if name.partition(".")[0] == module]
    for name in [*loaded, f"noiseledger.data.engines.{location.engine}"]:
        monkeypatch.delitem(sys.modules, name, raising=False)
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(MissingExtra, match=rf"pip install 'noiseledger\[{location.engine}\]'"):
        location.open(Reading())


@pytest.mark.parametrize(
    ("source", "words"),
    [
        ({"url": "mysql://host/study"}, r"must start with postgresql:// or mongodb://, not mysql://\.$"),
        ({"url": "hunter2@host/study"}, r"must start with postgresql:// or mongodb://\.$"),
        ({"url": "reader:hunter2://host"}, r"must start with postgresql:// or mongodb://\.$"),
        ({"url": "postgres"}, r"must start with postgresql:// or mongodb://\.$"),
        ({"url": "mongodb://host/study", "engine": "postgres"}, r'^engine = "postgres" does not fit .* mongodb://: '),
        ({"url": "postgres://host/study", "engine": "duckdb"}, r'^engine = "duckdb" does not fit .* postgres://: '),
        (
            {"url": "postgres://host/study", "engine": "mysql"},
            "must be one of duckdb, postgres, spark, mongodb, not 'mysql'",
        ),
        ({"file": "people.csv", "engine": "mongodb"}, "Files can be read by duckdb or spark, not by mongodb"),
    ],
)
def test_an_engine_and_a_location_that_do_not_fit_are_refused(source: dict[str, str], words: str) -> None:
    with pytest.raises(InvalidInput, match=words):
        Location.of(source | {"table": "people"}, Path())


@pytest.mark.parametrize("scheme", ["postgresql", "postgres"])
def test_a_url_chooses_its_engine(scheme: str) -> None:
    for engine in ({}, {"engine": "postgres"}):
        assert Location.of({"url": f"{scheme}://host/study", "table": "people", **engine}, Path()).engine == "postgres"
    assert Location.of({"url": "mongodb+srv://host/study", "table": "people"}, Path()).engine == "mongodb"


@pytest.mark.parametrize(
    "source",
    [{"url": "postgresql//me:SECRET@host/db"}, {"url": "postgresql:/me:SECRET@host/db"}, {"url": "me:SECRET@host://"}]
    + [{"file": "postgresql://me:SECRET@host/db", "format": "csv"}],
)
def test_a_place_that_is_mistyped_is_not_quoted(source: dict[str, str]) -> None:
    with pytest.raises(InvalidInput) as caught:
        Location.of(source | {"table": "people"}, Path())
    assert "SECRET" not in str(caught.value)


def test_a_place_is_shown_without_its_password() -> None:
    place = Location.of({"url": "postgresql://me:SECRET@host/db?password=SECRET", "table": "people"}, Path())
    assert str(place) == "postgresql://host/db people"
    assert "SECRET" not in repr(place)
    # Whatever the password contains; and no engine accepts a slash in one.
    for password in ("SE?RET", "SE@RET", "SE/RET"):
        place = Location.of({"url": f"postgresql://me:{password}@host/db", "table": "people"}, Path())
        for shown in (str(place), place.normal):
            assert "SE" not in shown
            assert "RET" not in shown


def normal(url: str, table: str = "people") -> str:
    return Location.of({"url": url, "table": table}, Path()).normal


@pytest.mark.parametrize(
    "url",
    [
        "postgresql://localhost:5432/study",
        "postgres://127.0.0.1/study",
        "postgresql://[::1]/study",
        "postgresql:///study",
        "postgresql://ann:pw@LOCALHOST/study?sslmode=require&application_name=a",
        "postgresql://$PLACE_USER:$PLACE_PASSWORD@localhost/$PLACE_BASE",
        "postgresql://?host=localhost&port=5432&dbname=study",
        "postgresql:///study?host=/var/run/postgresql",
        "postgresql://%2Fvar%2Frun/study",
        "postgresql://study@localhost",
    ],
)
def test_one_table_of_a_server_has_one_name(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in (("USER", "bea"), ("PASSWORD", "p/@?w"), ("BASE", "study")):
        monkeypatch.setenv(f"PLACE_{name}", value)
    for table in ("people", "public.people"):
        assert normal(url, table) == "postgres://localhost:5432/study people"


def test_other_servers_databases_and_tables_have_other_names() -> None:
    urls = [
        "//db/study",
        "//localhost:5433/study",
        "//localhost/other",
        "//localhost/study",
        "//a,b/study",
        "//a/study",
    ]
    assert len({normal(f"postgresql:{url}") for url in urls}) == len(urls)
    assert normal("postgresql://db/study", "old.people") != normal("postgresql://db/study")
    assert normal("postgresql://b,a:5432/study") == normal("postgresql://a,b/study")


def test_a_collection_of_a_server_has_one_name() -> None:
    assert normal("mongodb://ann:pw@localhost/study?authSource=admin") == normal("mongodb://127.0.0.1:27017/study")
    assert normal("mongodb+srv://db.example/study") != normal("mongodb://db.example/study")
    assert normal("mongodb://localhost/study", "public.people") != normal("mongodb://localhost/study")
