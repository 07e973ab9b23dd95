"""Fault: the ledger's file is not what it should be: missing, foreign, damaged, out of reach, or taken away while open.

Permissions do not bind the superuser, so these faults are of kinds that bind everyone.
"""

from __future__ import annotations

import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from unittest import mock

import pytest

from faults import victim
from noiseledger import LocalLedger
from noiseledger.errors import LedgerBusy, LedgerError, LedgerExists, LedgerNotFound
from noiseledger.ledger import store

QUERY = victim.QUERIES[1]


@pytest.fixture
def file(tmp_path: Path) -> Path:
    made = tmp_path / "folder" / "ledger"
    made.parent.mkdir()
    with closing(victim.create(made)) as ledger:
        ledger.ask(QUERY, precision=1)
    return made


def open_and_ask(file: Path) -> None:
    with closing(LocalLedger.open(file, victim.SOURCE)) as ledger:
        ledger.ask(QUERY, precision=2)


def check_sentence(error: BaseException, file: Path) -> None:
    """Check that a person can tell from the message which file is meant."""
    assert str(file) in str(error)
    assert str(error).endswith(".")


def make_garbage(file: Path) -> None:
    file.write_bytes(b"not a ledger" * 1000)


def make_empty(file: Path) -> None:
    file.write_bytes(b"")


def make_foreign(file: Path) -> None:
    file.unlink()
    with closing(sqlite3.connect(file)) as run:
        run.execute("CREATE TABLE mine (text)")


def make_half(file: Path) -> None:
    file.write_bytes(file.read_bytes()[: file.stat().st_size // 2])


def make_damaged(file: Path) -> None:
    content = file.read_bytes()
    file.write_bytes(content[:4096] + bytes(len(content) - 4096))


def make_directory(file: Path) -> None:
    file.unlink()
    file.mkdir()


def remove_directory(file: Path) -> None:
    shutil.rmtree(file.parent)


def block_journal(file: Path) -> None:
    """Make the ledger read-only, also for the superuser: SQLite cannot write its journal where a directory is."""
    file.with_name(f"{file.name}-journal").mkdir()


@pytest.mark.parametrize("spoil", [make_garbage, make_empty, make_foreign, make_directory, remove_directory])
def test_what_is_not_a_ledger_is_not_opened(file: Path, spoil: Callable[[Path], None]) -> None:
    spoil(file)
    with pytest.raises(LedgerNotFound) as caught:
        open_and_ask(file)
    check_sentence(caught.value, file)


@pytest.mark.parametrize("spoil", [make_half, make_damaged, block_journal])
def test_a_ledger_that_cannot_be_used_says_so(file: Path, spoil: Callable[[Path], None]) -> None:
    spoil(file)
    with pytest.raises(LedgerError) as caught:
        open_and_ask(file)
    check_sentence(caught.value, file)


@pytest.mark.parametrize("spoil", [make_garbage, make_foreign, make_half, make_damaged, make_directory, block_journal])
def test_no_ledger_is_made_over_something_else(file: Path, spoil: Callable[[Path], None]) -> None:
    spoil(file)
    before = None if file.is_dir() else file.read_bytes()
    with pytest.raises(LedgerError) as caught:
        victim.create(file)
    check_sentence(caught.value, file)
    assert (None if file.is_dir() else file.read_bytes()) == before


def test_no_ledger_is_made_over_another(file: Path) -> None:
    with pytest.raises(LedgerExists) as caught:
        victim.create(file)
    check_sentence(caught.value, file)


def test_no_ledger_is_made_where_there_is_no_directory(file: Path) -> None:
    remove_directory(file)
    with pytest.raises(LedgerError) as caught:
        victim.create(file)
    check_sentence(caught.value, file)


@pytest.mark.parametrize(
    "spoil", [Path.unlink, lambda file: file.rename(f"{file}-moved"), remove_directory, block_journal]
)
def test_a_ledger_that_is_taken_away_while_open_gives_no_answer(file: Path, spoil: Callable[[Path], None]) -> None:
    """Else the answer would be out and its price forgotten."""
    with closing(LocalLedger.open(file, victim.SOURCE)) as ledger:
        spoil(file)
        with pytest.raises(LedgerError) as caught:
            ledger.ask(QUERY, precision=2)
    check_sentence(caught.value, file)


def test_the_message_names_the_cause(file: Path) -> None:
    with closing(LocalLedger.open(file, victim.SOURCE)) as ledger:
        block_journal(file)
        with pytest.raises(LedgerError, match=r"I/O|unable to open"):
            ledger.ask(QUERY, precision=2)


def test_a_closed_ledger_says_so(file: Path) -> None:
    ledger = LocalLedger.open(file, victim.SOURCE)
    ledger.close()
    with pytest.raises(LedgerError) as caught:
        ledger.ask(QUERY, precision=2)
    check_sentence(caught.value, file)


@pytest.mark.parametrize("lock", ["IMMEDIATE", "EXCLUSIVE"])
def test_a_ledger_that_someone_else_holds_is_busy(file: Path, lock: str) -> None:
    with mock.patch.object(store, "BUSY_SECONDS", 0), closing(LocalLedger.open(file, victim.SOURCE)) as ledger:
        with closing(sqlite3.connect(file, isolation_level=None)) as other:
            other.execute(f"BEGIN {lock}")
            with pytest.raises(LedgerBusy) as caught:
                ledger.ask(QUERY, precision=2)
            check_sentence(caught.value, file.parent)
        assert ledger.ask(QUERY, precision=2).cost == 1


def test_a_ledger_that_someone_else_holds_is_busy_to_open(file: Path) -> None:
    with (
        mock.patch.object(store, "BUSY_SECONDS", 0),
        closing(sqlite3.connect(file, isolation_level=None)) as other,
    ):
        other.execute("BEGIN EXCLUSIVE")
        with pytest.raises(LedgerBusy):
            LocalLedger.open(file)
