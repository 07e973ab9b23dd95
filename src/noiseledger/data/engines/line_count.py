"""How many lines a text file has, and whether each can be read by itself by an engine that would go on over line breaks."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from noiseledger.data.delimited import Dialect

_CHUNK = 2**24


@dataclass(frozen=True)
class Lines:
    """What was counted: records, if every line is one, and whether there are quotes at all."""

    records: int
    quotes: bool


def one_line_each(file: Path, dialect: Dialect) -> Lines | None:
    """Count the lines of a UTF-8 file; None if an engine could see lines that the rule does not.

    Engines take a carriage return for the end of a line too, by itself or where the others end without one.
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
