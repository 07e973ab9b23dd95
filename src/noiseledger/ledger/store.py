"""The SQLite file of a local ledger: tables, exact numbers, and transactions that are all or nothing.

Why the promise holds: there is one writer at a time from the first read to the commit (BEGIN IMMEDIATE), so a price can never
go stale; the commit is on the disk before it returns (synchronous=EXTRA, rollback journal), so an answer that has left the
process is in the file even if the process or the machine is killed; nothing is written to a file that was moved, removed or
replaced in the meantime, because it would be lost; and the file itself refuses to overspend (a CHECK) or to store a second
value for a known point (a UNIQUE index).
"""

from __future__ import annotations

import os
import sqlite3
import threading
import weakref
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from fractions import Fraction
from pathlib import Path

from noiseledger.core.privacy import UNITS
from noiseledger.errors import LedgerBusy, LedgerError, LedgerExists, LedgerFull, LedgerNotFound

APPLICATION_ID = 0x4E4C4447  # "NLDG"
SCHEMA_VERSION = 3
BUSY_SECONDS = 60

# Precisions are whole units, written with 39 digits (enough for 128 bits) so that texts sort like numbers.
_DIGITS = 39
_SCHEMA = """
CREATE TABLE setting (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE budget (
    id INTEGER PRIMARY KEY CHECK (id = 1),
    total TEXT NOT NULL,
    spent TEXT NOT NULL,
    CHECK (length(total) = 39 AND length(spent) = 39 AND spent <= total)
);
CREATE TABLE query (
    id INTEGER PRIMARY KEY,
    identifier TEXT NOT NULL UNIQUE,
    definition TEXT NOT NULL,
    sensitivity TEXT NOT NULL
);
CREATE TABLE point (
    id INTEGER PRIMARY KEY,
    query INTEGER NOT NULL REFERENCES query,
    precision TEXT NOT NULL CHECK (length(precision) = 39),
    coordinates TEXT NOT NULL,
    latest_record INTEGER NOT NULL
);
CREATE TABLE record (
    number INTEGER PRIMARY KEY,
    point INTEGER NOT NULL REFERENCES point,
    analyst TEXT NOT NULL,
    asked_at TEXT NOT NULL,
    epsilon TEXT,
    delta TEXT,
    paper_case TEXT NOT NULL,
    cost TEXT NOT NULL,
    built_from TEXT NOT NULL,
    spent TEXT NOT NULL
);
CREATE TABLE closed (
    query INTEGER PRIMARY KEY REFERENCES query,
    until TEXT NOT NULL CHECK (length(until) = 39)
);
"""


def to_text(precision: Fraction) -> str:
    """Write a precision in whole units."""
    units = precision * UNITS
    if units.denominator != 1 or not 0 <= units < 10**_DIGITS:
        raise LedgerError(f"The precision {precision} is not a whole number of units of 1/{UNITS}.")
    return f"{int(units):0{_DIGITS}d}"


def from_text(text: str) -> Fraction:
    """Read a precision in whole units."""
    return Fraction(int(text), UNITS)


