"""What all commands print alike: JSON of a stable shape, tables for people, errors in one sentence.

Names and texts may come from a chain or from somebody else's file. For people they are stripped of everything that steers
a terminal, and never read as markup; JSON escapes them by itself.
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
#: For what is said on the side, so that standard output holds the result and nothing else.
notes = Console(stderr=True, highlight=False, markup=False, emoji=False)

_STEERING = ("Cc", "Cf", "Cs", "Zl", "Zp")


def plain(text: object, keep: str = "") -> str:
    r"""Return a text with a mark in place of each character that steers a terminal, but for those to ``keep``.

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
    """Refuse a time that is none: no bound that typer checks keeps out what is not a number."""
    if not isfinite(number):
        raise typer.BadParameter("expected a number of seconds.")
    return number


def print_json(data: Mapping[str, Any], *, flush: bool = False) -> None:
    """Print one JSON object; ``flush`` for a command that goes on running."""
    print(json.dumps(data, indent=2), flush=flush)


def print_json_line(data: Mapping[str, Any]) -> None:
    """Print one JSON object on a line of its own, at once, for a command that prints many."""
    print(json.dumps(data), flush=True)


def print_table(title: str, columns: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    """Print a table; columns of numbers are named with a leading '>' and set flush right."""
    table = Table(title=Text(plain(title)), title_justify="left", title_style="bold")
    for name in columns:
        # A name that is too long is broken, and not cut off.
        justify: Literal["left", "right"] = "right" if name.startswith(">") else "left"
        table.add_column(name.removeprefix(">"), justify=justify, overflow="fold")
    for row in rows:
        table.add_row(*(cell if isinstance(cell, Text) else Text(plain(cell)) for cell in row))
    console.print(table)


def print_error(error: NoiseledgerError, *, as_json: bool) -> None:
    """Print the mistake: as JSON on standard output where a machine listens, else as a sentence on standard error."""
    if not as_json:
        # Only a catalogue's problems come one to a line.
        keep = "\n" if hasattr(error, "problems") else ""
        print(f"noiseledger: {plain(error, keep)}", file=sys.stderr)
        return
    print_json(describe_error(error))
