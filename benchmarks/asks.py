"""Requests per second on a local ledger, as the number of stored records grows."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TypeAlias

from benchmarks.asker import Asker
from benchmarks.helpers import Benchmark, Row, Task, interleaved, number, per_second, ratio, show_target, target, text
from benchmarks.workspace import Workspace

_BARE = "bare transaction"
#: The price of a request must not grow with the number of records: a hundred thousand times as many may cost this much
#: more, which leaves room for two more levels of a search tree and for the noise of a disk.
_LIMIT = 1.5

_Key: TypeAlias = tuple[str, int]


def _measure(space: Workspace) -> list[Row]:
    askers = {size: Asker(space.ledger(size), size) for size in space.sizes}
    with _bare(space.directory / "bare.sqlite") as bare:
        tasks: dict[_Key, Task] = {(_BARE, 0): bare}
        tasks |= {(kind, size): Task(ask) for size, asker in askers.items() for kind, ask in asker.kinds.items()}
        times = interleaved(tasks, rounds=5 if space.quick else 250)
    for asker in askers.values():
        asker.close()
    kinds = list(dict.fromkeys(kind for kind, _ in tasks))
    return [_row(times, kind, size, space.sizes[0]) for kind in kinds for size in (0, *space.sizes) if (kind, size) in tasks]


def _row(times: Mapping[_Key, Sequence[float]], kind: str, size: int, smallest: int) -> Row:
    mine = times[kind, size]
    row: Row = {
        "request": kind,
        "records": size or None,
        "per_second": per_second(mine),
        "to_bare": ratio(mine, times[_BARE, 0]),
    }
    if size <= smallest:
        return row
    growth = ratio(mine, times[kind, smallest])
    return row | {"growth": growth} | target(growth, at_most=_LIMIT)


@contextmanager
def _bare(file: Path) -> Iterator[Task]:
    """Yield the least that any durable answer can cost: one INSERT, with the ledger's settings for durability."""
    with closing(sqlite3.connect(file, isolation_level=None)) as connection:
        connection.execute("PRAGMA synchronous = EXTRA")
        connection.execute("CREATE TABLE entry (number INTEGER PRIMARY KEY, value TEXT NOT NULL)")

        def run() -> None:
            connection.execute("BEGIN IMMEDIATE")
            connection.execute("INSERT INTO entry (value) VALUES ('0123456789')")
            connection.execute("COMMIT")

        yield Task(run)


BENCHMARK = Benchmark(
    title="3. Requests to a local ledger",
    note="time: median over rounds. Each request but a quote adds a record, so the ledgers end a little larger.",
    columns=(
        ("request", text("request")),
        (">records at first", number("records", ",d")),
        (">per second", number("per_second", ",.0f")),
        (">time against a bare transaction", number("to_bare", ".2f")),
        (">time against the fewest records", number("growth", ".2f")),
        ("target", show_target),
    ),
    measure=_measure,
)
