"""Small text files without a data engine: read by the reference, in memory.

Whoever installs no engine can still keep a local ledger on a CSV file. The totals, the records and the fingerprint are those of
the engine for files, which the tests compare with the reference.
"""

from __future__ import annotations

from pathlib import Path

from noiseledger.data.delimited import Dialect
from noiseledger.data.formats import Format, check_format
from noiseledger.data.reading import Reading
from noiseledger.data.table import Table
from noiseledger.errors import InvalidInput, MissingExtra
from noiseledger.extras import missing

#: Beyond this it would take minutes and gigabytes: every value becomes an object of Python.
MOST_BYTES = 10_000_000


def open_small(file: Path, form: Format, reading: Reading, table: str | None, dialect: Dialect) -> Table:
    """Read a text file; refuse other formats and large files, with the name of the extra that reads them."""
    check_format(file, form)
    if form != "csv":
        raise MissingExtra(f"To read {file}, a {form} file,", "custodian", missing("custodian"))
    if table is not None:
        raise InvalidInput(f"{file} is one table by itself: leave out table = {table!r}.")
    size = file.stat().st_size
    if size > MOST_BYTES:
        what = f"To read {file}, which has {size / 1e6:,.0f} MB (the limit without it is {MOST_BYTES / 1e6:.0f} MB),"
        raise MissingExtra(what, "custodian", missing("custodian"))
    return Table.read_csv(file, reading, dialect)
