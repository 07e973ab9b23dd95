"""Inspect a text file: its probable dialect, and whether it can be read at all.

A file that cannot be read is refused, with the line and what to do, before anybody writes a catalogue for it.
"""

from __future__ import annotations

import codecs
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from itertools import islice, pairwise
from pathlib import Path

from noiseledger.data.delimited import DELIMITERS, Dialect, columns_of, conversion, records_of
from noiseledger.data.hints import unreadable
from noiseledger.data.look import RECORDS, Guess, Look
from noiseledger.data.look_kinds import (
    MISSING_TEXTS,
    decimal_mark,
    guess,
    marked,
    missing_texts,
    with_missing,
)
from noiseledger.data.reading import DATE, NUMBER
from noiseledger.errors import DataUnavailable

#: Lines are inspected within this many bytes at the start of the file.
_BYTES = 2**24
#: The encoding depends on single characters, which may come late in the file.
_BYTES_FOR_ENCODING = 2**28
_EXPECTED = "expected a table as text, with the names of the columns in line 1 and one record in each line after it."
_WHOLE = " *[+-]?[0-9]+ *"
#: How files begin that are text, and no table.
_NO_TABLE = (
    (re.compile(r"\s*<(!doctype|html|head|body|table|!--)", re.IGNORECASE), "an HTML page"),
    (re.compile(r"\s*<\?xml", re.IGNORECASE), "an XML file"),
    (re.compile(r"\s*(\[\s*)*\{\s*(\"|$)|\s*\[\s*(\[|$)"), "JSON"),
)
#: Names in quotes with blanks between them, as R's write.table writes them.
_BLANKS_BETWEEN = re.compile(r'"[^"]*"( +"[^"]*")+')
_CONTROLS = re.compile(r"[\x00-\x08\x0e-\x1f]")


def look_at_text(file: Path, header: bool | None) -> Look:
    """Propose a dialect and the kind of each column; refuse a file for which there is none."""
    encoding = _encoding(file)
    lines = _lines(file, encoding)
    _check_is_table(file, lines)
    dialect = _dialect(lines, encoding)
    _check_shape(file, lines, dialect)
    if header is None:
        header = _has_header(lines, dialect)
    dialect = replace(dialect, header=header)
    names = columns_of(file, dialect)
    # Read all inspected lines: each is one record, or is reported.
    records = list(islice(records_of(file, dialect), len(lines)))
    if not records:
        raise DataUnavailable(f"{file} has only one line: {_EXPECTED}")
    columns = list(zip(*records, strict=True))
    decimal = decimal_mark(field for column in columns for field in column)
    missing = missing_texts(field for column in columns for field in column)
    nameless = _nameless(lines[0], dialect)
    guesses = {
        name: _nameless_column(fields, decimal) if nameless[place] else _named_column(name, fields, decimal)
        for place, (name, fields) in enumerate(zip(names, columns, strict=True))
    }
    separator = _other_separator(lines) if len(names) == 1 else None
    if separator is not None:
        note = (
            f"each line is one value; if its fields are separated by {separator!r}, which is not supported, write the file "
            "again with one of , ; | or tabs"
        )
        guesses = {name: replace(found, notes=(note, *found.notes)) for name, found in guesses.items()}
    return Look("csv", guesses, missing, dialect, decimal)


def _encoding(file: Path) -> str:
    decoder = codecs.getincrementaldecoder("utf-8")()
    looked, encoding = 0, "utf-8"
    try:
        with file.open("rb") as stream:
            while looked < _BYTES_FOR_ENCODING and (chunk := stream.read(_BYTES)):
                if looked == 0 and chunk.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
                    return "utf-16"
                _check_bytes(file, chunk, looked == 0)
                looked += len(chunk)
                if encoding == "utf-8":
                    try:
                        decoder.decode(chunk)
                    except UnicodeDecodeError:
                        encoding = "windows-1252"
    except OSError as error:
        raise unreadable(file, error) from None
    if looked == 0:
        raise DataUnavailable(f"{file} is empty: expected a first line with the names of the columns.")
    return encoding


