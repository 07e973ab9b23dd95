"""A local ledger draws from the data that it was made with, as it was when it was opened, and from no other."""

from __future__ import annotations

import shutil
import sqlite3
import stat
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from pathlib import Path

import pytest

from noiseledger.core.filters.condition import Kind
from noiseledger.core.query import Query
from noiseledger.core.sensitivity import Population
from noiseledger.data import Table
from noiseledger.data.fingerprint import fingerprint_of
from noiseledger.data.pinned import Pinned
from noiseledger.data.record import Record
from noiseledger.errors import (
    BudgetExceeded,
    DataMismatch,
    DataUnavailable,
    InvalidInput,
    LedgerError,
    LedgerExists,
    PublishedBefore,
)
from noiseledger.ledger import LocalLedger, open_ledger
from noiseledger.ledger.bound import key_file

OVER_20, OVER_30 = Query.count("age > 20"), Query.count("age > 30")
RECORDS = [{"age": n} for n in range(50)]
KINDS: dict[str, Kind] = {"age": "number"}
PEOPLE = Table(RECORDS, KINDS)
SECRET = bytes(32)


class Watched(Table):
    """Counts how often it is looked at; ``now`` may be changed."""

    def __init__(self, records: Sequence[Mapping[str, int]]) -> None:
        super().__init__(records, KINDS)
        self.now, self.looks = Table(records, KINDS), 0

    def totals(self, query: Query) -> Sequence[int]:
        self.looks += 1
        return self.now.totals(query)

    def records(self) -> Iterator[Record]:
        self.looks += 1
        return self.now.records()


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "people.ledger"


def create(file: Path, source: Table | Pinned | None = PEOPLE) -> LocalLedger:
    population = Population.replace(rows=50)
    return LocalLedger.create(file, epsilon=8, delta="1e-4", population=population, queries=[OVER_20], source=source)


def test_other_data_is_refused_and_nothing_changes(file: Path) -> None:
    create(file).ask(OVER_20, precision=1)
    before = file.read_bytes()
    others = Table([*RECORDS[:-1], {"age": 48}], KINDS)
    with pytest.raises(DataMismatch, match="other data"):
        open_ledger(file, others)
    assert file.read_bytes() == before
    assert open_ledger(file, PEOPLE).ask(OVER_20, precision=2).cost == 1


def test_the_same_data_in_another_order_is_the_same(file: Path) -> None:
    create(file).close()
    assert open_ledger(file, Table(RECORDS[::-1], KINDS)).ask(OVER_20, precision=1).cost == 1


def test_answers_of_two_datasets_do_not_blend(tmp_path: Path) -> None:
    full, none = (Table([{"age": age}] * 1000, KINDS) for age in (40, 10))
    file = tmp_path / "ledger"
    population = Population.replace(rows=1000)
    LocalLedger.create(file, epsilon=8, delta="1e-4", population=population, queries=[OVER_20], source=full).close()
    with pytest.raises(DataMismatch):
        open_ledger(file, none)


def test_the_data_is_not_touched_when_somebody_asks(file: Path) -> None:
    people = Watched(RECORDS)
    ledger = create(file, people)
    looks = people.looks
    people.now = Table([{"age": 0}] * 50, KINDS)
    for precision in ("1", "0.5", "3"):
        ledger.ask(OVER_20, precision=precision)
    with pytest.raises(BudgetExceeded):
        ledger.ask(OVER_20, precision=4)
    assert people.looks == looks
    # 29 are older than 20; had it looked again, the answer would be near 10 (deviation 0.58).
    assert abs(ledger.ask(OVER_20, precision=3).value - 29) < 6
    with pytest.raises(DataMismatch):
        ledger.add(OVER_30)
    assert ledger.queries() == [OVER_20]


def test_data_that_changes_while_it_is_read_is_refused(file: Path) -> None:
    class Edited(Watched):
        def records(self) -> Iterator[Record]:
            found = super().records()
            self.now = Table([{"age": 0}] * 50, KINDS)
            return found

    with pytest.raises(DataMismatch, match="changed while it was read"):
        create(file, Edited(RECORDS))


def test_queries_that_are_added_can_be_asked_at_once(file: Path) -> None:
    ledger = create(file)
    other = open_ledger(file, PEOPLE)
    ledger.add(OVER_30)
    assert abs(ledger.ask(OVER_30, precision=1).value - 19) < 10
    with pytest.raises(DataUnavailable, match="open it again"):
        other.ask(OVER_30, precision=2)
    assert other.ask(OVER_30, precision=1).cost == 0


