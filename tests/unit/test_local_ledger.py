"""What only a ledger in a file can get wrong."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from fractions import Fraction
from pathlib import Path

import pytest

from noiseledger.core.filters.condition import Kind
from noiseledger.core.privacy import MAX_PRECISION
from noiseledger.core.query import Column, Query
from noiseledger.core.sensitivity import Population
from noiseledger.data import Table
from noiseledger.errors import (
    DataMismatch,
    DataUnavailable,
    InvalidInput,
    LedgerBusy,
    LedgerError,
    LedgerExists,
    LedgerNotFound,
)
from noiseledger.ledger import LocalLedger, NaiveLedger, open_ledger, store
from noiseledger.ledger.store import from_text, to_text

KINDS: dict[str, Kind] = {"age": "number", "income": "number"}
PEOPLE = Table(({"age": n, "income": None if n == 7 else n} for n in range(50)), KINDS)
OVER_20 = Query.count("age > 20")


def create(file: Path, kind: type[LocalLedger] = LocalLedger, *, second_promise: bool = False) -> LocalLedger:
    return kind.create(
        file,
        epsilon=8,
        delta="1e-4",
        population=Population.replace(rows=50),
        queries=[OVER_20],
        source=PEOPLE,
        second_promise=second_promise,
    )


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "people.ledger"


def test_an_existing_file_is_never_overwritten(file: Path) -> None:
    create(file).ask(OVER_20, precision=1)
    before = file.read_bytes()
    with pytest.raises(LedgerExists, match="already exists and was not changed"):
        create(file)
    assert file.read_bytes() == before
    foreign = file.with_name("other.db")
    sqlite3.connect(foreign).execute("CREATE TABLE precious (x)").connection.close()
    with pytest.raises(LedgerExists):
        create(foreign)


def test_what_is_not_a_ledger_is_not_opened(tmp_path: Path) -> None:
    with pytest.raises(LedgerNotFound, match="no ledger at"):
        LocalLedger.open(tmp_path / "absent.ledger")
    with pytest.raises(LedgerNotFound, match="no ledger at"):
        LocalLedger.open(tmp_path)
    text = tmp_path / "notes.txt"
    text.write_text("not a database, but long enough to be looked at by SQLite " * 20)
    with pytest.raises(LedgerNotFound, match="not a noiseledger file"):
        LocalLedger.open(text)
    foreign = tmp_path / "other.db"
    sqlite3.connect(foreign).execute("CREATE TABLE precious (x)").connection.close()
    with pytest.raises(LedgerNotFound, match="not a noiseledger file"):
        LocalLedger.open(foreign)
    with pytest.raises(LedgerError, match="cannot be opened"):
        create(tmp_path / "no such folder" / "x.ledger")


def test_a_file_of_another_version_is_refused(file: Path) -> None:
    create(file).close()
    connection = sqlite3.connect(file)
    connection.execute("PRAGMA user_version = 99")
    connection.close()
    with pytest.raises(LedgerError, match="format 99"):
        LocalLedger.open(file)


def test_each_scheme_opens_as_itself(file: Path) -> None:
    create(file, NaiveLedger).close()
    with pytest.raises(LedgerError, match="naive scheme"):
        LocalLedger.open(file)
    assert type(open_ledger(file)) is NaiveLedger
    other = file.with_name("reuse.ledger")
    create(other, second_promise=True).close()
    assert type(open_ledger(other)) is LocalLedger


def test_without_data_only_free_requests_are_answered(file: Path) -> None:
    bought = create(file).ask(OVER_20, precision=1)
    reader = LocalLedger.open(file)
    assert reader.ask(OVER_20, precision=1).values == bought.values
    assert reader.ask(OVER_20, precision="0.5").cost == 0
    with pytest.raises(DataUnavailable, match="without its data"):
        reader.ask(OVER_20, precision=2)
    assert reader.budget().spent == 1


def test_other_data_is_refused(file: Path) -> None:
    create(file).close()
    with pytest.raises(DataMismatch, match="for 50 rows") as caught:
        LocalLedger.open(file, Table(({"age": n} for n in range(49)), KINDS))
    assert "49" not in str(caught.value)
    with pytest.raises(DataMismatch, match="no declared column age"):
        LocalLedger.open(file, Table(({"years": n} for n in range(50)), {"years": "number"}))


def test_a_sum_needs_a_rule_for_missing_values_whether_or_not_there_are_any(file: Path) -> None:
    """Else that a query is published would tell that nobody's value is missing."""
    ledger = create(file)
    income = Column.of("income", 0, 100)
    with pytest.raises(DataMismatch, match="no value for missing ones"):
        ledger.add(Query.sum(Column.of("age", 0, 100)))
    assert ledger.queries() == [OVER_20]
    with pytest.raises(DataMismatch, match="no value for missing ones"):
        LocalLedger.create(
            file.with_name("new.ledger"),
            epsilon=1,
            delta="1e-5",
            population=Population.replace(rows=50),
            queries=[Query.sum(income)],
            source=PEOPLE,
            second_promise=True,
        )
    assert not file.with_name("new.ledger").exists()


