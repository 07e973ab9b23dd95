"""Delimited text files such as CSV. How a line is split into fields is declared, never guessed.

A record is one line, and each line is split separately. A field that starts with a quote ends with one, blanks around the
quotes are ignored, and a quote inside is written twice; a quote anywhere else is an ordinary character. Line breaks inside
fields are refused: they cannot be distinguished from a quote that somebody forgot to close.

Why the promise holds: no record can absorb another, because none extends beyond its line; a file in which one would is
refused when it is opened, before anything is sold.
"""

from __future__ import annotations

import codecs
import re
import shlex
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields
from functools import cached_property
from pathlib import Path
from typing import Any

from noiseledger.data.hints import unreadable
from noiseledger.errors import DataUnavailable, InvalidInput

DELIMITERS = (",", ";", "\t", "|")
#: The supported encodings. Invalid bytes become the character U+FFFD, in that field alone.
ENCODINGS = ("utf-8", "utf-16", "latin-1", "windows-1252", "iso-8859-15", "cp850")
_MARKS = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)


@dataclass(frozen=True)
class Dialect:
    """The dialect of a delimited text file."""

    delimiter: str = ","
    quote: str = '"'
    encoding: str = "utf-8"
    #: Whether the first line contains the column names; otherwise they are column_1, column_2 and so on.
    header: bool = True

    @classmethod
    def of(cls, given: Mapping[str, Any]) -> Dialect:
        """Read the dialect from a catalogue, with defaults for the rest."""
        return cls(**{key.name: given[key.name] for key in fields(cls) if key.name in given})

    def __post_init__(self) -> None:
        """Refuse unsupported settings."""
        if self.delimiter not in DELIMITERS:
            choices = ", ".join(map(repr, DELIMITERS))
            raise InvalidInput(f"The delimiter must be one of {choices}, not {self.delimiter!r}.")
        if self.quote not in ('"', "'", ""):
            raise InvalidInput(f"The quote must be '\"', \"'\" or empty for none, not {self.quote!r}.")
        if self.encoding not in ENCODINGS:
            raise InvalidInput(f"The encoding must be one of {', '.join(ENCODINGS)}, not {self.encoding!r}.")
        if not isinstance(self.header, bool):
            raise InvalidInput(f"header must be true or false, not {self.header!r}.")

    def split(self, line: str) -> list[str] | None:
        """Split a line into its fields; None if a quote is not closed, or text follows a closing quote.

        >>> Dialect().split('61, "Ulm, Donau" ,5" pipe')
        ['61', 'Ulm, Donau', '5" pipe']
        """
        if not self.quote or self.quote not in line:
            return line.split(self.delimiter)
        found, position = [], 0
        while True:
            match = self._field.match(line, position)
            if match is None:
                return None
            quoted = match["quoted"]
            found.append(match["plain"] if quoted is None else quoted.replace(self.quote * 2, self.quote))
            position = match.end()
            if position == len(line):
                return found
            position += len(self.delimiter)

    @cached_property
    def _field(self) -> re.Pattern[str]:
        q, d = re.escape(self.quote), re.escape(self.delimiter)
        quoted = rf" *{q}(?P<quoted>(?:[^{q}]++|{q}{q})*+){q} *"
        return re.compile(rf"(?:{quoted}|(?! *{q})(?P<plain>[^{d}]*))(?={d}|\Z)", re.DOTALL)


def columns_of(file: Path, dialect: Dialect) -> list[str]:
    """Return the names of a file's columns; a column without a name is named by its position, such as column_1."""
    first = next(lines_of(file, dialect), None)
    if first is None or (not first[1] and dialect.header):
        where = f"{file} is empty" if first is None else f"{file}, line 1 is empty"
        raise DataUnavailable(f"{where}: expected a first line with the names of the columns.")
    names = dialect.split(first[1])
    if names is None:
        raise _bad_quote(file, 1)
    if dialect.header:
        _check_delimiter(file, first[1], names, dialect)
    places = [f"column_{place}" for place in range(1, len(names) + 1)]
    if not dialect.header:
        return places
    named = [name.strip(" ") or place for name, place in zip(names, places, strict=True)]
    nul = next((place + 1 for place, name in enumerate(named) if "\0" in name), None)
    if nul is not None:
        # Engines end a name there, or keep it: none of them could be compared with another.
        raise DataUnavailable(
            f"{file}, line 1: the name of column {nul} contains a NUL character, so the file is not {dialect.encoding} text: "
            f"if it is UTF-16, convert it ({conversion(file)}), otherwise rename the column."
        )
    for place, name in enumerate(named):
        same = [other + 1 for other, earlier in enumerate(named[:place]) if earlier.casefold() == name.casefold()]
        if same:
            raise DataUnavailable(
                f"{file}, line 1: the columns {same[0]} and {place + 1} have the same name (case is ignored): "
                "rename one of them."
            )
    return named


