"""The relay's memory: every accepted request, and every transaction that was or may have been sent, in one SQLite file.

Why nothing is lost or doubled: a request is on the disk before its sender is told that it was accepted, and the nonce of a
transaction before the transaction is sent, so that after a crash only the same transaction can be sent again.
"""

from __future__ import annotations

import os
import sqlite3
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from noiseledger.chain.signed_ask import SignedAsk
from noiseledger.errors import LedgerBusy, LedgerError, LedgerFull, LedgerNotFound

_VERSION = 1
_SCHEMA = (
    "CREATE TABLE belongs (chain_id INTEGER NOT NULL, ledger TEXT NOT NULL, relay TEXT NOT NULL)",
    "CREATE TABLE request (identifier TEXT PRIMARY KEY, analyst TEXT NOT NULL, nonce INTEGER NOT NULL, content TEXT NOT NULL, "
    "first_block INTEGER NOT NULL, state TEXT NOT NULL, reason TEXT, transaction_hash TEXT, block INTEGER)",
    "CREATE INDEX open_requests ON request (state, analyst, nonce)",
    "CREATE TABLE sending (request TEXT NOT NULL REFERENCES request, account_nonce INTEGER NOT NULL, day TEXT NOT NULL, "
    "gas INTEGER NOT NULL, PRIMARY KEY (request, account_nonce))",
    f"PRAGMA user_version = {_VERSION}",
)


class State(StrEnum):
    """What became of a request."""

    QUEUED = "queued"
    SENT = "sent"
    IN_BLOCK = "in block"
    FINAL = "final"
    REFUSED = "refused"


#: Requests that the relay still has to do something about.
OPEN = (State.QUEUED, State.SENT, State.IN_BLOCK)


@dataclass(frozen=True)
class RelayedRequest:
    """A request that was accepted, and what became of it."""

    signed: SignedAsk
    #: The newest block when it was accepted: it cannot be on the chain before.
    first_block: int
    state: State
    reason: str | None = None
    transaction: str | None = None
    block: int | None = None

    @property
    def identifier(self) -> str:
        """The name of the request."""
        return self.signed.identifier

    @property
    def nonce(self) -> int:
        """The nonce of the analyst's signature."""
        return self.signed.data.nonce


