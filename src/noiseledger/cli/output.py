"""Output of all commands: JSON with a stable shape, tables for people, errors in one sentence.

Names and texts may come from a chain or from somebody else's file. For people, control characters are replaced and markup is
never interpreted; JSON escapes them anyway.
"""

from __future__ import annotations

import json
import sys
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from math import isfinite
from typing import Any, Literal

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from noiseledger.errors import NoiseledgerError
from noiseledger.ledger.shapes import describe_error

console = Console(highlight=False, markup=False, emoji=False)
#: For progress and notes, so that standard output contains only the result.
notes = Console(stderr=True, highlight=False, markup=False, emoji=False)

_STEERING = ("Cc", "Cf", "Cs", "Zl", "Zp")


def plain(text: object, keep: str = "") -> str:
    r"""Return a text with each control character replaced by a mark, except those to ``keep``.

    >>> plain("a\x1b[31mb\u202ec")
    'a\ufffd[31mb\ufffdc'
    """
    return "".join(
        "\ufffd" if unicodedata.category(letter) in _STEERING and letter not in keep else letter for letter in str(text)
    )


def short_address(who: str) -> str:
    """Return an address shortened to fit a table; any other name as it is.

    >>> short_address("0x70997970C51812dc3A010C7d01b50e0d17dc79C8")
    '0x7099…79C8'
    """
    return f"{who[:6]}…{who[-4:]}" if who.startswith("0x") else plain(who)


def finite(number: float) -> float:
    """Refuse infinity and NaN, which pass the bounds that typer checks."""
    if not isfinite(number):
        raise typer.BadParameter("expected a number of seconds.")
    return number


def print_json(data: Mapping[str, Any], *, flush: bool = False) -> None:
    """Print one JSON object; ``flush`` for a command that keeps running."""
    print(json.dumps(data, indent=2), flush=flush)


def print_json_line(data: Mapping[str, Any]) -> None:
    """Print one JSON object on one line and flush it, for a command that prints many."""
    print(json.dumps(data), flush=True)


def print_table(title: str, columns: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    """Print a table; the names of right-aligned columns start with '>'."""
    table = Table(title=Text(plain(title)), title_justify="left", title_style="bold")
    for name in columns:
        # A long name is wrapped, not cut off.
        justify: Literal["left", "right"] = "right" if name.startswith(">") else "left"
        table.add_column(name.removeprefix(">"), justify=justify, overflow="fold")
    for row in rows:
        table.add_row(*(cell if isinstance(cell, Text) else Text(plain(cell)) for cell in row))
    console.print(table)


def print_error(error: NoiseledgerError, *, as_json: bool) -> None:
    """Print an error: as JSON on standard output, or for people as a sentence on standard error."""
    if not as_json:
        # Only the problems of a catalogue are printed on several lines.
        keep = "\n" if hasattr(error, "problems") else ""
        print(f"noiseledger: {plain(error, keep)}", file=sys.stderr)
        return
    print_json(describe_error(error))
