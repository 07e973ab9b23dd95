"""Count the lines of a text file, and check whether an engine that allows line breaks in fields would see the same lines."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from noiseledger.data.delimited import Dialect

_CHUNK = 2**24


@dataclass(frozen=True)
class Lines:
    """The number of records, if every line is one, and whether the file contains quotes."""

    records: int
    quotes: bool


def one_line_each(file: Path, dialect: Dialect) -> Lines | None:
    """Count the lines of a UTF-8 file; None if an engine could see lines that the rule does not see.

    Engines also treat a carriage return as the end of a line, by itself or if other lines end without one.
    """
    if dialect.encoding != "utf-8":
        return None
    newlines = returns = pairs = quotes = 0
    last = b""
    with file.open("rb") as stream:
        while chunk := stream.read(_CHUNK):
            newlines += chunk.count(b"\n")
            if b"\r" in chunk or last == b"\r":
                returns += chunk.count(b"\r")
                pairs += (last + chunk).count(b"\r\n")
            quotes += chunk.count(dialect.quote.encode()) if dialect.quote else 0
            last = chunk[-1:]
    if returns and not returns == pairs == newlines:
        return None
    lines = newlines + (last not in (b"", b"\n"))
    return Lines(lines - dialect.header, bool(quotes))
