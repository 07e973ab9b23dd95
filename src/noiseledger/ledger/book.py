"""Rows of a local ledger's tables as exact values, and back. Every function runs inside the caller's transaction."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from fractions import Fraction
from functools import lru_cache
from typing import Any

from noiseledger.core.budget import Budget
from noiseledger.core.path import Case, Point, Reveal, natural_values
from noiseledger.core.query import Query
from noiseledger.core.request import Request
from noiseledger.ledger.interface import Record, unknown_query
from noiseledger.ledger.store import from_text, to_text

RECORDS_PER_PAGE = 1000


# There are few queries, and they are read repeatedly.
_parse = lru_cache(maxsize=4096)(Query.parse)


@dataclass(frozen=True)
class StoredQuery:
    """A query of the catalogue: its row, and the sensitivity that was fixed when it was added."""

    key: int
    query: Query
    sensitivity: Fraction


def read_settings(run: sqlite3.Connection) -> dict[str, str]:
    """Return what was fixed when the ledger was created."""
    return dict(run.execute("SELECT name, value FROM setting"))


def write_binding(run: sqlite3.Connection, binding: str, also_promised: str = "") -> None:
    """Store which data the ledger belongs to, and the other ledgers about it; this cannot be changed afterwards."""
    run.execute("INSERT OR IGNORE INTO setting VALUES ('binding', ?)", (binding,))
    if also_promised:
        run.execute("INSERT OR IGNORE INTO setting VALUES ('also_promised', ?)", (also_promised,))


def read_budget(run: sqlite3.Connection, epsilon: Fraction, delta: Fraction) -> Budget:
    """Return the current budget."""
    total, spent = run.execute("SELECT total, spent FROM budget").fetchone()
    return Budget(epsilon, delta, from_text(total), from_text(spent))


def read_queries(run: sqlite3.Connection) -> list[Query]:
    """Return the catalogue."""
    return [_parse(text) for (text,) in run.execute("SELECT definition FROM query ORDER BY id")]


def add_queries(run: sqlite3.Connection, queries: Iterable[tuple[Query, Fraction]]) -> None:
    """Add queries with their sensitivities; existing queries stay unchanged."""
    run.executemany(
        "INSERT INTO query (identifier, definition, sensitivity) VALUES (?, ?, ?) ON CONFLICT (identifier) DO NOTHING",
        [(query.identifier, query.canonical, str(sensitivity)) for query, sensitivity in queries],
    )


def find_query(run: sqlite3.Connection, query: Query) -> StoredQuery:
    """Return the catalogue's entry for a query."""
    row = run.execute("SELECT id, sensitivity FROM query WHERE identifier = ?", (query.identifier,)).fetchone()
    if row is None:
        raise unknown_query(query)
    return StoredQuery(row[0], query, Fraction(row[1]))


def read_neighbours(run: sqlite3.Connection, entry: StoredQuery, precision: Fraction) -> dict[Fraction, Point]:
    """Return the known points that a precision depends on: the nearest at or below it, and the nearest above it."""
    wanted = (entry.key, to_text(precision))
    rows = run.execute(
        "SELECT precision, coordinates FROM point WHERE query = ? AND precision <= ? ORDER BY precision DESC LIMIT 1",
        wanted,
    ).fetchall()
    rows += run.execute(
        "SELECT precision, coordinates FROM point WHERE query = ? AND precision > ? ORDER BY precision LIMIT 1", wanted
    ).fetchall()
    return {from_text(text): _point(coordinates) for text, coordinates in rows}


def read_point(run: sqlite3.Connection, entry: StoredQuery, precision: Fraction) -> Point | None:
    """Return the point at a precision, if it is known."""
    wanted = (entry.key, to_text(precision))
    row = run.execute("SELECT coordinates FROM point WHERE query = ? AND precision = ?", wanted).fetchone()
    return None if row is None else _point(row[0])


def read_closed(run: sqlite3.Connection, entry: StoredQuery) -> Fraction:
    """Return how far a lost journal may have revealed the query's path; 0 if no further than is known here."""
    row = run.execute("SELECT until FROM closed WHERE query = ?", (entry.key,)).fetchone()
    return from_text(row[0]) if row else Fraction(0)


def write_closed(run: sqlite3.Connection, entry: StoredQuery, until: Fraction) -> None:
    """Store how far a lost journal may have revealed the query's path."""
    run.execute("INSERT OR REPLACE INTO closed VALUES (?, ?)", (entry.key, to_text(until)))


def read_nonce(run: sqlite3.Connection, address: str) -> int:
    """Return the nonce below which a key's transactions may be this journal's own."""
    row = run.execute("SELECT value FROM setting WHERE name = ?", (f"nonce {address}",)).fetchone()
    return int(row[0]) if row else 0


def write_nonce(run: sqlite3.Connection, address: str, until: int) -> None:
    """Write the nonce below which a key's transactions may be this journal's own."""
    run.execute("INSERT OR REPLACE INTO setting VALUES (?, ?)", (f"nonce {address}", str(until)))


