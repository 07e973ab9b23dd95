"""Count the lines of a text file, and check whether an engine would see the same lines and fields.

Why the promise holds: whether an engine splits a file or the rule itself depends on all of its lines, so both must split each
line alike. What they split differently is looked for here, byte by byte, and then only the rule splits the file.
"""

from __future__ import annotations

import re
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
    """Count the lines of a UTF-8 file; None if an engine could see lines or fields that the rule does not see.

    Engines also treat a carriage return as the end of a line, by itself or if other lines end without one. DuckDB keeps blanks
    around the quotes of a field: two or more before them, and those after them at the end of one of its buffers of 32 MB, so
    that even the length of earlier records would matter.
    """
    if dialect.encoding != "utf-8":
        return None
    newlines = returns = pairs = quotes = 0
    last = b""
    quote = dialect.quote.encode()
    beside = _blanks_beside(quote, dialect.delimiter.encode())
    with file.open("rb") as stream:
        while chunk := stream.read(_CHUNK):
            while chunk[-1:] in (b" ", quote) and (more := stream.read(1)):
                chunk += more  # blanks and quotes that belong together stay together
            newlines += chunk.count(b"\n")
            if b"\r" in chunk or last == b"\r":
                returns += chunk.count(b"\r")
                pairs += (last + chunk).count(b"\r\n")
            if quote:
                quotes += chunk.count(quote)
                # The first two tests are fast, and few files have both.
                if (b" " + quote in chunk or quote + b" " in chunk) and beside.search(chunk):
                    return None
            last = chunk[-1:]
    if returns and not returns == pairs == newlines:
        return None
    lines = newlines + (last not in (b"", b"\n"))
    return Lines(lines - dialect.header, bool(quotes))


def _blanks_beside(quote: bytes, delimiter: bytes) -> re.Pattern[bytes]:
    """Return the pattern of blanks between a quote and the beginning or the end of its field, or of what was read at once."""
    q, d = re.escape(quote), re.escape(delimiter)
    return re.compile(rb"(?:^|[\n%b]) +%b|%b +(?:[\r\n%b]|\Z)" % (d, q, q, d))