class RelayStore:
    """One open file, which no other process can use at the same time."""

    def __init__(self, file: Path, chain_id: int, ledger: str, relay: str) -> None:
        """Open the file, or create it; refuse one of another relay."""
        self.file = file
        self._lock = threading.RLock()
        with suppress(OSError):
            os.close(os.open(file, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
        with self._typed_errors():
            self._connection = sqlite3.connect(file, timeout=1, isolation_level=None, check_same_thread=False)
            try:
                self._prepare((chain_id, ledger, relay))
            except BaseException:
                self._connection.close()
                raise

    def _prepare(self, belongs: tuple[int, str, str]) -> None:
        # Two processes would give one nonce to two transactions: the lock is kept until the file is closed.
        for pragma in ("locking_mode = EXCLUSIVE", "synchronous = EXTRA", "trusted_schema = OFF"):
            self._connection.execute(f"PRAGMA {pragma}")
        with self._transaction() as run:
            (version,) = run.execute("PRAGMA user_version").fetchone()
            if not version and not run.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]:
                for statement in _SCHEMA:
                    run.execute(statement)
                run.execute("INSERT INTO belongs VALUES (?, ?, ?)", belongs)
            elif version != _VERSION:
                raise LedgerNotFound(f"{self.file.name} is not the file of a relay: choose another --store.")
            if run.execute("SELECT * FROM belongs").fetchone() != belongs:
                raise LedgerError(
                    f"{self.file.name} belongs to a relay with another ledger, chain or key: choose another --store."
                )

    def close(self) -> None:
        """Close the file."""
        with self._lock:
            self._connection.close()

    def add(self, signed: SignedAsk, first_block: int) -> None:
        """Accept a request, durably; one that was refused before is queued again."""
        row = signed.identifier, signed.analyst, signed.data.nonce, signed.dump(), first_block, State.QUEUED
        with self._transaction() as run:
            run.execute("INSERT OR REPLACE INTO request VALUES (?, ?, ?, ?, ?, ?, NULL, NULL, NULL)", row)

    def find(self, identifier: str) -> RelayedRequest | None:
        """Return a request by its name."""
        return next(iter(self._entries("identifier = ?", identifier)), None)

    def entries(self, *states: State) -> list[RelayedRequest]:
        """Return the requests in these states, of each analyst in the order of their nonces."""
        return self._entries(f"state IN ({','.join('?' * len(states))})", *states)

    def of(self, analyst: str) -> list[RelayedRequest]:
        """Return the requests of an analyst that are not in a block yet, in order."""
        return self._entries("analyst = ? AND state IN (?, ?)", analyst, State.QUEUED, State.SENT)

    def _entries(self, condition: str, *values: str) -> list[RelayedRequest]:
        columns = "content, first_block, state, reason, transaction_hash, block"
        with self._lock, self._typed_errors():
            rows = self._connection.execute(
                f"SELECT {columns} FROM request WHERE {condition} ORDER BY analyst, nonce",  # noqa: S608 - only our own text
                values,
            ).fetchall()
        return [
            RelayedRequest(SignedAsk.read(content), block, State(state), *others)
            for content, block, state, *others in rows
        ]

    def reserve(self, entry: RelayedRequest, account_nonce: int, day: str, gas: int) -> None:
        """Note, durably and before anything is sent, with which nonce of the relay's account and how much gas it will be."""
        with self._transaction() as run:
            run.execute(
                "INSERT OR REPLACE INTO sending VALUES (?, ?, ?, ?)", (entry.identifier, account_nonce, day, gas)
            )
            run.execute("UPDATE request SET state = ? WHERE identifier = ?", (State.SENT, entry.identifier))

    def sendings(self, identifier: str) -> list[tuple[int, int]]:
        """Return the account's nonce and the gas of each transaction for a request, in order."""
        with self._lock, self._typed_errors():
            found: list[tuple[int, int]] = self._connection.execute(
                "SELECT account_nonce, gas FROM sending WHERE request = ? ORDER BY account_nonce", (identifier,)
            ).fetchall()
        return found

    def last_reserved(self) -> int:
        """Return the largest nonce of the account that an open request has reserved; -1 if there is none."""
        query = (
            "SELECT coalesce(max(account_nonce), -1) FROM sending JOIN request ON request = identifier "
            "WHERE state IN (?, ?)"
        )
        with self._lock, self._typed_errors():
            return int(self._connection.execute(query, (State.SENT, State.IN_BLOCK)).fetchone()[0])

    def used(self, identifier: str, account_nonce: int, gas: int) -> None:
        """Note how much gas a transaction has really used."""
        with self._transaction() as run:
            run.execute(
                "UPDATE sending SET gas = ? WHERE request = ? AND account_nonce = ?", (gas, identifier, account_nonce)
            )

    def gas_on(self, day: str) -> int:
        """Return the gas of the transactions of one day: what they used or, before that is known, what they may use."""
        with self._lock, self._typed_errors():
            found = self._connection.execute("SELECT coalesce(sum(gas), 0) FROM sending WHERE day = ?", (day,))
            return int(found.fetchone()[0])

    def change(
        self,
        entry: RelayedRequest,
        state: State,
        *,
        reason: str | None = None,
        transaction: str | None = None,
        block: int | None = None,
    ) -> None:
        """Note what became of a request."""
        values: Sequence[str | int | None] = state, reason, transaction, block, entry.identifier
        with self._transaction() as run:
            run.execute(
                "UPDATE request SET state = ?, reason = ?, transaction_hash = ?, block = ? WHERE identifier = ?", values
            )

    @contextmanager
    def _transaction(self) -> Iterator[sqlite3.Connection]:
        with self._lock, self._typed_errors():
            self._connection.execute("BEGIN EXCLUSIVE")
            try:
                yield self._connection
                self._connection.execute("COMMIT")
            except BaseException:
                if self._connection.in_transaction:
                    self._connection.execute("ROLLBACK")
                raise

    @contextmanager
    def _typed_errors(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.Error as error:
            raise self._typed(error) from None

    def _typed(self, error: sqlite3.Error) -> LedgerError:
        code = getattr(error, "sqlite_errorcode", 0) & 0xFF
        if code in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
            return LedgerBusy(
                f"Another relay uses {self.file.name}: stop it first, or choose another --store and another key."
            )
        if code == sqlite3.SQLITE_FULL:
            return LedgerFull(
                f"There is no disk space left for {self.file.name}; nothing was accepted. Free some and try again."
            )
        if code == sqlite3.SQLITE_NOTADB:
            return LedgerNotFound(f"{self.file.name} is not the file of a relay: choose another --store.")
        return LedgerError(f"The relay's file {self.file.name} failed, and nothing was changed: {error}.")
