"""The location of the data: a file or a server, and the engine that reads it.

>>> Location.of({"file": "people.csv"}, Path("study")).place
'study/people.csv'
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any
from urllib.parse import quote

from noiseledger.data.delimited import Dialect
from noiseledger.data.formats import FORMATS, Format, format_by_name
from noiseledger.data.reading import Reading
from noiseledger.data.small import open_small
from noiseledger.data.source import Source
from noiseledger.errors import DataUnavailable, InvalidInput, MissingExtra
from noiseledger.extras import missing

KEYS = ("file", "url", "table", "engine", "format", "delimiter", "quote", "encoding", "header", "decimal", "missing")
_TEXTS = ("file", "url", "table", "engine", "format", "delimiter", "quote", "encoding", "decimal")
#: Keys for text files only.
_OF_TEXT_FILES = tuple(key.name for key in fields(Dialect))
ENGINES = ("duckdb", "postgres", "spark", "mongodb")
_SCHEMES = {"postgresql": "postgres", "postgres": "postgres", "mongodb": "mongodb", "mongodb+srv": "mongodb"}


@dataclass(frozen=True)
class Location:
    """The location of a table. It may contain environment variables, such as $PASSWORD, which are filled in on opening."""

    engine: str
    place: str = field(repr=False)
    table: str | None = None
    #: The format of a file, and the dialect of a text file.
    format: Format = "csv"
    dialect: Dialect = field(default_factory=Dialect)

    @classmethod
    def of(cls, given: Mapping[str, Any], folder: Path) -> Location:
        """Read the [source] of a catalogue; files are relative to its folder."""
        for key in _TEXTS:
            if not isinstance(given.get(key, ""), str):
                raise InvalidInput(f"{key} must be text, not {given[key]!r}.")
        file, url, table, engine = (given.get(key) for key in ("file", "url", "table", "engine"))
        if (file is None) == (url is None):
            raise InvalidInput(
                'The source needs a location: file = "people.csv", or url = "postgresql://host/database".'
            )
        if engine is not None and engine not in ENGINES:
            raise InvalidInput(f"The engine must be one of {', '.join(ENGINES)}, not {engine!r}.")
        if file is not None:
            if "://" in file:
                raise InvalidInput("file must be the name of a file: for a server, write url = instead of file =.")
            if engine not in (None, "duckdb", "spark"):
                raise InvalidInput(f"Files can be read by duckdb or spark, not by {engine}: remove the engine.")
            if engine == "spark" and table is not None:
                raise InvalidInput(f"A file read by spark is a single table: remove table = {table!r}.")
            return cls(engine or "duckdb", str(folder / file), table, *_written(given, folder / file, engine))
        for key in ("format", *_OF_TEXT_FILES):
            if key in given:
                raise InvalidInput(f"{key} is only for files: remove it.")
        return cls._server(str(url), table, engine)

    @classmethod
    def _server(cls, url: str, table: str | None, engine: str | None) -> Location:
        scheme, mark, _ = url.partition("://")
        found = _SCHEMES.get(scheme) if mark else None
        if found is None or engine not in (None, found):
            # Where the scheme is mistyped, the rest may be taken for it, with the password.
            given = f", not with {scheme}://" if mark and re.fullmatch("[a-z+]{1,20}", scheme) else ""
            raise InvalidInput(f"The url must start with postgresql:// or mongodb://{given}.")
        if table is None:
            raise InvalidInput('Name the table, or collection: table = "people".')
        return cls(found, url, table)

    def open(self, reading: Reading) -> Source:
        """Open the data, to be read as declared; the engine's library is loaded only now."""
        try:
            return self._open(reading)
        except ModuleNotFoundError as error:
            extra = "custodian" if self.engine == "duckdb" else self.engine
            raise MissingExtra(f"To read from {self.engine},", extra, [str(error.name)]) from None

    def _open(self, reading: Reading) -> Source:
        # Imported late: each takes a second, and most people have only one of them.
        if self.engine == "postgres":
            from noiseledger.data.engines.postgres import open_postgres  # noqa: PLC0415

            return open_postgres(_filled_in(self.place), str(self.table), reading)
        if self.engine == "mongodb":
            from noiseledger.data.engines.mongodb import open_mongodb  # noqa: PLC0415

            return open_mongodb(_filled_in(self.place), str(self.table), reading)
        if self.engine == "spark":
            from noiseledger.data.engines.spark import open_spark  # noqa: PLC0415

            return open_spark(Path(self.place), self.format, reading, self.dialect)
        if missing("custodian"):
            return open_small(Path(self.place), self.format, reading, self.table, self.dialect)
        from noiseledger.data.engines.files import open_file  # noqa: PLC0415

        return open_file(Path(self.place), self.format, reading, self.table, self.dialect)

    def __str__(self) -> str:
        """Return the location without a password."""
        if "://" not in self.place:
            return self.place
        scheme, _, rest = self.place.partition("?")[0].partition("://")
        return f"{scheme}://{rest.rpartition('@')[2]} {self.table}"


def _written(given: Mapping[str, Any], file: Path, engine: str | None) -> tuple[Format, Dialect]:
    """Return the format and the dialect of a file: from the catalogue or from its name, never from its content."""
    said = given.get("format")
    if said is not None and said not in FORMATS:
        raise InvalidInput(f"The format must be one of {', '.join(FORMATS)}, not {said!r}.")
    # Data for Spark is usually a folder of Parquet files.
    form = said or ("parquet" if engine == "spark" and not file.suffix else format_by_name(file))
    found = [key for key in _OF_TEXT_FILES if key in given]
    if found and form != "csv":
        raise InvalidInput(f"{found[0]} is only for text files, but this file is {form}: remove it.")
    by_name = {"delimiter": "\t"} if file.suffix.lower() in (".tsv", ".tab") else {}
    return form, Dialect.of(by_name | dict(given))


def _filled_in(url: str) -> str:
    """Insert environment variables, escaped for a url: a password may contain any character."""

    def value(found: re.Match[str]) -> str:
        name = found[1] or found[2]
        if name not in os.environ:
            raise DataUnavailable(
                f"The url of the source uses the environment variable {name}, which is not set: set it."
            )
        return quote(os.environ[name], safe="")

    return re.sub(r"\$(?:(\w+)|\{(\w+)\})", value, url)
