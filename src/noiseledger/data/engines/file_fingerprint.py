"""The fingerprint of a data file (:mod:`noiseledger.data.fingerprint`), computed by DuckDB, on all processors.

DuckDB writes a double as Python does, with as few digits as tell it from all others; a test compares both.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import ibis
import ibis.expr.types as ir

from noiseledger.core.condition import Kind
from noiseledger.data.engines.relation import Relation
from noiseledger.data.fingerprint import heading, sealed

_HALF_BITS = 32
_HASHES = (("string",), "uint64")


class FileRelation(Relation):
    """A table of DuckDB."""

    def fingerprint(self, key: bytes) -> bytes:
        """Return a keyed digest of the records, whatever their order."""
        (found,) = self._run(_sums(self._table, self.kinds, key))
        first, second = ((int(found[f"{n}_high"] or 0) << _HALF_BITS) + int(found[f"{n}_low"] or 0) for n in ("a", "b"))
        return sealed(first, second, int(found["rows"]), key)


@ibis.udf.scalar.builtin(signature=_HASHES)  # type: ignore[untyped-decorator]
def md5_number_upper(text: Any) -> Any:
    """Return the first half of a hash, as DuckDB does."""


@ibis.udf.scalar.builtin(signature=_HASHES)  # type: ignore[untyped-decorator]
def md5_number_lower(text: Any) -> Any:
    """Return the second half of a hash, as DuckDB does."""


def _sums(table: ir.Table, kinds: Mapping[str, Kind], key: bytes) -> ir.Table:
    """Add up the hashes of all records; in pieces, so that no sum of 64 bits overflows."""
    text = ibis.literal(key.hex()).concat("", *(_cell(table[name], name, kinds[name]) for name in sorted(kinds)))
    hashes = table.select(a=md5_number_upper(text), b=md5_number_lower(text))
    pieces: dict[str, Any] = {}
    for name in ("a", "b"):
        pieces[f"{name}_high"] = (hashes[name] >> _HALF_BITS).cast("int64").sum()
        pieces[f"{name}_low"] = (hashes[name] & (2**_HALF_BITS - 1)).cast("int64").sum()
    return hashes.aggregate(rows=hashes.count(), **pieces)


def _cell(column: Any, name: str, kind: Kind) -> Any:
    """Return the text of a value, as the reference writes it."""
    start = ibis.literal(heading(name, kind[0]))
    match kind:
        case "text":
            text = start.concat(column.length().cast("string"), ":", column, ";")
        case "flag":
            text = start.concat(ibis.ifelse(column, "1;", "0;"))
        case "date":
            text = start.concat(column, ";")
        case _:
            text = start.concat((column.cast("float64") + 0.0).cast("string"), ";")
    return ibis.ifelse(column.isnull(), "", text)
