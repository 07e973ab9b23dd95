"""A table or view of a PostgreSQL server, evaluated there: only totals, and records for the commitment, are transferred.

The session is read-only, whatever the account may do. Each declared column is first converted to one of the few types that
all engines share, so that settings of the server or the table (collations, trailing blanks, digits of numbers) do not matter.
"""

from __future__ import annotations

from typing import LiteralString

import ibis
import psycopg
from ibis.backends.postgres import Backend
from psycopg import Connection, sql

from noiseledger.core.filters.condition import Kind
from noiseledger.data.engines.kinds import read_by_rule
from noiseledger.data.engines.relation import Relation
from noiseledger.data.reading import NUMBER_LENGTH, Reading
from noiseledger.data.table import check_columns
from noiseledger.errors import DataUnavailable, NoiseledgerError

_CONNECT_SECONDS = 10
#: Make values read the same on every server.
_SETTINGS: tuple[LiteralString, ...] = (
    "SET SESSION CHARACTERISTICS AS TRANSACTION READ ONLY",
    "SET datestyle = 'ISO'",
    "SET extra_float_digits = 1",
    "SET standard_conforming_strings = on",
    "SET client_encoding = 'UTF8'",
    # How long a query takes must not decide whether it is answered.
    "SET statement_timeout = 0",
)
# Half the least double, and the least number that rounds to infinity: beyond them the server would fail instead of rounding.
_VANISHES = "0." + str(5**1075).zfill(1075)
_OVERFLOWS = str(2**1024 - 2**970)
_NEAREST = (
    "CASE WHEN abs({0}) <= "
    + _VANISHES
    + " THEN 0 WHEN abs({0}) < "
    + _OVERFLOWS
    + " THEN CAST({0} AS double precision) END"
)
#: The SQL expression that reads a column, and its Ibis type.
_WHOLE = ("CAST({} AS bigint)", "int64")
_DOUBLE = ("CAST({} AS double precision)", "float64")
_DECIMAL = (_NEAREST, "float64")
# For a decimal, the digits of a whole number, as for every other type.
_DIGITS = ("CASE WHEN {0} = trunc({0}) AND abs({0}) < 1e38 THEN CAST(trunc({0}) AS text) END", "string")
# Compared exactly, because a number close to one is not a flag.
_ONE_OR_ZERO = ("CASE WHEN {0} = 1 THEN TRUE WHEN {0} = 0 THEN FALSE END", "boolean")
_BOOLEAN = ("{}", "boolean")
_TEXT = ('CAST({} AS text) COLLATE "C"', "string")
_OTHER = ("CAST(NULL AS text)", "string")
_READ = {
    "int2": _WHOLE,
    "int4": _WHOLE,
    "int8": _WHOLE,
    "float4": _DOUBLE,
    "float8": _DOUBLE,
    "numeric": _DECIMAL,
    "bool": _BOOLEAN,
    "date": ("{}", "date"),
    "timestamp": ("{}", "timestamp"),
    "uuid": _TEXT,
}
#: PostgreSQL's own letters for strings and enumerations.
_TEXT_CATEGORIES = ("S", "E")


def open_postgres(url: str, table: str, reading: Reading) -> Relation:
    """Open a table or view, ``name`` or ``schema.name``; the url is in the format of libpq."""
    try:
        connection = psycopg.connect(url, autocommit=True, connect_timeout=_CONNECT_SECONDS)
    except psycopg.Error as error:
        # The message of libpq may quote the url with its password.
        raise DataUnavailable(
            f"The PostgreSQL server cannot be opened ({_kind(error)}): check host, port, database, user and password."
        ) from None
    try:
        return _relation(connection, table, reading)
    except psycopg.Error as error:
        connection.close()
        raise DataUnavailable(
            f"The table {table} cannot be read ({_kind(error)}): check its name, with its schema if it needs one, and "
            "that the account may read it."
        ) from None
    except NoiseledgerError:
        connection.close()
        raise


def _relation(connection: Connection, table: str, reading: Reading) -> Relation:
    for setting in _SETTINGS:
        connection.execute(setting)
    source = sql.Identifier(*table.split(".", maxsplit=1))
    types = _types(connection, source)
    check_columns(reading.kinds, types)
    reads = {name: _read(types[name], kind, reading) for name, kind in reading.kinds.items()}
    # All parts of the statement are our own, and names are quoted.
    parts = [
        sql.SQL("{} AS {}").format(sql.SQL(read).format(sql.Identifier(name)), sql.Identifier(name))
        for name, (read, _) in reads.items()
    ]
    select = sql.SQL("SELECT {} FROM {}").format(sql.SQL(", ").join(parts) if parts else sql.SQL("1 AS one"), source)
    engine = Backend.from_connection(connection)
    schema = {name: kind for name, (_, kind) in reads.items()} or {"one": "int32"}
    data = engine.sql(select.as_string(), schema=ibis.schema(schema))
    return Relation(engine, read_by_rule(data, reading), reading.kinds, failures=(psycopg.Error,))


def _types(connection: Connection, source: sql.Identifier) -> dict[str, str]:
    """Return the type of each column: a name known to this module, or "text", or "other"."""
    found = connection.execute(sql.SQL("SELECT * FROM {} LIMIT 0").format(source)).description or []
    oids = [column.type_code for column in found]
    rows = connection.execute("SELECT oid, typname, typcategory FROM pg_type WHERE oid = ANY(%s)", [oids]).fetchall()
    types = {
        oid: name if name in _READ else "text" if category in _TEXT_CATEGORIES else "other"
        for oid, name, category in rows
    }
    return {column.name: types[column.type_code] for column in found}


def _read(stored: str, kind: Kind, reading: Reading) -> tuple[str, str]:
    if stored == "numeric" and kind == "text":
        return _DIGITS
    if stored == "numeric" and kind == "flag":
        return _ONE_OR_ZERO
    if stored == "text" and kind == "number":
        return _parsed(reading), "float64"
    return _TEXT if stored == "text" else _READ.get(stored, _OTHER)


def _parsed(reading: Reading) -> str:
    """Return the expression that reads a number from text; every cast of the server can fail, so the pattern comes first."""
    text = 'CAST({0} AS text) COLLATE "C"'
    is_number = (
        f"length({text}) <= {NUMBER_LENGTH} AND {text} ~ '^({reading.number.replace('{', '{{').replace('}', '}}')})$'"
    )
    digits = f"replace(trim({text}), '{reading.decimal}', '.')"
    missing = ", ".join(
        "'" + word.replace("'", "''").replace("{", "{{").replace("}", "}}") + "'" for word in sorted(reading.missing)
    )
    is_number += f" AND {text} NOT IN ({missing})" if missing else ""
    return f"CASE WHEN {is_number} THEN {_NEAREST.replace('{0}', f'CAST({digits} AS numeric)')} END"


def _kind(error: psycopg.Error) -> str:
    return type(error).__name__
