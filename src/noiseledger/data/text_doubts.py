"""Doubts about how a text file is declared: its encoding and its decimal mark, with the line where it shows.

Why the promise holds: as in :mod:`noiseledger.data.doubts`, these are for the custodian alone, and change nothing. They name
lines and columns, never values.
"""

from __future__ import annotations

import codecs
import re
import shlex
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

from noiseledger.data.catalogue import Catalogue
from noiseledger.data.delimited import columns_of, lines_of
from noiseledger.data.reading import NUMBER

#: Lines that are inspected: a wrong declaration shows early.
_LINES = 100_000
_LOST = "\ufffd"
_BYTES = 2**24


def text_doubts(catalogue: Catalogue) -> Iterator[str]:
    """Yield one or two sentences for each doubt about a text file."""
    location = catalogue.source
    if location.format != "csv" or "://" in location.place:
        return
    file, dialect = Path(location.place), location.dialect
    lines = list(islice(lines_of(file, dialect), _LINES))
    lost = [number for number, line in lines if _LOST in line]
    if lost and dialect.encoding == "utf-8":
        new = file.with_name(f"{file.stem}-utf-8{file.suffix}")
        yield (
            f"{file}, line {lost[0]}{_and_more(len(lost))}: there are bytes that are not UTF-8, so characters are lost. If the "
            'file is from Windows, write encoding = "windows-1252" in [source], or convert it: iconv -f WINDOWS-1252 -t UTF-8 '
            f"{shlex.quote(str(file))} > {shlex.quote(str(new))}"
        )
    if dialect.encoding not in ("utf-8", "utf-16") and _is_utf_8(file):
        yield (
            f"{file} is declared as {dialect.encoding}, but it is valid UTF-8 with letters beyond ASCII, which are read as "
            'others: write encoding = "utf-8" in [source].'
        )
    yield from _decimal_doubts(catalogue, file, [(n, fields) for n, line in lines if (fields := dialect.split(line))])


def _decimal_doubts(catalogue: Catalogue, file: Path, lines: list[tuple[int, list[str]]]) -> Iterator[str]:
    """Say which columns of numbers have values that are numbers with the other decimal mark only."""
    reading, dialect = catalogue.reading, catalogue.source.dialect
    names = columns_of(file, dialect)
    other = "," if reading.decimal == "." else "."
    number = re.compile(reading.number)
    with_other = re.compile(NUMBER.format(mark=f"[{other}]"))
    for place, name in enumerate(names):
        if reading.kinds.get(name) != "number":
            continue
        found = [
            line
            for line, fields in lines[dialect.header :]
            if len(fields) == len(names) and with_other.fullmatch(fields[place]) and not number.fullmatch(fields[place])
        ]
        if found:
            yield (
                f"{file}, line {found[0]}{_and_more(len(found))}: {name} is a number with the decimal mark {other!r}, but "
                f"{reading.decimal!r} is declared, so it is missing. If all numbers of the file are written like that, write "
                f'decimal = "{other}" in [source].'
            )


def _is_utf_8(file: Path) -> bool:
    """Return whether a file begins with UTF-8 that is not ASCII; text in another encoding hardly ever does."""
    with file.open("rb") as stream:
        head = stream.read(_BYTES)
    try:
        codecs.getincrementaldecoder("utf-8")().decode(head)  # the last character may be cut off
    except UnicodeDecodeError:
        return False
    return not head.isascii()


def _and_more(number: int) -> str:
    return "" if number == 1 else f" and {number - 1:,} more"