def _check_bytes(file: Path, chunk: bytes, first: bool) -> None:
    """Refuse binary files and lines without an end."""
    if b"\0" in chunk:
        line = chunk.count(b"\n", 0, chunk.index(b"\0")) + 1
        where = f", line {line}," if first else ""
        raise DataUnavailable(
            f"{file}{where} has a NUL byte, so it is not text, or UTF-16 without a byte order mark: save it as UTF-8"
            + (f" ({conversion(file)})." if first and 0 in chunk[:2] else ".")
        )
    if first and b"\n" not in chunk:
        if b"\r" in chunk:
            raise DataUnavailable(
                f"{file}, line 1: lines end with a carriage return only, as on old Macintoshes: save it with line feeds."
            )
        if len(chunk) == _BYTES:
            raise DataUnavailable(
                f"{file}, line 1 is longer than {_BYTES:,} bytes: expected lines with one record each."
            )


def _lines(file: Path, encoding: str) -> list[str]:
    """Return the first complete lines, split as :func:`noiseledger.data.delimited.lines_of` does."""
    with file.open("rb") as stream:
        head = stream.read(_BYTES)
    text = head.decode({"utf-8": "utf-8-sig"}.get(encoding, encoding), "replace")
    lines = text.split("\n")
    if len(head) == _BYTES or not lines[-1]:
        lines.pop()
    lines = [line.removesuffix("\r") for line in lines[: RECORDS + 1]]
    for number, line in enumerate(lines, start=1):
        if _CONTROLS.search(line):
            raise DataUnavailable(
                f"{file}, line {number}: there are control characters, which text may not contain. If this is another format, "
                "save the table as CSV or Parquet; otherwise remove them."
            )
    return lines


def _check_is_table(file: Path, lines: Sequence[str]) -> None:
    """Refuse text of which we know that it is no table."""
    for pattern, what in _NO_TABLE:
        if lines and pattern.match(lines[0]):
            raise DataUnavailable(f"{file} looks like {what}: {_EXPECTED} Save the table as CSV or Parquet first.")


def _dialect(lines: Sequence[str], encoding: str) -> Dialect:
    """Return the delimiter with which most lines have the same number of fields, more than one; tabs before all others.

    Text has commas, and hardly ever tabs: the first column of Eurostat's tables, which have tabs, is a list with commas.
    """
    best, most = Dialect(encoding=encoding), (0, False, 0)
    for quote in ('"', "'") if not any('"' in line for line in lines) else ('"',):
        for delimiter in DELIMITERS:
            dialect = Dialect(delimiter, quote, encoding)
            width, agreeing = _usual_width(lines, dialect)
            found = agreeing, delimiter == "\t", width
            if width > 1 and found > most and (quote == '"' or _encloses(quote, lines, dialect)):
                best, most = dialect, found
            elif quote == "'" and width > 1 and found == most and _encloses(quote, lines, dialect):
                best = dialect
    return best


def _usual_width(lines: Sequence[str], dialect: Dialect) -> tuple[int, int]:
    """Return the most common number of fields, and how many lines have it."""
    widths = Counter(len(fields) for line in lines if line and (fields := dialect.split(line)))
    return max(widths.items(), key=lambda item: (item[1], item[0])) if widths else (0, 0)


def _encloses(quote: str, lines: Sequence[str], dialect: Dialect) -> bool:
    """Return whether more than one field is in these quotes."""
    d = re.escape(dialect.delimiter)
    pattern = re.compile(rf"(?:^|{d}){quote}[^{quote}]*{quote}(?={d}|$)")
    return sum(len(pattern.findall(line)) for line in lines) > 1


