"""Small text files without a data engine: read into memory by the reference implementation.

A local ledger on a CSV file therefore works without an installed engine. Totals, records and fingerprint equal those of the
engine for files, so that the same ledger opens with and without it; the tests compare the two.
"""

from __future__ import annotations

import json
import struct
from fractions import Fraction
from hashlib import blake2b, md5
from pathlib import Path

from noiseledger.core.filters.condition import Kind
from noiseledger.data.delimited import Dialect
from noiseledger.data.formats import Format, check_format
from noiseledger.data.reading import WHOLE_DOUBLES, Reading, Value
from noiseledger.data.table import Table
from noiseledger.errors import InvalidInput, MissingExtra
from noiseledger.extras import missing

#: Larger files would take minutes and gigabytes, because every value becomes a Python object.
MOST_BYTES = 10_000_000


_MODULUS = 2**64


class SmallFile(Table):
    """The records of a text file."""

    def fingerprint(self, key: bytes) -> bytes:
        """Return the digest that :mod:`noiseledger.data.engines.digest` explains, and computes inside the engine."""
        kinds = self.kinds
        names = sorted(kinds)
        one = blake2b(key=key, digest_size=16, person=b"noiseledger one").hexdigest()
        upper = lower = 0
        for record in self.records():
            text = one + "".join(_text(kinds[name], record[name]) for name in names)
            number = int.from_bytes(md5(text.encode(), usedforsecurity=False).digest(), "little")
            upper, lower = upper + (number >> 64), lower + number % _MODULUS
        form = json.dumps([[name, kinds[name]] for name in names])
        whole = json.dumps([form, self.rows, upper % _MODULUS, lower % _MODULUS])
        return blake2b(whole.encode(), key=key, digest_size=32, person=b"noiseledger all").digest()


def _text(kind: Kind, value: Value) -> str:
    if kind == "text":
        return ":" if value is None else f"{len(str(value))}:{value}"
    if isinstance(value, bool):
        return "true;" if value else "false;"
    if not isinstance(value, Fraction):
        return f"{'' if value is None else value};"
    if value.denominator == 1 and abs(value) < WHOLE_DOUBLES:
        return f"{value};"
    return f"{int.from_bytes(struct.pack('>d', value)):064b};"


def open_small(file: Path, form: Format, reading: Reading, table: str | None, dialect: Dialect) -> SmallFile:
    """Read a text file; refuse other formats and large files, with the name of the extra that reads them."""
    check_format(file, form)
    if form != "csv":
        raise MissingExtra(f"To read {file}, a {form} file,", "custodian", missing("custodian"))
    if table is not None:
        raise InvalidInput(f"{file} contains only one table: leave out table = {table!r}.")
    size = file.stat().st_size
    if size > MOST_BYTES:
        what = f"To read {file}, which has {size / 1e6:,.0f} MB (the limit without it is {MOST_BYTES / 1e6:.0f} MB),"
        raise MissingExtra(what, "custodian", missing("custodian"))
    return SmallFile.read_csv(file, reading, dialect)