def test_rows_are_private_when_records_are_added_or_removed(file: Path) -> None:
    ledger = LocalLedger.create(
        file, epsilon=8, delta="1e-4", population=Population.add_remove(), queries=[Query.count()], source=PEOPLE
    )
    assert abs(ledger.ask(Query.count(), precision=1).value - 50) < 10
    with closing(sqlite3.connect(file)) as connection:
        settings = dict(connection.execute("SELECT * FROM setting").fetchall())
        assert connection.execute("SELECT number, rows FROM edition").fetchall() == [(0, None)]
    # As a whole value: the journal's random name may well have these digits somewhere.
    assert settings
    assert "50" not in map(str, settings.values())


def test_a_process_that_waits_too_long_is_told_so(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(store, "BUSY_SECONDS", 0.05)
    ledger = create(file)
    other = sqlite3.connect(file)
    other.execute("BEGIN EXCLUSIVE")
    with pytest.raises(LedgerBusy, match="nothing was changed"):
        ledger.ask(OVER_20, precision=1)
    other.close()
    assert ledger.ask(OVER_20, precision=1).cost == 1


def test_the_file_itself_refuses_to_overspend_or_to_answer_twice(file: Path) -> None:
    """The last guard, should all code above it be wrong."""
    create(file).ask(OVER_20, precision=1)
    connection = sqlite3.connect(file)
    with pytest.raises(sqlite3.IntegrityError, match="CHECK"):
        connection.execute("UPDATE spent SET amount = ?", (to_text(Fraction(4)),))
    with pytest.raises(sqlite3.IntegrityError, match="UNIQUE"):
        connection.execute(
            "INSERT INTO point (query, precision, coordinates, latest_record) VALUES (1, ?, '0', 1)",
            (to_text(Fraction(1)),),
        )
    connection.close()


def test_everything_is_on_disk_before_an_answer_is_returned(file: Path) -> None:
    with create(file)._store.reading() as run:
        assert run.execute("PRAGMA synchronous").fetchone() == (3,)  # EXTRA
        assert run.execute("PRAGMA journal_mode").fetchone() == ("delete",)  # the one file is the whole truth


def test_precisions_sort_as_text() -> None:
    precisions = [Fraction(0), Fraction(1, 3600 * 10**24), Fraction(1, 9), Fraction(2), Fraction(10), MAX_PRECISION]
    texts = [to_text(p) for p in precisions]
    assert texts == sorted(texts)
    assert [from_text(text) for text in texts] == precisions
    with pytest.raises(LedgerError, match="whole number of units"):
        to_text(Fraction(1, 7))


def test_an_overlong_analyst_is_refused(file: Path) -> None:
    with pytest.raises(InvalidInput, match="200 characters"):
        create(file).ask(OVER_20, precision=1, analyst="x" * 201)


def test_records_come_in_pages(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("noiseledger.ledger.book.RECORDS_PER_PAGE", 3)
    ledger = create(file)
    for _ in range(8):
        ledger.ask(OVER_20, exact_noise=True, precision=1)
    assert [record.number for record in ledger.records()] == list(range(1, 9))