def read_gas(run: sqlite3.Connection, day: str) -> int:
    """Return the gas that the worker has used on a day; only the latest day is kept."""
    row = run.execute("SELECT value FROM setting WHERE name = 'gas'").fetchone()
    noted, used = row[0].split() if row else ("", "0")
    return int(used) if noted == day else 0


def write_gas(run: sqlite3.Connection, day: str, used: int) -> None:
    """Write the gas that the worker has used on a day."""
    run.execute("INSERT OR REPLACE INTO setting VALUES ('gas', ?)", (f"{day} {used}",))


def write_recoveries(run: sqlite3.Connection, names: Iterable[str]) -> None:
    """Write the names of the recoveries that a journal comes from, oldest first."""
    run.execute("INSERT OR REPLACE INTO setting VALUES ('recoveries', ?)", (" ".join(names),))


def write_address(run: sqlite3.Connection, address: str) -> None:
    """Write the address of the ledger that a journal was published with."""
    run.execute("INSERT OR REPLACE INTO setting VALUES ('address', ?)", (address,))


def write_names(run: sqlite3.Connection, identifiers: Mapping[str, str]) -> None:
    """Write the names that analysts know queries by, each with the query's identifier, in this order."""
    run.execute("INSERT OR REPLACE INTO setting VALUES ('names', ?)", (json.dumps(dict(identifiers)),))


def has_points(run: sqlite3.Connection) -> bool:
    """Return whether anything was ever drawn or restored."""
    return run.execute("SELECT 1 FROM point LIMIT 1").fetchone() is not None


def read_furthest(run: sqlite3.Connection, entry: StoredQuery) -> Fraction:
    """Return the highest known precision of a query; 0 if none is known."""
    (text,) = run.execute("SELECT max(precision) FROM point WHERE query = ?", (entry.key,)).fetchone()
    return from_text(text) if text else Fraction(0)


def write_spent(run: sqlite3.Connection, budget: Budget) -> None:
    """Store how much of the budget is spent."""
    run.execute("UPDATE budget SET spent = ?", (to_text(budget.spent),))


def write_reveal(
    run: sqlite3.Connection, entry: StoredQuery, request: Request, reveal: Reveal, budget: Budget, analyst: str
) -> tuple[int, tuple[int, ...]]:
    """Write charge, point and record; return the record's number and the numbers of the records it was built from."""
    price = reveal.price
    number = run.execute("SELECT coalesce(max(number), 0) + 1 FROM record").fetchone()[0]
    built_from = tuple(_latest_record(run, entry, source) for source in price.sources)
    write_spent(run, budget)
    point = _write_point(run, entry, reveal, number)
    run.execute(
        "INSERT INTO record VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        (
            number,
            point,
            analyst,
            datetime.now(UTC).isoformat(),
            None if request.epsilon is None else str(request.epsilon),
            None if request.delta is None else str(request.delta),
            price.case.value,
            to_text(price.cost),
            json.dumps(built_from),
            to_text(budget.spent),
        ),
    )
    return number, built_from


def read_records(run: sqlite3.Connection, after: int) -> list[Record]:
    """Return the next page of records: those with numbers above ``after``."""
    rows = run.execute(
        """SELECT number, definition, analyst, asked_at, epsilon, delta, precision, paper_case, cost, coordinates,
                  sensitivity, built_from, spent
           FROM record JOIN point ON point.id = record.point JOIN query ON query.id = point.query
           WHERE number > ? ORDER BY number LIMIT ?""",
        (after, RECORDS_PER_PAGE),
    )
    return [_record(row, _parse(row[1])) for row in rows]


def _record(row: tuple[Any, ...], query: Query) -> Record:
    precision = from_text(row[6])
    scale = Fraction(row[10]) / precision
    return Record(
        number=int(row[0]),
        query=query,
        analyst=row[2],
        asked_at=datetime.fromisoformat(row[3]),
        epsilon=None if row[4] is None else Fraction(row[4]),
        delta=None if row[5] is None else Fraction(row[5]),
        precision=precision,
        case=Case(row[7]),
        cost=from_text(row[8]),
        values=natural_values(_point(row[9]), scale),
        built_from=tuple(json.loads(row[11])),
        spent=from_text(row[12]),
    )


def _latest_record(run: sqlite3.Connection, entry: StoredQuery, precision: Fraction) -> int:
    row = run.execute(
        "SELECT latest_record FROM point WHERE query = ? AND precision = ?", (entry.key, to_text(precision))
    ).fetchone()
    return int(row[0])


def _write_point(run: sqlite3.Connection, entry: StoredQuery, reveal: Reveal, number: int) -> int:
    precision = to_text(reveal.price.precision)
    if reveal.price.case is Case.KNOWN:
        return int(
            run.execute(
                "UPDATE point SET latest_record = ? WHERE query = ? AND precision = ? RETURNING id",
                (number, entry.key, precision),
            ).fetchone()[0]
        )
    cursor = run.execute(
        "INSERT INTO point (query, precision, coordinates, latest_record) VALUES (?, ?, ?, ?)",
        (entry.key, precision, " ".join(map(str, reveal.point)), number),
    )
    return int(cursor.lastrowid or 0)


def _point(coordinates: str) -> Point:
    return tuple(map(int, coordinates.split()))
