"""The location of the data: a file or a server, and the engine that reads it.

>>> Location.of({"file": "people.csv"}, Path("study")).place
'study/people.csv'
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any
from urllib.parse import quote

from noiseledger.data.delimited import Dialect
from noiseledger.data.formats import FORMATS, Format, format_by_name
from noiseledger.data.reading import Reading
from noiseledger.data.server_place import server_place, split
from noiseledger.data.small import open_small
from noiseledger.data.source import Source
from noiseledger.errors import DataUnavailable, InvalidInput, MissingExtra
from noiseledger.extras import missing

KEYS = ("file", "url", "table", "engine", "format", "delimiter", "quote", "encoding", "header", "decimal", "missing")
_TEXTS = ("file", "url", "table", "engine", "format", "delimiter", "quote", "encoding", "decimal")
#: Keys for text files only.
_OF_TEXT_FILES = tuple(key.name for key in fields(Dialect))
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*")
#: An environment variable in a url.
_VARIABLE = re.compile(r"\$(?:(\w+)|\{(\w+)\})")


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
            of_files = [name for name, known in ENGINES.items() if not known.schemes]
            if engine not in (None, *of_files):
                raise InvalidInput(f"Files can be read by {' or '.join(of_files)}, not by {engine}: remove the engine.")
            if engine == "spark" and table is not None:
                raise InvalidInput(f"A file that Spark reads is a single table: remove table = {table!r}.")
            return cls(engine or "duckdb", str(folder / file), table, *_written(given, folder / file, engine))
        for key in ("format", *_OF_TEXT_FILES):
            if key in given:
                raise InvalidInput(f"{key} is only for files: remove it.")
        return cls._server(str(url), table, engine)

    @classmethod
    def _server(cls, url: str, table: str | None, engine: str | None) -> Location:
        scheme, separator, _ = url.partition("://")
        found = next((name for name, known in ENGINES.items() if scheme in known.schemes), None)
        if found is None or not separator:
            # What is not a scheme is not shown: in a url without one, the beginning may be a password.
            instead = f", not {scheme}://" if separator and _SCHEME.fullmatch(scheme) else ""
            expected = " or ".join(f"{known.schemes[0]}://" for known in ENGINES.values() if known.schemes)
            raise InvalidInput(f"The url must start with {expected}{instead}.")
        if engine not in (None, found):
            raise InvalidInput(
                f'engine = "{engine}" does not fit the url, which starts with {scheme}://: remove the engine, or correct the '
                "url."
            )
        if table is None:
            raise InvalidInput('Name the table, or collection: table = "people".')
        return cls(found, url, table)

    def open(self, reading: Reading) -> Source:
        """Open the data, to be read as declared; the engine's library is loaded only now."""
        engine = ENGINES[self.engine]
        try:
            return engine.open(self, reading)
        except ModuleNotFoundError as error:
            raise MissingExtra(f"To read from {self.engine},", engine.extra, [str(error.name)]) from None

    def __str__(self) -> str:
        """Return the location without a password."""
        if "://" not in self.place:
            return self.place
        scheme, _, rest = self.place.partition("://")
        _, server, _ = split(rest)
        return f"{scheme}://{server} {self.table}"

    @property
    def normal(self) -> str:
        """The same text for the same table, however it was written: relative, through a link, or with another user."""
        if "://" in self.place:
            return server_place(self.engine, _VARIABLE.sub(_value_or_name, self.place), str(self.table))
        file, table = str(Path(self.place).resolve()), self.table_read
        return file if table is None else f"{file} {table}"

    @property
    def table_read(self) -> str | None:
        """The table that is read: the named one, or else the only one of a database file; None where there are no tables."""
        if self.table is not None or "://" in self.place or self.format not in ("duckdb", "sqlite"):
            return self.table
        from noiseledger.data.engines.files import only_table  # noqa: PLC0415 - takes a second

        return only_table(Path(self.place), self.format)


def _written(given: Mapping[str, Any], file: Path, engine: str | None) -> tuple[Format, Dialect]:
    """Return the format and the dialect of a file: from the catalogue or from its name, never from its content."""
    said = given.get("format")
    if said is not None and said not in FORMATS:
        raise InvalidInput(f"The format must be one of {', '.join(FORMATS)}, not {said!r}.")
    # Data for Spark is usually a folder of Parquet files.
    form = said or ("parquet" if engine == "spark" and not file.suffix else format_by_name(file))
    found = [key for key in _OF_TEXT_FILES if key in given]
    if found and form != "csv":
        raise InvalidInput(f"{found[0]} is only for text files, but this file is {form}: remove {found[0]}.")
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
        return _value_or_name(found)

    return _VARIABLE.sub(value, url)


def _value_or_name(found: re.Match[str]) -> str:
    """Return the value of an environment variable, escaped for a url, or as it is written if it is not set."""
    value = os.environ.get(found[1] or found[2])
    return found[0] if value is None else quote(value, safe="")


# The engines' modules are imported late: each takes a second, and most people have only one of them.


def _open_file(location: Location, reading: Reading) -> Source:
    file = Path(location.place)
    if missing("custodian"):
        return open_small(file, location.format, reading, location.table, location.dialect)
    from noiseledger.data.engines.files import open_file  # noqa: PLC0415

    return open_file(file, location.format, reading, location.table, location.dialect)


def _open_postgres(location: Location, reading: Reading) -> Source:
    from noiseledger.data.engines.postgres import open_postgres  # noqa: PLC0415

    return open_postgres(_filled_in(location.place), str(location.table), reading)


def _open_spark(location: Location, reading: Reading) -> Source:
    from noiseledger.data.engines.spark import open_spark  # noqa: PLC0415

    return open_spark(Path(location.place), location.format, reading, location.dialect)


def _open_mongodb(location: Location, reading: Reading) -> Source:
    from noiseledger.data.engines.mongodb import open_mongodb  # noqa: PLC0415

    return open_mongodb(_filled_in(location.place), str(location.table), reading)


@dataclass(frozen=True)
class Engine:
    """A program that computes totals where the data is: its extra in pyproject.toml, and how to open data with it."""

    extra: str
    open: Callable[[Location, Reading], Source]
    #: The schemes of its urls, the usual one first; an engine without any reads files.
    schemes: tuple[str, ...] = ()


#: Every engine, by its name in a catalogue. To add one, add it here, and its extra to pyproject.toml and extras.py.
ENGINES: Mapping[str, Engine] = {
    "duckdb": Engine("custodian", _open_file),
    "postgres": Engine("postgres", _open_postgres, ("postgresql", "postgres")),
    "spark": Engine("spark", _open_spark),
    "mongodb": Engine("mongodb", _open_mongodb, ("mongodb", "mongodb+srv")),
}
