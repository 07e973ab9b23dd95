"""A journal that is rebuilt from what is public: what is known is repeated, what may have been said is not said again."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import pytest

from noiseledger.core.query import Query
from noiseledger.core.sensitivity import Population
from noiseledger.custodian.journal import Journal
from noiseledger.data import Table
from noiseledger.errors import BudgetExceeded, DataMismatch, LedgerFull, LedgerNotFound, QueryClosed

PEOPLE = Table(({"age": n} for n in range(50)), {"age": "number"})
OVER_20, OVER_30, OVER_40 = (Query.count(f"age > {age}") for age in (20, 30, 40))
HALF, ONE, TWO = Fraction(1, 2), Fraction(1), Fraction(2)


@pytest.fixture
def journal(tmp_path: Path) -> Journal:
    return create(tmp_path / "journal.ledger")


def create(file: Path, identity: str | None = None) -> Journal:
    return Journal.create(
        file,
        epsilon=8,
        delta="1e-4",
        population=Population.replace(rows=50),
        queries=[OVER_20, OVER_30, OVER_40],
        source=PEOPLE,
        identity=identity,
    )


def test_a_closed_query_stays_closed_when_nothing_more_is_restored(journal: Journal) -> None:
    journal.restore({}, {OVER_20: ONE})
    closed = journal.closed()
    assert closed == {OVER_20.identifier: ONE}
    journal.restore({}, {})
    assert journal.closed() == closed
    with pytest.raises(QueryClosed):
        journal.ask(OVER_20, exact_noise=True, precision=2)


def test_restored_points_are_repeated_and_counted(journal: Journal) -> None:
    journal.restore({OVER_20: {HALF: (7,), ONE: (9,)}}, {OVER_20: ONE})
    assert journal.budget().spent == ONE
    assert journal.ask(OVER_20, exact_noise=True, precision=HALF).reveal.point == (7,)
    assert journal.ask(OVER_20, exact_noise=True, precision=ONE).reveal.point == (9,)
    assert journal.budget().spent == ONE
    assert [record.analyst for record in journal.records()][:2] == ["restored", "restored"]
    # All that was bought is known, so it goes on from there.
    journal.ask(OVER_20, exact_noise=True, precision=TWO)
    assert journal.budget().spent == TWO
    assert journal.closed() == {}


def test_what_was_bought_and_is_not_known_is_closed_for_good(journal: Journal, tmp_path: Path) -> None:
    journal.restore({OVER_20: {HALF: (7,)}}, {OVER_20: ONE, OVER_30: HALF})
    for query, precision in ((OVER_20, ONE), (OVER_20, TWO), (OVER_20, Fraction(1, 4)), (OVER_30, HALF)):
        with pytest.raises(QueryClosed, match="privacy that no budget contains"):
            journal.ask(query, exact_noise=True, precision=precision)
    journal.close()
    again = Journal.open(tmp_path / "journal.ledger", PEOPLE)
    assert again.closed() == {OVER_20.identifier: ONE, OVER_30.identifier: HALF}
    assert again.budget().spent == ONE + HALF  # it may have been said, so it is spent
    assert again.ask(OVER_20, exact_noise=True, precision=HALF).reveal.point == (7,)
    again.ask(OVER_40, exact_noise=True, precision=HALF)
    with pytest.raises(QueryClosed):
        again.ask(OVER_30, exact_noise=True, precision=TWO)


def test_what_turns_up_later_opens_the_query_again(journal: Journal) -> None:
    journal.restore({}, {OVER_20: ONE})
    journal.restore({OVER_20: {ONE: (5,)}}, {OVER_20: ONE})
    assert journal.closed() == {}
    assert journal.budget().spent == ONE
    assert journal.ask(OVER_20, exact_noise=True, precision=ONE).reveal.point == (5,)


def test_an_old_copy_keeps_what_it_knows(journal: Journal) -> None:
    known = journal.ask(OVER_20, exact_noise=True, precision=TWO).reveal.point
    journal.restore({OVER_30: {ONE: (5,)}}, {OVER_30: ONE})
    assert journal.ask(OVER_20, exact_noise=True, precision=TWO).reveal.point == known
    assert journal.budget().spent == TWO + ONE


def test_a_chain_that_forgot_leaves_nothing_to_spend(journal: Journal) -> None:
    journal.ask(OVER_20, exact_noise=True, precision=3)
    journal.restore({OVER_30: {TWO: (5,)}}, {OVER_30: TWO})
    assert journal.budget().remaining == 0
    with pytest.raises(BudgetExceeded):
        journal.ask(OVER_40, exact_noise=True, precision=HALF)


def test_another_answer_is_refused_and_changes_nothing(journal: Journal) -> None:
    journal.ask(OVER_20, exact_noise=True, precision=ONE)
    with pytest.raises(DataMismatch, match="not the journal of this ledger"):
        journal.restore({OVER_30: {ONE: (5,)}, OVER_20: {ONE: (10**30,)}}, {OVER_20: TWO})
    assert journal.closed() == {}
    assert journal.budget().spent == ONE


def test_a_name_can_be_given(tmp_path: Path) -> None:
    # In a folder each: a second ledger of the same data beside the first is refused.
    folders = [tmp_path / name for name in "abc"]
    for folder in folders:
        folder.mkdir()
    assert create(folders[0] / "journal", "ab" * 32).identity == "ab" * 32
    assert create(folders[1] / "journal").identity != create(folders[2] / "journal").identity


def test_a_full_disk_is_said_and_changes_nothing(journal: Journal) -> None:
    connection = journal._store._connection
    pages = connection.execute("PRAGMA page_count").fetchone()[0]
    connection.execute(f"PRAGMA max_page_count = {pages}")
    before = journal.budget()

    def ask_many() -> None:
        for precision in range(1, 300):
            journal.ask(OVER_20, exact_noise=True, precision=Fraction(precision, 1000))

    with pytest.raises(LedgerFull, match="no disk space left"):
        ask_many()
    drawn = len(list(journal.records()))
    connection.execute("PRAGMA max_page_count = 1000000")
    assert before.spent <= journal.budget().spent < Fraction(3, 10)
    journal.ask(OVER_20, exact_noise=True, precision=ONE)
    assert len(list(journal.records())) == drawn + 1


def test_nothing_is_written_to_a_file_that_is_gone(journal: Journal, tmp_path: Path) -> None:
    file = tmp_path / "journal.ledger"
    moved = file.rename(tmp_path / "elsewhere")
    with pytest.raises(LedgerNotFound, match="removed or replaced"):
        journal.ask(OVER_20, exact_noise=True, precision=ONE)
    file.write_bytes(moved.read_bytes())
    with pytest.raises(LedgerNotFound, match="removed or replaced"):
        journal.ask(OVER_20, exact_noise=True, precision=ONE)
    moved.replace(file)
    journal.ask(OVER_20, exact_noise=True, precision=ONE)
