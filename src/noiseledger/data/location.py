"""Where the data is: a file or a server, and the engine that reads it there.

>>> Location.of({"file": "people.csv"}, Path("study"))
Location(engine='duckdb', place='study/people.csv', table=None)
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote

from noiseledger.data.source import Source
from noiseledger.errors import DataUnavailable, InvalidInput

KEYS = ("file", "url", "table", "engine")
ENGINES = ("duckdb", "postgres", "spark", "mongodb")
_SCHEMES = {"postgresql": "postgres", "postgres": "postgres", "mongodb": "mongodb", "mongodb+srv": "mongodb"}


@dataclass(frozen=True)
class Location:
    """A table somewhere. Its place may name environment variables, such as $PASSWORD, which are filled in on opening."""

    engine: str
    place: str
    table: str | None = None

    @classmethod
    def of(cls, fields: Mapping[str, Any], folder: Path) -> Location:
        """Read the [source] of a catalogue; files are relative to its folder."""
        for key, value in fields.items():
            if key in KEYS and not isinstance(value, str):
                raise InvalidInput(f"{key} must be text, not {value!r}.")
        file, url, table, engine = (fields.get(key) for key in KEYS)
        if (file is None) == (url is None):
            raise InvalidInput('Say where the data is: file = "people.csv", or url = "postgresql://host/database".')
        if engine is not None and engine not in ENGINES:
            raise InvalidInput(f"The engine must be one of {', '.join(ENGINES)}, not {engine!r}.")
        if file is not None:
            if engine not in (None, "duckdb", "spark"):
                raise InvalidInput(f"A file is read by duckdb or spark, not by {engine}: leave the engine out.")
            if engine == "spark" and table is not None:
                raise InvalidInput(f"A file read by spark is one table by itself: leave out table = {table!r}.")
            return cls(engine or "duckdb", str(folder / file), table)
        return cls._server(str(url), table, engine)

    @classmethod
    def _server(cls, url: str, table: str | None, engine: str | None) -> Location:
        scheme = url.partition("://")[0]
        found = _SCHEMES.get(scheme)
        if found is None or engine not in (None, found):
            raise InvalidInput(f"A url begins with postgresql:// or mongodb://, not {scheme}.")
        if table is None:
            raise InvalidInput('Name the table, or collection: table = "people".')
        return cls(found, url, table)

    def open(self) -> Source:
        """Open the data; the engine's library is loaded only now."""
        try:
            return self._open()
        except ModuleNotFoundError as error:
            raise DataUnavailable(
                f"To read from {self.engine}, Python's {error.name} is missing: pip install 'noiseledger[{self.engine}]'"
            ) from None

    def _open(self) -> Source:
        # Loaded late: each takes a second, and most people have one of them.
        if self.engine == "postgres":
            from noiseledger.data.engines.postgres import open_postgres  # noqa: PLC0415

            return open_postgres(_filled_in(self.place), str(self.table))
        if self.engine == "mongodb":
            from noiseledger.data.engines.mongodb import open_mongodb  # noqa: PLC0415

            return open_mongodb(_filled_in(self.place), str(self.table))
        if self.engine == "spark":
            from noiseledger.data.engines.spark import open_spark  # noqa: PLC0415

            return open_spark(Path(self.place))
        from noiseledger.data.engines.files import open_file  # noqa: PLC0415

        return open_file(Path(self.place), self.table)

    def __str__(self) -> str:
        """Say where, without a password."""
        if "://" not in self.place:
            return self.place
        scheme, _, rest = self.place.partition("?")[0].partition("://")
        return f"{scheme}://{rest.rpartition('@')[2]} {self.table}"


def _filled_in(url: str) -> str:
    """Put environment variables in, written as a url wants it: a password may have any letters."""

    def value(found: re.Match[str]) -> str:
        name = found[1] or found[2]
        if name not in os.environ:
            raise DataUnavailable(f"The environment has no variable {name}, which the url of the source names.")
        return quote(os.environ[name], safe="")

    return re.sub(r"\$(?:(\w+)|\{(\w+)\})", value, url)
