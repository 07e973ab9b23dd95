"""A table or view of a PostgreSQL server, read there: only totals, and records for the commitment, come over the wire.

The session cannot write, whatever the account may do. Each column is first given one of the few types that all engines
share, so that what a server or a table has set up (collations, blanks at the end, digits of numbers) does not matter.
"""

from __future__ import annotations

from typing import LiteralString

import ibis
import psycopg
from ibis.backends.postgres import Backend
from psycopg import Connection, sql

from noiseledger.data.engines.relation import Relation
from noiseledger.data.source import Content
from noiseledger.errors import DataUnavailable

_CONNECT_SECONDS = 10
#: So that values read the same on every server.
_SETTINGS: tuple[LiteralString, ...] = (
    "SET SESSION CHARACTERISTICS AS TRANSACTION READ ONLY",
    "SET datestyle = 'ISO'",
    "SET extra_float_digits = 1",
    "SET standard_conforming_strings = on",
    "SET client_encoding = 'UTF8'",
)
#: How a column is read, and as which of Ibis' types.
_WHOLE: tuple[LiteralString, str] = ("CAST({} AS bigint)", "int64")
_DOUBLE: tuple[LiteralString, str] = ("CAST({} AS double precision)", "float64")
# Between half the least double and what rounds to infinity: beyond, the server would fail rather than round.
_DECIMAL: tuple[LiteralString, str] = (
    "CASE WHEN abs({0}) <= 2.47e-324 THEN 0 "
    "WHEN abs({0}) < 1.797693134862315807e308 THEN CAST({0} AS double precision) END",
    "float64",
)
_BOOLEAN: tuple[LiteralString, str] = ("{}", "boolean")
_TEXT: tuple[LiteralString, str] = ('CAST({} AS text) COLLATE "C"', "string")
_READ = {
    "int2": _WHOLE,
    "int4": _WHOLE,
    "int8": _WHOLE,
    "float4": _DOUBLE,
    "float8": _DOUBLE,
    "numeric": _DECIMAL,
    "bool": _BOOLEAN,
    "date": _TEXT,
}
#: PostgreSQL's own letters for strings and enumerations.
_TEXT_CATEGORIES = ("S", "E")
_CONTENTS: dict[str, Content] = {"int64": "number", "float64": "number", "boolean": "boolean", "string": "text"}


def open_postgres(url: str, table: str) -> Relation:
    """Open a table or view, ``name`` or ``schema.name``; the url is that of libpq."""
    try:
        connection = psycopg.connect(url, autocommit=True, connect_timeout=_CONNECT_SECONDS)
    except psycopg.Error as error:
        # What libpq says may quote the url with its password.
        raise DataUnavailable(
            f"The PostgreSQL server cannot be opened ({_kind(error)}): check host, port, database, user and password."
        ) from None
    try:
        return _relation(connection, table)
    except psycopg.Error as error:
        connection.close()
        raise DataUnavailable(
            f"The table {table} cannot be read ({_kind(error)}): check its name, with its schema if it needs one, and "
            "that the account may read it."
        ) from None


def _relation(connection: Connection, table: str) -> Relation:
    for setting in _SETTINGS:
        connection.execute(setting)
    source = sql.Identifier(*table.split(".", maxsplit=1))
    columns = _columns(connection, source)
    reads = [
        sql.SQL("{} AS {}").format(sql.SQL(read).format(sql.Identifier(name)), sql.Identifier(name))
        for name, (read, _, _) in columns.items()
    ]
    select = sql.SQL("SELECT {} FROM {}").format(sql.SQL(", ").join(reads), source)
    engine = Backend.from_connection(connection)
    data = engine.sql(select.as_string(), schema=ibis.schema({name: kind for name, (_, kind, _) in columns.items()}))
    contents = {name: frozenset({content}) for name, (_, _, content) in columns.items()}
    return Relation(engine, data, contents, failures=(psycopg.Error,))


def _columns(connection: Connection, source: sql.Identifier) -> dict[str, tuple[LiteralString, str, Content]]:
    """Return how each column is read, its type, and what it holds."""
    found = connection.execute(sql.SQL("SELECT * FROM {} LIMIT 0").format(source)).description or []
    oids = [column.type_code for column in found]
    rows = connection.execute("SELECT oid, typname, typcategory FROM pg_type WHERE oid = ANY(%s)", [oids]).fetchall()
    types = {oid: (name, category) for oid, name, category in rows}
    columns: dict[str, tuple[LiteralString, str, Content]] = {}
    for column in found:
        name, category = types[column.type_code]
        known = _READ.get(name) or (_TEXT if category in _TEXT_CATEGORIES else None)
        read, kind = known or _TEXT
        columns[column.name] = (read, kind, "other" if known is None else _CONTENTS[kind])
    return columns


def _kind(error: psycopg.Error) -> str:
    return type(error).__name__
