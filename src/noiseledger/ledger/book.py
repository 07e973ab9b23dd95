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
from noiseledger.core.filters.cells import Mask
from noiseledger.core.path import Case, Point, Reveal, natural_values
from noiseledger.core.query import Query
from noiseledger.core.request import Request
from noiseledger.core.sensitivity import edition_sensitivity
from noiseledger.core.zone_budget import ZoneBudget
from noiseledger.errors import InvalidInput
from noiseledger.ledger.interface import Record, unknown_query
from noiseledger.ledger.store import from_text, to_text

RECORDS_PER_PAGE = 1000
#: A page ends early when its answers have so many numbers: one may have 65,536.
NUMBERS_PER_PAGE = 100_000


# There are few queries, and they are read repeatedly.
_parse = lru_cache(maxsize=4096)(Query.parse)


@dataclass(frozen=True)
class StoredQuery:
    """A query of the catalogue in one edition: its row, its sensitivity there, and the zones that it reaches.

    Reach, and sensitivity in the first edition, were fixed when it was added.
    """

    key: int
    query: Query
    sensitivity: Fraction
    reach: Mask
    edition: int
    #: The number of rows of the edition; None if it is private.
    rows: int | None


def read_settings(run: sqlite3.Connection) -> dict[str, str]:
    """Return what was fixed when the ledger was created."""
    return dict(run.execute("SELECT name, value FROM setting"))


def add_edition(run: sqlite3.Connection, rows: int | None, zones: int) -> int:
    """Add an edition in which no zone has spent anything; return its number."""
    number = count_editions(run)
    run.execute("INSERT INTO edition (number, rows) VALUES (?, ?)", (number, rows))
    (total,) = run.execute("SELECT total FROM budget").fetchone()
    nothing = to_text(Fraction(0))
    run.executemany("INSERT INTO spent VALUES (?, ?, ?, ?)", [(number, zone, nothing, total) for zone in range(zones)])
    return number


def count_editions(run: sqlite3.Connection) -> int:
    """Return how many editions there are: they are numbered from 0."""
    return int(run.execute("SELECT count(*) FROM edition").fetchone()[0])


def read_rows(run: sqlite3.Connection, edition: int = 0) -> int | None:
    """Return the number of rows of an edition; None if it is private."""
    row = run.execute("SELECT rows FROM edition WHERE number = ?", (edition,)).fetchone()
    if row is None:
        last = count_editions(run) - 1
        raise InvalidInput(
            f"The ledger has no edition {edition}: " + (f"it has 0 to {last}." if last else "it has only 0.")
        )
    return None if row[0] is None else int(row[0])


def read_bindings(run: sqlite3.Connection) -> dict[int, str]:
    """Return which data each edition belongs to; an empty text if none yet."""
    return dict(run.execute("SELECT number, binding FROM edition ORDER BY number"))


def write_binding(run: sqlite3.Connection, binding: str, edition: int = 0) -> None:
    """Store which data an edition belongs to; this cannot be changed afterwards."""
    run.execute("UPDATE edition SET binding = ? WHERE number = ? AND binding = ''", (binding, edition))


def write_also_promised(run: sqlite3.Connection, also_promised: str) -> None:
    """Store the other ledgers about the same data."""
    run.execute("INSERT OR REPLACE INTO setting VALUES ('also_promised', ?)", (also_promised,))


def read_budget(run: sqlite3.Connection, epsilon: Fraction, delta: Fraction, edition: int = 0) -> ZoneBudget:
    """Return the current budget of each zone in an edition."""
    read_rows(run, edition)  # refuses an edition that is not there
    (total,) = run.execute("SELECT total FROM budget").fetchone()
    spent = run.execute("SELECT amount FROM spent WHERE edition = ? ORDER BY zone", (edition,))
    return ZoneBudget(Budget(epsilon, delta, from_text(total)), tuple(from_text(amount) for (amount,) in spent))


def read_most_spent(run: sqlite3.Connection) -> Fraction:
    """Return what the zone that has spent most has spent, of all editions."""
    return from_text(run.execute("SELECT max(amount) FROM spent").fetchone()[0])


def read_queries(run: sqlite3.Connection) -> list[Query]:
    """Return the catalogue."""
    return [_parse(text) for (text,) in run.execute("SELECT definition FROM query ORDER BY id")]


def add_queries(run: sqlite3.Connection, queries: Iterable[tuple[Query, Fraction, Mask]]) -> None:
    """Add queries with their sensitivities in the first edition, and their reaches; existing queries stay unchanged."""
    run.executemany(
        "INSERT INTO query (identifier, definition, sensitivity, reach) VALUES (?, ?, ?, ?) "
        "ON CONFLICT (identifier) DO NOTHING",
        [(query.identifier, query.canonical, str(sensitivity), f"{reach:x}") for query, sensitivity, reach in queries],
    )


def find_query(run: sqlite3.Connection, query: Query, edition: int = 0) -> StoredQuery:
    """Return the catalogue's entry for a query, in an edition."""
    row = run.execute("SELECT id, sensitivity, reach FROM query WHERE identifier = ?", (query.identifier,)).fetchone()
    if row is None:
        raise unknown_query(query)
    rows = read_rows(run, edition)
    unit = edition_sensitivity(query, Fraction(row[1]), read_rows(run), rows)
    return StoredQuery(row[0], query, unit, int(row[2], 16), edition, rows)


