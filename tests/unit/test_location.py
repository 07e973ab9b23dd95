from __future__ import annotations

import sys

import pytest

from noiseledger.data.location import Location
from noiseledger.data.reading import Reading
from noiseledger.errors import MissingExtra


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