def records_of(file: Path, dialect: Dialect) -> Iterator[list[str]]:
    """Yield the fields of each record; refuse a file with a line that is not a record, and name the line.

    An empty line is a record if there is one column; otherwise it is skipped. Without a header it is refused instead: the first
    record says how many columns there are, and may not decide whether other lines are records. One extra empty field at the end
    of a line, which some programs write, is ignored.
    """
    width = len(columns_of(file, dialect))
    for number, line in lines_of(file, dialect):
        if number == 1 and dialect.header:
            continue
        if not line and width > 1:
            if dialect.header:
                continue
            raise DataUnavailable(
                f"{file}, line {number} is empty, and in a file without a header an empty line could be a record: remove it."
            )
        found = dialect.split(line)
        if found is None:
            raise _bad_quote(file, number)
        while len(found) > width and line.endswith(dialect.delimiter) and not found[-1]:
            found.pop()
        if len(found) != width:
            raise DataUnavailable(
                f"{file}, line {number}: expected {width} fields, as in the first line, but found {len(found)}. Remove the "
                f"line if it is not a record, such as a note below the table; put a field that contains "
                f"{dialect.delimiter!r} in quotes; if a field contains a line break, write the file as Parquet."
                + _with_decimal_commas(found, width, dialect)
            )
        yield found


def lines_of(file: Path, dialect: Dialect) -> Iterator[tuple[int, str]]:
    """Yield the lines with their numbers, without line endings."""
    encoding = {"utf-8": "utf-8-sig"}.get(dialect.encoding, dialect.encoding)
    codecs.lookup(encoding)
    try:
        # One extra byte in one record would change all characters and lines after it.
        size = file.stat().st_size if encoding == "utf-16" else 0
        if size % 2:
            raise DataUnavailable(
                f"{file} is not valid utf-16, which uses two bytes per character: a byte is missing, or there is one too many."
            )
        if size and _head(file) not in _MARKS:
            raise DataUnavailable(
                f"{file} is declared as utf-16 but has no byte order mark, so the order of its bytes is unknown: convert it "
                f'({conversion(file)}), and declare encoding = "utf-8".'
            )
        with file.open(encoding=encoding, errors="replace", newline="\n") as stream:
            for number, line in enumerate(stream, start=1):
                yield number, line.removesuffix("\n").removesuffix("\r")
    except OSError as error:
        raise unreadable(file, error) from None


def _head(file: Path) -> bytes:
    with file.open("rb") as stream:
        return stream.read(2)


def conversion(file: Path) -> str:
    """Return a command that converts UTF-16 to UTF-8; where a file has no byte order mark, its first bytes show the order."""
    head = _head(file)
    encoding = "UTF-16" if head in _MARKS else "UTF-16BE" if head.startswith(b"\0") else "UTF-16LE"
    new = file.with_name(f"{file.stem}-utf-8{file.suffix}")
    return f"iconv -f {encoding} -t UTF-8 {shlex.quote(str(file))} > {shlex.quote(str(new))}"


def _check_delimiter(file: Path, line: str, names: list[str], dialect: Dialect) -> None:
    """Refuse a single name that contains another delimiter, outside quotes: it would be a table of one useless column."""
    other = next((mark for mark in DELIMITERS if mark != dialect.delimiter and mark in line), None)
    if len(names) == 1 and other is not None and names[0] == line:
        shown = {"\t": "\\t"}.get(other, other)
        raise DataUnavailable(
            f"{file}, line 1: with the delimiter {dialect.delimiter!r} there is one column, but its name contains {other!r}. "
            f'If that separates the columns, write delimiter = "{shown}" in [source]; otherwise put the name in quotes.'
        )


def _with_decimal_commas(fields: list[str], width: int, dialect: Dialect) -> str:
    """Return a hint for a line with too many fields, some of which may be what follows a decimal comma."""
    if dialect.delimiter != "," or len(fields) <= width or not any(field.isdigit() for field in fields):
        return ""
    return (
        " If numbers have decimal commas, such as 1,5, write the file with semicolons (in R, write.csv2) and declare "
        'delimiter = ";" and decimal = ",".'
    )


def _bad_quote(file: Path, number: int) -> DataUnavailable:
    return DataUnavailable(
        f"{file}, line {number}: a quote is not closed in this line, or text follows a closing quote. A field may not "
        "contain a line break: correct the line, or write the file as Parquet."
    )
