"""Inspect a data file to propose its declaration. The custodian confirms it; no other part of the program inspects data.

Why the promise holds: the findings go into a draft for the custodian and nowhere else. Data is only read according to a
catalogue that declares everything explicitly, so no record decides how another one is read. A proposal contains column names
and fixed texts, and never a value.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from noiseledger.core.filters.condition import Kind
from noiseledger.data.delimited import Dialect
from noiseledger.data.formats import Format, check_format, format_by_content
from noiseledger.errors import DataUnavailable, InvalidInput
from noiseledger.extras import require

#: The number of records that are inspected.
RECORDS = 10_000


@dataclass(frozen=True)
class Guess:
    """The probable kind of a column, None if it should be left out; and notes for the custodian."""

    kind: Kind | None
    notes: tuple[str, ...] = ()
    #: Whether a number is probably a code, whose mean says nothing.
    is_code: bool = False
    #: Whether a number is probably that of a person or a case, of which no query says anything.
    is_identifier: bool = False


@dataclass(frozen=True)
class Look:
    """The probable format and columns of a file."""

    format: Format
    columns: Mapping[str, Guess]
    #: Texts found in it that often mean "missing".
    missing: tuple[str, ...] = ()
    #: For text files only.
    dialect: Dialect | None = None
    decimal: str = "."


def look(file: Path, table: str | None = None, *, header: bool | None = None) -> Look:
    """Inspect the beginning of a file; ``header`` says whether the first line of a text file contains the column names."""
    if file.is_dir():
        raise DataUnavailable(
            f"{file} is a folder: give a file in it or, for a folder of Parquet files, write the catalogue by hand with "
            'engine = "spark".'
        )
    form = format_by_content(file)
    check_format(file, form)
    if form != "csv" and header is not None:
        raise InvalidInput(
            f"{file} is a {form} file, which contains its column names: leave out --header and --no-header."
        )
    if form in ("csv", "parquet") and table is not None:
        raise InvalidInput(f"{file} is a single table: leave out --table.")
    # Imported late: a database library takes a second.
    if form == "csv":
        from noiseledger.data.look_text import look_at_text  # noqa: PLC0415

        return look_at_text(file, header)
    require("custodian", f"To look at {file}, a {form} file,")
    from noiseledger.data.engines.look import look_at_table  # noqa: PLC0415

    return look_at_table(file, form, table)