def read_neighbours(run: sqlite3.Connection, entry: StoredQuery, precision: Fraction) -> dict[Fraction, Point]:
    """Return the known points that a precision depends on: the nearest at or below it, and the nearest above it."""
    wanted = (entry.edition, entry.key, to_text(precision))
    found = "SELECT precision, coordinates FROM point WHERE edition = ? AND query = ? AND precision"
    rows = run.execute(f"{found} <= ? ORDER BY precision DESC LIMIT 1", wanted).fetchall()
    rows += run.execute(f"{found} > ? ORDER BY precision LIMIT 1", wanted).fetchall()
    return {from_text(text): _point(coordinates) for text, coordinates in rows}


def read_point(run: sqlite3.Connection, entry: StoredQuery, precision: Fraction) -> Point | None:
    """Return the point at a precision, if it is known."""
    wanted = (entry.edition, entry.key, to_text(precision))
    row = run.execute(
        "SELECT coordinates FROM point WHERE edition = ? AND query = ? AND precision = ?", wanted
    ).fetchone()
    return None if row is None else _point(row[0])


def read_closed(run: sqlite3.Connection, entry: StoredQuery) -> Fraction:
    """Return how far a lost journal may have revealed the query's path; 0 if no further than is known here."""
    row = run.execute("SELECT until FROM closed WHERE edition = ? AND query = ?", (entry.edition, entry.key)).fetchone()
    return from_text(row[0]) if row else Fraction(0)


def write_closed(run: sqlite3.Connection, entry: StoredQuery, until: Fraction) -> None:
    """Store how far a lost journal may have revealed the query's path."""
    run.execute("INSERT OR REPLACE INTO closed VALUES (?, ?, ?)", (entry.edition, entry.key, to_text(until)))


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


def has_points(run: sqlite3.Connection, edition: int = 0) -> bool:
    """Return whether anything of an edition was ever drawn or restored."""
    return run.execute("SELECT 1 FROM point WHERE edition = ? LIMIT 1", (edition,)).fetchone() is not None


def read_furthest(run: sqlite3.Connection, entry: StoredQuery) -> Fraction:
    """Return the highest known precision of a query; 0 if none is known."""
    (text,) = run.execute(
        "SELECT max(precision) FROM point WHERE edition = ? AND query = ?", (entry.edition, entry.key)
    ).fetchone()
    return from_text(text) if text else Fraction(0)


def write_spent(run: sqlite3.Connection, budget: ZoneBudget, edition: int = 0) -> None:
    """Store what each zone has spent in an edition."""
    run.executemany(
        "UPDATE spent SET amount = ?1 WHERE edition = ?2 AND zone = ?3 AND amount <> ?1",
        [(to_text(amount), edition, zone) for zone, amount in enumerate(budget.spent)],
    )


def write_reveal(
    run: sqlite3.Connection, entry: StoredQuery, request: Request, reveal: Reveal, budget: ZoneBudget, analyst: str
) -> tuple[int, tuple[int, ...]]:
    """Write charge, point and record; return the record's number and the numbers of the records it was built from."""
    price = reveal.price
    number = run.execute("SELECT coalesce(max(number), 0) + 1 FROM record").fetchone()[0]
    built_from = tuple(_latest_record(run, entry, source) for source in price.sources)
    write_spent(run, budget, entry.edition)
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
            to_text(read_most_spent(run)),
        ),
    )
    return number, built_from


def read_records(run: sqlite3.Connection, after: int) -> list[Record]:
    """Return the next page of records: those with numbers above ``after``."""
    size = dict(run.execute("SELECT number, rows FROM edition"))
    found = run.execute(
        """SELECT number, definition, analyst, asked_at, epsilon, delta, precision, paper_case, cost, coordinates,
                  sensitivity, built_from, spent, edition
           FROM record JOIN point ON point.id = record.point JOIN query ON query.id = point.query
           WHERE number > ? ORDER BY number LIMIT ?""",
        (after, RECORDS_PER_PAGE),
    )
    page: list[Record] = []
    numbers = 0
    for row in found:
        query = _parse(row[1])
        unit = edition_sensitivity(query, Fraction(row[10]), size[0], size[row[13]])
        page.append(_record(row, query, unit))
        numbers += query.dimension
        if numbers >= NUMBERS_PER_PAGE:
            break
    return page


def _record(row: tuple[Any, ...], query: Query, unit: Fraction) -> Record:
    precision = from_text(row[6])
    scale = unit / precision
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
        edition=int(row[13]),
    )


def _latest_record(run: sqlite3.Connection, entry: StoredQuery, precision: Fraction) -> int:
    row = run.execute(
        "SELECT latest_record FROM point WHERE edition = ? AND query = ? AND precision = ?",
        (entry.edition, entry.key, to_text(precision)),
    ).fetchone()
    return int(row[0])


def _write_point(run: sqlite3.Connection, entry: StoredQuery, reveal: Reveal, number: int) -> int:
    precision = to_text(reveal.price.precision)
    if reveal.price.case is Case.KNOWN:
        return int(
            run.execute(
                "UPDATE point SET latest_record = ? WHERE edition = ? AND query = ? AND precision = ? RETURNING id",
                (number, entry.edition, entry.key, precision),
            ).fetchone()[0]
        )
    cursor = run.execute(
        "INSERT INTO point (edition, query, precision, coordinates, latest_record) VALUES (?, ?, ?, ?, ?)",
        (entry.edition, entry.key, precision, " ".join(map(str, reveal.point)), number),
    )
    return int(cursor.lastrowid or 0)


def _point(coordinates: str) -> Point:
    return tuple(map(int, coordinates.split()))
