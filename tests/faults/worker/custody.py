"""A catalogue, its data, and what its custodian keeps; made once, and copied for each scene."""

from __future__ import annotations

import json
import random
import secrets
import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from fractions import Fraction
from pathlib import Path

from noiseledger.core.path import Point
from noiseledger.core.query import Query
from noiseledger.data.catalogue import read_catalogue
from noiseledger.ledger.store import from_text

CATALOGUE = """
[source]
file = "people.csv"
[privacy]
epsilon = 8
delta = "1e-4"
neighbours = "replace"
access = "open"
[columns.income]
kind = "number"
lower = 0
upper = 1_000_000_000
missing = 0
[columns.age]
kind = "number"
[columns.town]
kind = "text"
[queries.over_60]
measure = "share"
where = "age > 60"
[queries.towns]
measure = "count"
by = "town"
groups = ["Jena", "Ulm"]
[queries.income]
measure = "mean"
column = "income"
[queries.rich]
measure = "share"
where = "income > 500000000"
ceiling = 2
"""
ROWS = 60


class Folder:
    """The files of one custodian."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.catalogue = folder / "people.toml"
        self.custody = folder / "people.custody"
        self.journal = self.custody / "journal.ledger"

    def write(self) -> None:
        """Write catalogue and data; the data is such that a true total is not found by chance in any text."""
        dice = random.Random(1)
        rows = [f"{dice.randint(18, 90)},{dice.choice(['Jena', 'Ulm'])},{dice.randrange(10**9)}" for _ in range(ROWS)]
        (self.folder / "people.csv").write_text("\n".join(["age,town,income", *rows, ""]))
        self.catalogue.write_text(CATALOGUE)

    @property
    def queries(self) -> list[Query]:
        return [entry.query for entry in read_catalogue(self.catalogue).entries]

    @property
    def address(self) -> str:
        return str(json.loads((self.custody / "ledger.json").read_text())["address"])

    def secrets(self) -> list[bytes]:
        """Return what nobody may ever read, as it would stand in a text."""
        lines = (self.folder / "people.csv").read_text().split()[1:]
        total = sum(int(line.split(",")[2]) for line in lines)
        with closing(sqlite3.connect(self.journal)) as run:
            (identity,) = run.execute("SELECT value FROM setting WHERE name = 'identity'").fetchone()
        secret = (self.custody / "secret").read_text().strip()
        words = [identity, secret, str(total), f"{total:x}", f"{total / ROWS:.3f}"]
        return [word.encode() for word in words]

    def copy_journal(self, copy: Path) -> None:
        """Copy the journal as a backup would, also while a worker writes."""
        copy.unlink(missing_ok=True)
        with closing(sqlite3.connect(self.journal)) as here, closing(sqlite3.connect(copy)) as there:
            here.backup(there)

    @staticmethod
    def rename_journal(file: Path) -> None:
        """Give a journal another identity."""
        with closing(sqlite3.connect(file)) as run, run:
            run.execute("UPDATE setting SET value = ? WHERE name = 'identity'", (secrets.token_hex(32),))

    @contextmanager
    def journal_replaced(self, other: Path) -> Iterator[None]:
        """Have another journal in the place of ours for a while."""
        ours = self.journal.with_name("ours")
        # What SQLite keeps beside a journal belongs to it.
        beside = self.journal.with_name(f"{self.journal.name}-journal")
        self.journal.rename(ours)
        if beside.exists():
            beside.rename(ours.with_name("ours-journal"))
        shutil.copy(other, self.journal)
        yield
        beside.unlink(missing_ok=True)
        ours.replace(self.journal)
        if ours.with_name("ours-journal").exists():
            ours.with_name("ours-journal").rename(beside)

    def points(self) -> dict[str, dict[Fraction, Point]]:
        """Return the points in the journal, by query."""
        return self.points_in(self.journal)

    @staticmethod
    def points_in(journal: Path) -> dict[str, dict[Fraction, Point]]:
        found: dict[str, dict[Fraction, Point]] = {}
        with closing(sqlite3.connect(journal)) as run:
            rows = run.execute(
                "SELECT identifier, precision, coordinates FROM point JOIN query ON query.id = point.query"
            )
            for identifier, precision, coordinates in rows:
                found.setdefault(identifier, {})[from_text(precision)] = tuple(map(int, coordinates.split()))
        return found

    def remaining(self) -> Fraction:
        """Return what is left of the journal's own budget."""
        with closing(sqlite3.connect(self.journal)) as run:
            total, spent = run.execute("SELECT total, max(amount) FROM spent").fetchone()
        return from_text(total) - from_text(spent)