def _check_shape(file: Path, lines: Sequence[str], dialect: Dialect) -> None:
    """Refuse a first line that does not belong to the table below it; the other lines are checked as records."""
    if not lines or not lines[0].strip():
        raise DataUnavailable(
            f"{file}, line 1 is blank: expected the names of the columns. Remove all lines above them."
        )
    if re.fullmatch(r'"?sep=.?"?', lines[0].rstrip(" ,;\t|")):
        raise DataUnavailable(
            f"{file}, line 1 tells Excel the delimiter, but would be read as the names of the columns: remove it."
        )
    if _BLANKS_BETWEEN.fullmatch(lines[0]):
        raise DataUnavailable(
            f"{file}, line 1: the names are separated by blanks, which is not supported: write the file again with one of "
            ", ; | or tabs (in R, with write.csv instead of write.table)."
        )
    width, agreeing = _usual_width(lines[1:], dialect)
    first = dialect.split(lines[0])
    if first is None or width < 2 or agreeing * 2 < len(lines[1:]):
        return  # too few lines to judge
    given = len(first)
    if given == width > 2 and first[0].strip(" ") and not any(name.strip(" ") for name in first[1:]):
        raise DataUnavailable(
            f"{file}, line 1 names only the first of {width} columns, so it seems to be a title: remove the lines above the "
            "line with the names, and any notes below the table."
        )
    if given > width and not any(name.strip(" ") for name in first[width:]):
        raise DataUnavailable(f"{file}, line 1 ends with a delimiter, but the records do not: remove it.")
    rows = [fields for line in lines[1:] if (fields := dialect.split(line)) and len(fields) == width]
    if given >= width or not any(field for fields in rows for field in fields[given:]):
        return
    if given == width - 1 and len(lines) - 1 - agreeing <= 1:
        raise DataUnavailable(
            f"{file}, line 1 has {given} names for {width} columns, because R's write.table leaves out the first: add a name, "
            "or write the file with row.names = FALSE."
        )
    begin = next(number for number, line in enumerate(lines, 1) if len(dialect.split(line) or ()) == width)
    raise DataUnavailable(
        f"{file}, line 1 does not belong to the table, which seems to start in line {begin}: remove the lines above it, and "
        "any notes below the table."
    )


def _has_header(lines: Sequence[str], dialect: Dialect) -> bool:
    """Return whether the first line seems to contain column names; in doubt it does not, as it could be a record."""
    first = [field.strip(" ") for field in dialect.split(lines[0]) or ()]
    if any(field in MISSING_TEXTS for field in first):
        return False
    below = list(zip(*(f for line in lines[1:] if len(f := dialect.split(line) or ()) == len(first)), strict=True))
    if not below:
        return not any(map(_is_value, first))
    if any(
        field and not _is_value(field) and all(_is_value(value) or not value.strip(" ") for value in column)
        for field, column in zip(first, below, strict=True)
    ):
        return True  # a word above numbers
    if any(map(_is_value, first)):
        return _are_years([field for field in first if _is_value(field)])
    named = [field for field in first if field]
    repeated = sum(field in column for field, column in zip(first, below, strict=True) if field)
    return bool(named) and repeated * 2 < len(named)


def _are_years(fields: Sequence[str]) -> bool:
    """Return whether these are consecutive years, which are common as column names and rare as values."""
    if len(fields) < 2 or not all(re.fullmatch("(18|19|20)[0-9]{2}", field) for field in fields):
        return False
    steps = {int(later) - int(earlier) for earlier, later in pairwise(fields)}
    return steps in ({1}, {-1})


def _is_value(field: str) -> bool:
    return re.fullmatch(f"{NUMBER.format(mark='[.,]')}|{DATE}", field) is not None


def _nameless(line: str, dialect: Dialect) -> list[bool]:
    return [dialect.header and not name.strip(" ") for name in dialect.split(line) or ()]


def _named_column(name: str, fields: Sequence[str], decimal: str) -> Guess:
    found = with_missing(guess(fields, decimal), fields)
    values = [field for field in fields if field.strip(" ") and field not in MISSING_TEXTS]
    whole = all(re.fullmatch(_WHOLE, value) for value in values)
    return marked(name, found, len(values), len(set(values)), whole=whole)


def _other_separator(lines: Sequence[str]) -> str | None:
    """Return a character that is equally often in each line of a file with one column: it may separate fields.

    Several blanks count as one, as in tables of fixed width. The first line may have one mark fewer, where R's write.table
    leaves out the name of the first of at least three columns.
    """
    for mark in (":", "^", "~", " "):
        first, *others = (len(line.split(mark if mark != " " else None)) - 1 for line in lines if line.strip())
        count = max(others, default=first)
        if count and {*others} <= {count} and (first == count or 0 < first == count - 1):
            return mark
    return None


def _nameless_column(fields: Sequence[str], decimal: str) -> Guess:
    """Leave out row numbers, which R and pandas write, and an empty column after a delimiter at the end of lines."""
    if not any(field.strip(" ") for field in fields):
        return Guess(None, ("it has no name and no values: each line probably ends with a delimiter",))
    for start in ("0", "1"):
        if fields[0] == start and all(field == str(int(start) + place) for place, field in enumerate(fields)):
            return Guess(None, ("it has no name and contains row numbers, which R and pandas write",))
    found = guess(fields, decimal)
    return Guess(found.kind, ("it has no name in the file, so it is named by its position", *found.notes))
