"""A keyed digest of all records of a DuckDB table, computed inside the engine: ten million rows within seconds.

Each record has one text: its columns by name, whole numbers as digits, other numbers as bits, and text after its length. The
MD5 of key and text gives two numbers, which are added over all records, so that their order does not matter. The result is
the keyed BLAKE2b of the sums.

Why the promise holds: without the key of 256 bits, the digest cannot be distinguished from a random number and no guess about
a record can be tested against it; the sums are never shown. Collisions of MD5 do not matter: whoever has the key has the data.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from hashlib import blake2b
from typing import Any

import ibis.expr.types as ir

from noiseledger.core.filters.condition import Kind
from noiseledger.data.reading import WHOLE_DOUBLES

_SIZE = 32
_MODULUS = 2**64


def digest(engine: Any, table: ir.Table, kinds: Mapping[str, Kind], key: bytes) -> bytes:
    """Return the digest of the records of a table whose values were read by the rule."""
    names = sorted(kinds)
    one = blake2b(key=key, digest_size=16, person=b"noiseledger one").hexdigest()
    texts = [_text(_quoted(name), kinds[name], table[name].type().is_floating()) for name in names]
    # All parts of the statement are our own; names are quoted.
    select = f"""
        WITH hashed AS (
            SELECT md5_number(concat('{one}', {", ".join(texts) or "''"})) AS hash FROM ({engine.compile(table)})
        )
        SELECT count(*), sum((hash >> 64)::UBIGINT::HUGEINT), sum((hash & {_MODULUS - 1}::UHUGEINT)::UBIGINT::HUGEINT)
        FROM hashed
    """  # noqa: S608
    rows, *sums = engine.con.execute(select).fetchone()
    form = json.dumps([[name, kinds[name]] for name in names])
    whole = json.dumps([form, rows, *(int(part or 0) % _MODULUS for part in sums)])
    return blake2b(whole.encode(), key=key, digest_size=_SIZE, person=b"noiseledger all").digest()


def _text(column: str, kind: Kind, is_double: bool) -> str:
    """Return the arguments of ``concat`` for one column; they are self-delimiting, so no two records have the same text."""
    if kind == "text":
        return f"length({column}), ':', {column}"
    if not is_double:
        return f"{column}, ';'"  # digits, a day or a truth value: no semicolon; empty if missing
    is_whole = f"abs({column}) < {WHOLE_DOUBLES} AND floor({column}) = {column}"
    # Not as decimals, because versions of an engine may write them differently; and -0.0 is 0.
    return f"CASE WHEN {is_whole} THEN {column}::BIGINT::VARCHAR ELSE {column}::BIT::VARCHAR END, ';'"


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
