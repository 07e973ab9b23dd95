"""The file of a local ledger: durable, one writer, one state for a reader, exact numbers."""

from __future__ import annotations

import os
import stat
from contextlib import closing
from fractions import Fraction
from pathlib import Path

import pytest

from noiseledger.core.privacy import UNITS
from noiseledger.errors import LedgerBusy, LedgerError, LedgerNotFound
from noiseledger.ledger import store
from noiseledger.ledger.store import Store, from_text, to_text


@pytest.fixture
def file(tmp_path: Path) -> Path:
    place = tmp_path / "ledger"
    with closing(Store(place, create=True)) as made, made.initialising(Fraction(1), one_value_per_point=True):
        pass
    return place


def test_a_new_file_is_for_its_owner_only_whatever_the_umask(tmp_path: Path) -> None:
    """It may contain noise that is not released yet, also while SQLite writes it."""
    before = os.umask(0)
    try:
        with closing(Store(tmp_path / "ledger", create=True)) as made:
            with made.initialising(Fraction(1), one_value_per_point=True):
                modes = {file.name: stat.S_IMODE(file.stat().st_mode) for file in tmp_path.iterdir()}
            assert modes == {"ledger": 0o600, "ledger-journal": 0o600}
    finally:
        os.umask(before)


def test_a_commit_is_on_the_disk_and_the_file_is_not_trusted(file: Path) -> None:
    with closing(Store(file)) as opened, opened.reading() as run:
        settings = {
            name: run.execute(f"PRAGMA {name}").fetchone()[0]
            for name in ("synchronous", "foreign_keys", "trusted_schema", "journal_mode")
        }
    assert settings == {"synchronous": 3, "foreign_keys": 1, "trusted_schema": 0, "journal_mode": "delete"}


def test_many_commits_leave_no_second_file_behind(file: Path) -> None:
    """While it is open, the second file is empty: the one file is the whole truth."""
    with closing(Store(file)) as often:
        often.commit_often()
        for number in range(2):
            with often.transaction() as run:
                run.execute("INSERT INTO setting VALUES (?, 'b')", (str(number),))
            assert file.with_name("ledger-journal").read_bytes() == b""
            with closing(Store(file)) as other, other.reading() as run:
                assert run.execute("SELECT count(*) FROM setting").fetchone() == (number + 1,)
        with often.reading() as run:
            assert run.execute("PRAGMA synchronous").fetchone() == (3,)  # EXTRA
    assert [one.name for one in file.parent.iterdir()] == ["ledger"]


def test_the_version_tells_of_every_change_but_our_own(file: Path) -> None:
    with closing(Store(file)) as one, closing(Store(file)) as other:
        old, version = file.read_bytes(), one.version()
        with one.transaction() as run:
            run.execute("INSERT INTO setting VALUES ('a', 'b')")
        assert one.version() == version
        with other.transaction() as run:
            run.execute("INSERT INTO setting VALUES ('c', 'd')")
        assert (changed := one.version()) != version
        assert one.version() == changed
        file.write_bytes(old)
        assert one.version() != changed


def test_a_reader_sees_one_state_and_writers_wait_for_each_other(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(store, "BUSY_SECONDS", 0)
    with closing(Store(file)) as one, closing(Store(file)) as other:
        with one.reading() as run:
            assert run.execute("SELECT count(*) FROM setting").fetchone() == (0,)
            with pytest.raises(LedgerBusy), other.transaction() as writer:
                writer.execute("INSERT INTO setting VALUES ('a', 'b')")
            assert run.execute("SELECT count(*) FROM setting").fetchone() == (0,)
        with one.transaction(), pytest.raises(LedgerBusy), other.transaction():
            pass  # before anything is read: what is read is not stale
        with other.transaction() as writer:
            writer.execute("INSERT INTO setting VALUES ('a', 'b')")
        with one.reading() as run:
            assert run.execute("SELECT count(*) FROM setting").fetchone() == (1,)


def test_a_transaction_that_fails_leaves_nothing_behind(file: Path) -> None:
    with closing(Store(file)) as opened:
        with pytest.raises(LedgerError, match="UNIQUE"), opened.transaction() as run:
            run.executemany("INSERT INTO setting VALUES (?, 'b')", [("a",), ("a",)])
        with opened.transaction() as run:
            assert run.execute("SELECT count(*) FROM setting").fetchone() == (0,)


def test_nothing_is_written_to_a_file_that_was_replaced(file: Path) -> None:
    with closing(Store(file)) as opened:
        file.rename(file.with_name("elsewhere"))
        with pytest.raises(LedgerNotFound, match="removed or replaced"), opened.transaction():
            pass
        file.write_bytes(file.with_name("elsewhere").read_bytes())
        with pytest.raises(LedgerNotFound, match="removed or replaced"), opened.transaction():
            pass


def test_the_file_itself_refuses_to_overspend(file: Path) -> None:
    with closing(Store(file)) as opened:
        with pytest.raises(LedgerError, match="CHECK"), opened.transaction() as run:
            run.execute("UPDATE budget SET spent = ?", (to_text(Fraction(1) + Fraction(1, UNITS)),))
        with opened.transaction() as run:
            run.execute("UPDATE budget SET spent = ?", (to_text(Fraction(1)),))


@pytest.mark.parametrize("units", [0, 1, 7 * UNITS, 10**39 - 1])
def test_a_precision_is_written_exactly_and_sorts_as_text(units: int) -> None:
    text = to_text(Fraction(units, UNITS))
    assert len(text) == 39
    assert from_text(text) == Fraction(units, UNITS)
    assert units == 0 or to_text(Fraction(units - 1, UNITS)) < text


@pytest.mark.parametrize("precision", [Fraction(1, 7), Fraction(-1, UNITS), Fraction(10**39, UNITS)])
def test_what_is_no_whole_number_of_units_is_not_written(precision: Fraction) -> None:
    with pytest.raises(LedgerError, match="whole number of units"):
        to_text(precision)
