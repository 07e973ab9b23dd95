"""A look at a data file, to propose how it can be declared. The custodian confirms; nothing else in the program looks.

Why the promise holds: what is found here goes into a draft for the custodian and nowhere else. Data is only ever read by a
catalogue that says everything itself, so no record decides how another one is read. A proposal has names of columns and words
of this program, and never a value.
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

#: How many records are looked at.
RECORDS = 10_000


@dataclass(frozen=True)
class Guess:
    """What a column seems to hold, None if it should be left out; and what the custodian should look at."""

    kind: Kind | None
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Look:
    """What a file seems to be."""

    format: Format
    columns: Mapping[str, Guess]
    #: Texts found in it that often mean "missing".
    missing: tuple[str, ...] = ()
    #: For text files only.
    dialect: Dialect | None = None
    decimal: str = "."


def look(file: Path, table: str | None = None, *, header: bool | None = None) -> Look:
    """Look at the beginning of a file; ``header`` says whether the first line of a text file names the columns."""
    if file.is_dir():
        raise DataUnavailable(
            f"{file} is a folder: name a file in it, or, for a folder of Parquet files, write the catalogue by hand with "
            'engine = "spark".'
        )
    form = format_by_content(file)
    check_format(file, form)
    if form != "csv" and header is not None:
        raise InvalidInput(f"{file} is a {form} file, which names its columns: leave out --header and --no-header.")
    if form in ("csv", "parquet") and table is not None:
        raise InvalidInput(f"{file} is one table by itself: leave out --table.")
    # Loaded late: a database's library takes a second.
    if form == "csv":
        from noiseledger.data.look_text import look_at_text  # noqa: PLC0415

        return look_at_text(file, header)
    require("custodian", f"To look at {file}, a {form} file,")
    from noiseledger.data.engines.look import look_at_table  # noqa: PLC0415

    return look_at_table(file, form, table)
