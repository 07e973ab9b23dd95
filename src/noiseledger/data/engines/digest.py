"""A keyed digest of all records of a table of DuckDB, taken inside the engine: ten million rows within seconds.

Each record has one text: its columns by name, numbers that are whole as their digits and others as their bits, text after its
length. The MD5 of key and text are two numbers, which are added up over the records, so that their order does not matter. A
BLAKE2b of the sums, with the key, is what is returned.

Why the promise holds: without the key, of 256 bits, the digest cannot be told from a random number and no guess at a record
can be tested against it; the sums are never shown. That MD5 has collisions does not matter: whoever knows the key has the data.
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
    """Return the digest of the records of a table that was read by the rule."""
    names = sorted(kinds)
    one = blake2b(key=key, digest_size=16, person=b"noiseledger one").hexdigest()
    texts = [_text(_quoted(name), kinds[name], table[name].type().is_floating()) for name in names]
    # All that is pasted together is ours; names are quoted.
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
    """Return what ``concat`` is given for one column: it ends where it says, so that no two records have the same text."""
    if kind == "text":
        return f"length({column}), ':', {column}"
    if not is_double:
        return f"{column}, ';'"  # digits, a day or a truth value: no semicolon; and nothing where it is missing
    is_whole = f"abs({column}) < {WHOLE_DOUBLES} AND floor({column}) = {column}"
    # Not as decimals, which versions of an engine may write in different ways; and -0.0 is 0.
    return f"CASE WHEN {is_whole} THEN {column}::BIGINT::VARCHAR ELSE {column}::BIT::VARCHAR END, ';'"


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
