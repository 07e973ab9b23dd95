"""Requests per second on a local ledger, as the number of stored records grows."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from statistics import median
from typing import TypeAlias

from benchmarks.asker import Asker
from benchmarks.helpers import (
    Benchmark,
    Row,
    Task,
    Times,
    interleaved,
    number,
    per_second,
    processor_ratio,
    ratio,
    show_target,
    target,
    text,
)
from benchmarks.workspace import Workspace

_BARE = "bare transaction"
#: The price of a request must not grow with the number of records: a hundred thousand times as many may cost this much
#: more, which leaves room for two more levels of a search tree and for the noise of a disk. By the clock, and also of
#: the processor: on a busy machine the wait for the disk can be so long that the clock alone would show no growth.
_LIMIT = 1.5

_Key: TypeAlias = tuple[str, int]


def _measure(space: Workspace) -> list[Row]:
    with ExitStack() as stack:
        askers = {size: stack.enter_context(closing(Asker(space.ledger(size), size))) for size in space.sizes}
        tasks: dict[_Key, Task] = {(_BARE, 0): stack.enter_context(_bare(space.directory / "bare.sqlite"))}
        tasks |= {(kind, size): Task(ask) for size, asker in askers.items() for kind, ask in asker.kinds.items()}
        times = interleaved(tasks, rounds=5 if space.quick else 250)
    kinds = list(dict.fromkeys(kind for kind, _ in tasks))
    by_kind = sorted(tasks, key=lambda key: kinds.index(key[0]))
    return [_row(times, kind, size, space.sizes[0]) for kind, size in by_kind]


def _row(times: Mapping[_Key, Times], kind: str, size: int, smallest: int) -> Row:
    mine = times[kind, size]
    row: Row = {
        "request": kind,
        "records": size or None,
        "per_second": per_second(mine),
        "processor_ms": median(mine.processor) * 1000,
        "to_bare": ratio(mine, times[_BARE, 0]),
    }
    if size <= smallest:
        return row
    growth = {
        "growth": ratio(mine, times[kind, smallest]),
        "processor_growth": processor_ratio(mine, times[kind, smallest]),
    }
    return row | growth | target(max(growth.values()), at_most=_LIMIT)


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
    note="medians over rounds. Each request but a quote adds a record, so the ledgers end a little larger. "
    "bare: one durable INSERT. fewest: the ledger with the fewest records.",
    columns=(
        ("request", text("request")),
        (">records", number("records", ",d")),
        (">per second", number("per_second", ",.0f")),
        (">processor ms", number("processor_ms", ".2f")),
        (">time / bare", number("to_bare", ".2f")),
        (">time / fewest", number("growth", ".2f")),
        (">processor / fewest", number("processor_growth", ".2f")),
        ("target", show_target),
    ),
    measure=_measure,
)
