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
