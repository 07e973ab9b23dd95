"""What children do while they are killed or their disk is full: make a ledger, ask, tell the world each answer.

Children are forked for each use, so what they patch concerns nobody else.
"""

from __future__ import annotations

import os
import random
import resource
import signal
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any
from unittest import mock

from faults.books import Seen
from noiseledger import Answer, BudgetExceeded, LocalLedger, Population, Query, Table
from noiseledger.core.groups import Keys
from noiseledger.core.zones import Zones
from noiseledger.errors import LedgerError
from noiseledger.ledger import local
from noiseledger.ledger.store import Store

QUERIES = [Query.count("cell = 1"), Query.counts_by("cell", range(20)), Query.count("cell = 2")]
SOURCE = Table([{"cell": number % 3} for number in range(30)], {"cell": "number"})
#: The data of a second edition, and the zones: one for the cells that are asked for by themselves, and one for all others.
LATER = Table([{"cell": number % 2} for number in range(20)], {"cell": "number"})
ZONES = Zones.of(Keys.of("cell", [1, 2]))
#: Goes beyond precision 1 and is affordable.
PAID = Fraction(2)
#: The paper's cases 1, 2B, 2C and 2A, in this order.
ALL_CASES = [(QUERIES[1], Fraction(precision)) for precision in ("1/4", "1", "1/2", "1/2")]
#: A purchase of a list over several zones and two editions.
LIST = [(QUERIES[0], 0), (QUERIES[2], 0), (QUERIES[0], 1)]


class LazyStore(Store):
    """Weakened: a transaction is committed only when the next one begins, after the answer has been handed out."""

    @contextmanager
    def transaction(self) -> Iterator[sqlite3.Connection]:
        self._commit()
        with self._lock, self._typed_errors():
            self._connection.execute("BEGIN IMMEDIATE")
            yield self._connection

    @contextmanager
    def reading(self) -> Iterator[sqlite3.Connection]:
        self._commit()
        with super().reading() as run:
            yield run

    def close(self) -> None:
        self._commit()
        super().close()

    def _commit(self) -> None:
        if self._connection.in_transaction:
            self._connection.execute("COMMIT")


class HastyStore(Store):
    """Weakened: no transaction at all, each statement is for good at once."""

    @contextmanager
    def transaction(self) -> Iterator[sqlite3.Connection]:
        with self._lock, self._typed_errors():
            yield self._connection


class Countdown:
    """Kill this very process, with no chance to clean up, at the n-th call."""

    def __init__(self, calls: int) -> None:
        self._left = calls

    def __call__(self, *_: object) -> None:
        self._left -= 1
        if self._left == 0:
            os.kill(os.getpid(), signal.SIGKILL)


def create(file: Path) -> LocalLedger:
    return LocalLedger.create(
        file,
        epsilon=8,
        delta=1e-4,
        population=Population.add_remove(),
        queries=QUERIES,
        source=SOURCE,
        zones=ZONES,
    )


def create_until_killed(file: Path, moment: int, store: type[Store] = Store) -> None:
    _die_before_statement(Countdown(moment), store)
    create(file).close()


def open_edition_until_killed(file: Path, moment: int, store: type[Store] = Store) -> None:
    with closing(LocalLedger.open(file, SOURCE)) as ledger:
        ledger._store._connection.set_trace_callback(Countdown(moment))
        if store is HastyStore:
            ledger._store.__class__ = HastyStore
        ledger.open_edition(LATER)


def ask_a_list_until_killed(file: Path, world: Path, moment: int) -> None:
    """Buy a list at once; die before the n-th SQL statement, or before the world sees an answer."""
    countdown = Countdown(moment)
    _die_before_statement(countdown, Store)
    with closing(LocalLedger.open(file, SOURCE)) as ledger:
        ledger.attach(LATER, edition=1)
        requests = [ledger.resolve(query, edition=edition, precision=PAID) for query, edition in LIST]
        for answer in ledger.ask_many(requests):
            countdown()
            _publish(world, Seen.of(answer))


def ask_until_killed(file: Path, world: Path, moment: int, store: type[Store] = Store) -> None:
    """Ask for every case; die before the n-th SQL statement, or before the world sees an answer."""
    countdown = Countdown(moment)
    _die_before_statement(countdown, store)
    with closing(LocalLedger.open(file, SOURCE)) as ledger:
        for query, precision in ALL_CASES:
            answer = ledger.ask(query, exact_noise=True, precision=precision)
            countdown()
            _publish(world, Seen.of(answer))


def ask_until_a_write_kills(file: Path, world: Path, size: int) -> None:
    """Ask for every case; die in the middle of the first write that would make any file larger than this."""
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))
    signal.signal(signal.SIGXFSZ, signal.SIG_DFL)
    ask_until_killed(file, world, moment=0)


def ask_forever(file: Path, world: Path, seed: int) -> None:
    """Ask for anything, affordable or not, until someone kills this process."""
    generator = random.Random(seed)
    with closing(LocalLedger.open(file, SOURCE)) as ledger:
        while True:
            query, precision = generator.choice(QUERIES), Fraction(generator.randint(1, 1000), 500)
            try:
                _publish(world, Seen.of(ledger.ask(query, exact_noise=True, precision=precision)))
            except BudgetExceeded:
                continue


@dataclass(frozen=True)
class FullDisk:
    """What came of a request while no file could grow beyond some size, and of the next one when it could again."""

    error: Exception | None
    changed: bool
    later: Answer


def ask_on_a_full_disk(file: Path, size: int, store: type[Store]) -> FullDisk:
    """To be run in a child: the limit is for the whole process, and real."""
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    _, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    error = None
    with mock.patch.object(local, "Store", store), closing(LocalLedger.open(file, SOURCE)) as ledger:
        before = list(ledger.records()), ledger.budget()
        resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
        try:
            ledger.ask(QUERIES[1], exact_noise=True, precision=PAID)
        except LedgerError as caught:
            error = caught
        resource.setrlimit(resource.RLIMIT_FSIZE, (hard, hard))
        changed = before != (list(ledger.records()), ledger.budget())
        return FullDisk(error, changed, ledger.ask(QUERIES[1], exact_noise=True, precision=PAID))


def what_the_world_saw(world: Path) -> list[Seen]:
    return [Seen.load(line) for line in world.read_text().splitlines()] if world.exists() else []


def _publish(world: Path, seen: Seen) -> None:
    line = os.open(world, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    os.write(line, f"{seen.dump()}\n".encode())
    os.fsync(line)
    os.close(line)


def _die_before_statement(countdown: Countdown, store: type[Store]) -> None:
    connect = sqlite3.connect

    def traced(*args: Any, **kwargs: Any) -> sqlite3.Connection:
        connection: sqlite3.Connection = connect(*args, **kwargs)
        connection.set_trace_callback(countdown)
        return connection

    mock.patch.object(sqlite3, "connect", traced).start()
    mock.patch.object(local, "Store", store).start()