class Store:
    """One open file."""

    def __init__(self, file: Path, *, create: bool = False) -> None:
        """Open the file; with ``create``, it may be missing."""
        self.file = file
        if not create and not file.is_file():
            raise LedgerNotFound(f"There is no ledger at {file}: create one with LocalLedger.create.")
        if create:
            # For its owner only, whatever the umask: a journal contains noise that is not released yet. SQLite, which would
            # create it for everyone to read, says what is wrong if this fails, and gives its other files the same mode.
            with suppress(OSError):
                os.close(os.open(file, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
        try:
            self._connection = sqlite3.connect(
                file, timeout=BUSY_SECONDS, isolation_level=None, check_same_thread=False
            )
        except sqlite3.Error as error:
            raise LedgerError(f"The ledger at {file} cannot be opened: {error}.") from None
        # Closes the file when the ledger is garbage-collected.
        self._finalizer = weakref.finalize(self, self._connection.close)
        # A connection serves one thread at a time; SQLite itself coordinates several processes.
        self._lock = threading.RLock()
        try:
            with self._typed_errors():
                self._prepare(create=create)
            self._mark = _mark(file)
        except BaseException:
            self.close()
            raise

    def _prepare(self, *, create: bool) -> None:
        for pragma in ("synchronous = EXTRA", "foreign_keys = ON", "trusted_schema = OFF"):
            self._connection.execute(f"PRAGMA {pragma}")
        application, version = (self._connection.execute(f"PRAGMA {name}").fetchone()[0] for name in _MARKS)
        if create:
            return
        if application != APPLICATION_ID:
            raise LedgerNotFound(f"{self.file} is not a noiseledger file.")
        if version != SCHEMA_VERSION:
            raise LedgerError(
                f"{self.file} has format {version}, this version of noiseledger reads {SCHEMA_VERSION}. Formats up to 2 do not "
                "record which data they belong to: use the version that created the file, or create a new ledger."
            )

    @contextmanager
    def initialising(self, total: Fraction, *, one_value_per_point: bool) -> Iterator[sqlite3.Connection]:
        """Write tables and the unspent budget, and let the caller add more, in one transaction."""
        with self.transaction() as run:
            if run.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]:
                raise LedgerExists(f"{self.file} already exists and was not changed: open it, or choose another name.")
            for statement in _SCHEMA.split(";\n"):
                run.execute(statement)
            unique = "UNIQUE" if one_value_per_point else ""
            run.execute(f"CREATE {unique} INDEX point_of_query ON point (query, precision)")
            run.execute("INSERT INTO budget VALUES (1, ?, ?)", (to_text(total), to_text(Fraction(0))))
            for name, value in zip(_MARKS, (APPLICATION_ID, SCHEMA_VERSION), strict=True):
                run.execute(f"PRAGMA {name} = {value}")
            yield run

    @contextmanager
    def transaction(self) -> Iterator[sqlite3.Connection]:
        """Lock the file for writing; commit durably at the end, or leave everything unchanged."""
        with self._lock, self._typed_errors():
            self._connection.execute("BEGIN IMMEDIATE")
            try:
                self._check_there()
                yield self._connection
                self._connection.execute("COMMIT")
            except BaseException:
                if self._connection.in_transaction:
                    self._connection.execute("ROLLBACK")
                raise

    @contextmanager
    def reading(self) -> Iterator[sqlite3.Connection]:
        """Read one consistent state of the file."""
        with self._lock, self._typed_errors():
            self._connection.execute("BEGIN")
            try:
                yield self._connection
            finally:
                # After some errors SQLite has already rolled back.
                if self._connection.in_transaction:
                    self._connection.execute("ROLLBACK")

    def version(self) -> int:
        """Return a number that stays the same until anything but this object changes the file, or overwrites it."""
        with self.reading() as run:
            return int(run.execute("PRAGMA data_version").fetchone()[0])

    def commit_often(self) -> None:
        """Keep SQLite's rollback file, empty, between transactions: a commit need not create and remove it.

        Why the promise holds: emptying it commits, and is on the disk before the commit returns, as its removal otherwise is.
        """
        with self._lock, self._typed_errors():
            self._connection.execute("PRAGMA journal_mode = TRUNCATE")

    def close(self) -> None:
        """Close the file."""
        if self._finalizer.alive:
            with suppress(sqlite3.Error):  # if another process writes just now: it leaves an empty file, or removes it
                self._connection.execute("PRAGMA journal_mode = DELETE")
        self._finalizer()

    def _check_there(self) -> None:
        if _mark(self.file) != self._mark:
            raise LedgerNotFound(f"{self.file} was removed or replaced while it was in use; nothing was changed.")

    @contextmanager
    def _typed_errors(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.Error as error:
            raise self._typed(error) from None

    def _typed(self, error: sqlite3.Error) -> LedgerError:
        # Errors of the Python module itself, such as a closed connection, carry no code.
        code = getattr(error, "sqlite_errorcode", 0) & 0xFF
        if code in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
            return LedgerBusy(
                f"Another process locked {self.file} for more than {BUSY_SECONDS} seconds; nothing was changed. Try again."
            )
        if code == sqlite3.SQLITE_FULL:
            return LedgerFull(
                f"There is no disk space left for {self.file}; nothing was changed. Free some and try again."
            )
        if code == sqlite3.SQLITE_NOTADB:
            return LedgerNotFound(f"{self.file} is not a noiseledger file.")
        return LedgerError(f"The ledger at {self.file} failed, and nothing was changed: {error}.")


def _mark(file: Path) -> tuple[int, int] | None:
    """Return what distinguishes a file from any other that may later have the same name."""
    try:
        found = file.stat()
    except OSError:
        return None
    return found.st_dev, found.st_ino


_MARKS = ("application_id", "user_version")
