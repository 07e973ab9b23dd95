"""What all commands print alike: JSON of a stable shape, tables for people, errors in one sentence."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Mapping, Sequence
from typing import Annotated, Any, TypeAlias

import typer
from rich.console import Console
from rich.table import Table

from noiseledger.errors import BudgetExceeded, NoiseledgerError

JsonOption: TypeAlias = Annotated[bool, typer.Option("--json", help="Print JSON for machines.")]

console = Console(highlight=False)


def print_json(data: Mapping[str, Any], *, flush: bool = False) -> None:
    """Print one JSON object; ``flush`` for a command that goes on running."""
    print(json.dumps(data, indent=2), flush=flush)


def print_table(title: str, columns: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    """Print a table; columns of numbers are named with a leading '>' and set flush right."""
    table = Table(title=title, title_justify="left", title_style="bold")
    for name in columns:
        table.add_column(name.removeprefix(">"), justify="right" if name.startswith(">") else "left")
    for row in rows:
        table.add_row(*(str(cell) for cell in row))
    console.print(table)


def print_error(error: NoiseledgerError, *, as_json: bool) -> None:
    """Print the mistake: as JSON on standard output where a machine listens, else as a sentence on standard error."""
    if not as_json:
        print(f"noiseledger: {error}", file=sys.stderr)
        return
    body: dict[str, Any] = {"type": type(error).__name__, "message": str(error)}
    if isinstance(error, BudgetExceeded):
        body |= {name: float(getattr(error, name)) for name in ("requested", "remaining", "missing")}
    print_json({"error": body})
