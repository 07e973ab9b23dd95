"""``noiseledger init DATA``: draft a catalogue from the structure of a data file."""

from __future__ import annotations

import re
import sys
from contextlib import closing
from json import dumps
from pathlib import Path
from typing import Annotated

import typer

from noiseledger.cli.output import JsonOption, console, print_json
from noiseledger.core.numbers import exact
from noiseledger.data.location import Location
from noiseledger.errors import InvalidInput

_HEAD = """\
# A catalogue for noiseledger: what may be asked of {name}, and how much privacy it may cost in all.
# `noiseledger check {catalogue}` finds everything that is still wrong.

[source]
{source}

[privacy]
epsilon = 1         # the promise: smaller is stricter
delta = "1e-6"      # the probability that it fails; well below one in the number of people
neighbours = "replace"  # one record replaced (the number of rows is public), or "add-remove" (it is private)
access = "invitation"  # only analysts whom you allow; "open": anyone on the chain, who can then spend all of it at once
# contact = "..."   # how analysts reach you to ask for an allowance; public
"""
_COLUMN = """
[columns.{key}]
# Bounds come from what is known without the data (the questionnaire, the law, the instrument): the true minimum and
# maximum are somebody's values, and private.
lower = {lower}
upper = {upper}
grid = 1            # values are rounded to multiples of this
# missing = 0       # what a missing value counts as, if there are any

[queries.{query}]
measure = "mean"
column = {text}
"""
_TEXT = """
# The next one is text. Write its groups from what is known, not from the data:
# [queries.{query}]
# measure = "count"
# by = {text}
# groups = ["...", "..."]
"""


def init(
    data: Annotated[Path, typer.Argument(help="The data: a CSV, Parquet, DuckDB or SQLite file.", metavar="DATA")],
    out: Annotated[Path | None, typer.Option(help="Where to write; default: beside the data, ending in .toml.")] = None,
    table: Annotated[str | None, typer.Option(help="The table, if the file is a database with several.")] = None,
    json: JsonOption = False,
) -> None:
    """Draft a catalogue. Only names and types of columns are taken from the data, never a value."""
    catalogue = out or data.with_suffix(".toml")
    if catalogue.exists():
        raise InvalidInput(f"{catalogue} exists already and is kept as it is: choose another name with --out.")
    kinds = _kinds(data, table)
    name = data.name if catalogue.parent == data.parent else str(data.resolve())
    source = f"file = {dumps(name)}" + ("" if table is None else f"\ntable = {dumps(table)}")
    draft = _HEAD.format(name=name, catalogue=catalogue, source=source)
    draft += "".join(_draft_column(column, numeric, ask=not json) for column, numeric in kinds.items())
    catalogue.write_text(draft, encoding="utf-8")
    if json:
        print_json({"catalogue": str(catalogue), "columns": list(kinds)})
    else:
        console.print(f"Drafted {catalogue}. Fill in what is marked, then: noiseledger check {catalogue}")


def _draft_column(column: str, numeric: bool, *, ask: bool) -> str:
    text = dumps(column)  # a JSON text is a TOML text too
    key = column if re.fullmatch(r"[A-Za-z0-9_-]+", column) else text
    query = ("mean_" if numeric else "rows_by_") + re.sub(r"[^A-Za-z0-9_-]+", "_", column)
    if not numeric:
        return _TEXT.format(query=query, text=text)
    lower, upper = _ask_bounds(column) if ask and sys.stdin.isatty() else ('"?"', '"?"')
    return _COLUMN.format(key=key, query=query, text=text, lower=lower, upper=upper)


def _kinds(data: Path, table: str | None) -> dict[str, bool]:
    """Return the columns, and whether each holds numbers."""
    with closing(Location("duckdb", str(data), table).open()) as source:
        return {name: profile.is_numeric for name, profile in source.columns.items()}


def _ask_bounds(column: str) -> tuple[str, str]:
    """Ask for the bounds, and say why."""
    console.print(
        f"\nBounds of {column}: choose them without looking at the data, whose extremes are somebody's values."
    )
    return typer.prompt("  lower", value_proc=_number), typer.prompt("  upper", value_proc=_number)


def _number(text: str) -> str:
    try:
        exact(text)
    except InvalidInput as error:
        raise typer.BadParameter(str(error)) from None
    return f'"{text.strip()}"'