def test_a_ledger_made_without_data_belongs_to_the_first(file: Path) -> None:
    create(file, None).close()
    open_ledger(file, PEOPLE).close()
    with pytest.raises(DataMismatch):
        open_ledger(file, Table([{"age": 0}] * 50, KINDS))


def test_without_the_key_only_what_is_free_is_answered(file: Path) -> None:
    create(file).ask(OVER_20, precision=1)
    key = key_file(file)
    assert stat.S_IMODE(key.stat().st_mode) == 0o600
    kept = key.read_text()
    key.unlink()
    with pytest.raises(InvalidInput, match="put it back"):
        open_ledger(file, PEOPLE)
    assert not key.exists()
    assert open_ledger(file).ask(OVER_20, precision=1).cost == 0
    key.write_text(kept)
    key.chmod(0o600)
    open_ledger(file, PEOPLE).close()


def test_the_ledger_file_does_not_hold_the_key(file: Path) -> None:
    create(file).close()
    key = bytes.fromhex(key_file(file).read_text())
    content = file.read_bytes()
    assert key not in content
    assert key.hex().encode() not in content
    assert fingerprint_of(RECORDS, key).hex().encode() in content
    assert fingerprint_of(RECORDS, SECRET) != fingerprint_of(RECORDS, key)


def test_a_journal_is_bound_to_the_root_without_a_key(file: Path) -> None:
    pinned = Pinned(PEOPLE, [OVER_20], SECRET)
    create(file, pinned).ask(OVER_20, precision=1)
    assert not key_file(file).exists()
    LocalLedger.open(file, Pinned(Table(RECORDS[::-1], KINDS), [OVER_20], SECRET)).close()
    for other in (Pinned(Table([{"age": 0}] * 50, KINDS), [OVER_20], SECRET), PEOPLE):
        with pytest.raises(DataMismatch, match="other data"):
            LocalLedger.open(file, other)


@pytest.mark.parametrize("version", [2, 3])
def test_a_ledger_from_before_is_told_so(file: Path, version: int) -> None:
    create(file).close()
    with closing(sqlite3.connect(file)) as connection:
        connection.execute(f"PRAGMA user_version = {version}")
    with pytest.raises(LedgerError, match=f"has format {version}, and this version .* each zone of each edition: use"):
        open_ledger(file, PEOPLE)


def test_fingerprints_tell_datasets_apart() -> None:
    several: list[list[dict[str, object]]] = [
        [],
        [{}],
        [{"a": 1}],
        [{"a": 1}] * 2,
        [{"a": "1"}],
        [{"b": 1}],
        [{"a": 1}, {"a": 2}],
    ]
    assert len({fingerprint_of(records, SECRET) for records in several}) == len(several)


def test_a_second_ledger_about_the_same_data_has_to_be_asked_for(file: Path) -> None:
    create(file).close()
    second = file.with_name("second.ledger")
    for _ in range(2):
        with pytest.raises(PublishedBefore, match=r"promises epsilon 8 .* together they would be epsilon 12\.46"):
            create(second)
        assert not second.exists()
        # Renamed, and without its key: the other key still shows that it is the same data.
        file.rename(file.with_name("renamed.ledger"))
        file = file.with_name("renamed.ledger")
    create(second, None).close()
    with pytest.raises(PublishedBefore):
        LocalLedger.open(second, PEOPLE)
    with closing(LocalLedger.open(second, PEOPLE, second_promise=True)) as ledger:
        assert [(other.name, other.promised.epsilon) for other in ledger.also_promised()] == [(file.name, 8)]
    create(file.with_name("other.ledger"), Table([*RECORDS[:49], {"age": 99}], KINDS)).close()


def test_of_two_copies_in_a_folder_none_draws(file: Path) -> None:
    """Each would draw its own noise for the same answer: together they are more accurate than anything that was charged."""
    create(file).close()
    copy = file.with_name("copy.ledger")
    shutil.copy(file, copy)
    shutil.copy(key_file(file), key_file(copy))
    for opened in (file, copy):
        with pytest.raises(LedgerExists, match="are copies of one ledger"):
            LocalLedger.open(opened, PEOPLE)
        LocalLedger.open(opened).close()  # free answers are the same in both
    link = file.with_name("link.ledger")
    copy.unlink()
    link.symlink_to(file)
    LocalLedger.open(file, PEOPLE).close()
