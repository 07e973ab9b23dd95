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
