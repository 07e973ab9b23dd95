"""Text files: their first line names the columns, which all come as text and get the types that their fields have."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any, TypeAlias

import ibis.expr.types as ir

from noiseledger.data.cells import NUMBER, WHOLE
from noiseledger.data.source import Content
from noiseledger.errors import DataUnavailable

Contents: TypeAlias = dict[str, frozenset[Content]]


def header_of(file: Path) -> list[str]:
    """Return the names of the columns of a CSV file; refuse names that an engine would replace by others."""
    try:
        with file.open(newline="", encoding="utf-8-sig") as stream:
            names = next(csv.reader(stream), [])
    except (OSError, UnicodeDecodeError, csv.Error):
        names = []
    if not names or not all(names) or len({name.casefold() for name in names}) < len(names):
        raise DataUnavailable(
            f"{file} cannot be read as CSV: expected a first line, in UTF-8, that gives each column a name of its own, "
            "whatever the letters' case."
        )
    return names


def fields_of(text: ir.Table) -> ir.Table:
    """Return the fields with those that are empty missing, whether in quotes or not; and no empty lines."""
    if len(text.columns) == 1:
        # Here alone an empty line looks like a record.
        text = text.filter(text[text.columns[0]].notnull())
    return text.select(**{name: text[name].nullif("") for name in text.columns})


def checks_of(text: ir.Table) -> ir.Table:
    """Return one row that says of each column whether all fields are whole numbers, and whether all are numbers."""
    checks = {}
    for i, name in enumerate(text.columns):
        checks[f"w{i}"] = text[name].re_search(f"^({WHOLE})$").all()
        checks[f"n{i}"] = text[name].re_search(f"^({NUMBER})$").all()
    return text.aggregate(**checks)


def typed(text: ir.Table, found: dict[str, Any]) -> tuple[ir.Table, Contents]:
    """Give each column its type, by what the checks found, and say what it holds: nothing, if all fields are empty."""
    columns: dict[str, ir.Column] = {}
    contents: Contents = {}
    for i, name in enumerate(text.columns):
        whole, number = found[f"w{i}"], found[f"n{i}"]
        if whole is None or whole:
            columns[name] = text[name].cast("int64")
        else:
            # What is beyond the range of a double is infinite, hence missing.
            columns[name] = text[name].try_cast("float64") if number else text[name]
        contents[name] = frozenset() if whole is None else frozenset({"number" if number else "text"})
    return text.select(**columns), contents
