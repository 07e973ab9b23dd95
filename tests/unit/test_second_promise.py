"""Data that was published is recognised again, whatever it and its catalogue are called and wherever they are."""

from __future__ import annotations

import json
import shutil
import sqlite3
import stat
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from fractions import Fraction
from functools import partial
from pathlib import Path
from types import SimpleNamespace

import duckdb
import pytest

from noiseledger.auditing.compose import compose
from noiseledger.core.composition import Promised, together
from noiseledger.core.sensitivity import Neighbours
from noiseledger.custodian.custody import Custody
from noiseledger.custodian.promises import check_one_copy, find_earlier, no_ledger, note, others_named
from noiseledger.data.catalogue import Catalogue, read_catalogue
from noiseledger.data.table import Table
from noiseledger.errors import CustodyDamaged, InvalidInput, NoiseledgerError, PublishedBefore
from noiseledger.ledger import LocalLedger
from noiseledger.ledger.file import LedgerFile, OtherLedger
from noiseledger.ledger.register import Registers, user_folder
from unit.test_custody import CATALOGUE

ADDRESS = "0x5FbDB2315678afecb367f032d93F642f64180aa3"


@pytest.fixture
def study(tmp_path: Path) -> Path:
    """A folder whose data was published, as far as the registers know."""
    folder = tmp_path / "study"
    folder.mkdir()
    (folder / "people.csv").write_text("age\n" + "\n".join(str(20 + n) for n in range(60)) + "\n")
    (folder / "people.toml").write_text(CATALOGUE)
    enter(read_catalogue(folder / "people.toml"))
    return folder


def enter(catalogue: Catalogue, address: str = ADDRESS) -> None:
    custody = Custody.of(catalogue)
    data = custody.pin(catalogue)
    custody.prepare(catalogue, data)
    with closing(custody.journal(None)) as journal:
        note(catalogue, data, journal, 31337, address)


def test_a_local_ledger_about_published_data_has_to_be_asked_for(study: Path, tmp_path: Path) -> None:
    catalogue = read_catalogue(study / "people.toml")
    file = tmp_path / "notes.ledger"
    create = partial(LocalLedger.create, epsilon=1, delta="1e-4")
    with closing(catalogue.open()) as source:
        population = catalogue.population(source.rows)
        with pytest.raises(PublishedBefore, match=rf"{ADDRESS} is published, .* together they would be epsilon"):
            create(file, population=population, source=source)
        assert not file.exists()
        create(file, population=population).close()
        with pytest.raises(PublishedBefore, match="ask that ledger instead"):
            LocalLedger.open(file, source)
        with closing(LocalLedger.open(file, source, second_promise=True)) as ledger:
            assert [(other.name, other.is_published) for other in ledger.also_promised()] == [(ADDRESS, True)]
    with closing(Table([{"age": 1}], {"age": "number"})) as other:
        create(tmp_path / "b", population=catalogue.population(1), source=other).close()


def renamed(study: Path) -> Path:
    return (study / "people.toml").rename(study / "new.toml")


def copied_elsewhere(study: Path) -> Path:
    (study.parent / "other").mkdir()
    text = (study / "people.toml").read_text().replace("people.csv", "../study/people.csv")
    (study.parent / "other" / "people.toml").write_text(text)
    return study.parent / "other" / "people.toml"


def copied_with_data(study: Path) -> Path:
    shutil.copytree(study, study.parent / "copy", ignore=shutil.ignore_patterns(".noiseledger", "*.custody"))
    return study.parent / "copy" / "people.toml"


def read_through_a_link(study: Path) -> Path:
    (study / "link.csv").symlink_to("people.csv")
    return changed(study, "people.csv", "link.csv")


def read_in_another_order(study: Path) -> Path:
    head, *rows = (study / "people.csv").read_text().splitlines()
    (study / "sorted.csv").write_text("\n".join([head, *reversed(rows)]))
    return changed(study, "people.csv", "sorted.csv")


def read_in_another_way(study: Path) -> Path:
    (study / "copy.csv").write_bytes((study / "people.csv").read_bytes())
    return changed(study, 'file = "people.csv"', 'file = "copy.csv"\nmissing = ["20"]')


def corrected_in_its_place(study: Path) -> Path:
    (study / "people.csv").write_text((study / "people.csv").read_text() + "81\n")
    return renamed(study)


def without_custody(study: Path) -> Path:
    shutil.rmtree(study / "people.custody")
    return study / "people.toml"


def changed(study: Path, before: str, after: str) -> Path:
    text = (study / "people.toml").read_text()
    assert before in text
    (study / "new.toml").write_text(text.replace(before, after))
    return study / "new.toml"


@pytest.mark.parametrize(
    "change",
    [
        renamed,
        copied_elsewhere,
        copied_with_data,
        read_through_a_link,
        read_in_another_order,
        read_in_another_way,
        corrected_in_its_place,
        without_custody,
    ],
)
def test_data_that_was_published_is_recognised(study: Path, change: Callable[[Path], Path]) -> None:
    catalogue = read_catalogue(change(study))
    (found,) = find_earlier(catalogue)
    assert found.address == ADDRESS
    refused = no_ledger(catalogue)
    assert isinstance(refused, PublishedBefore)
    for told in (str(study / "people.custody" / "ledger.json"), "people.toml", "--second-promise", "epsilon 12.46"):
        assert told in str(refused)
    assert not Custody.of(catalogue).secret_file.exists() or change is renamed


@pytest.mark.parametrize(
    ("move", "way"), [(renamed, "rename"), (copied_with_data, "use "), (without_custody, "restore ")]
)
def test_the_way_back_is_named(study: Path, move: Callable[[Path], Path], way: str) -> None:
    assert way in str(no_ledger(read_catalogue(move(study))))


def test_a_register_beside_the_catalogue_knows_it_without_the_users(
    study: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(study.parent / "nobody"))
    assert find_earlier(read_catalogue(renamed(study)))


def test_a_catalogue_that_moves_with_its_custody_is_the_same_promise(study: Path) -> None:
    moved = study.rename(study.parent / "moved")
    (moved / "people.custody").rename(moved / "new.custody")
    catalogue = read_catalogue((moved / "people.toml").rename(moved / "new.toml"))
    assert find_earlier(catalogue) == []
    enter(catalogue)
    promise = next(Registers.of(moved).find(Custody.of(catalogue).kept_identity() or ""))[1]
    assert promise.catalogue == str(moved / "new.toml")


def test_other_data_is_another_promise(study: Path) -> None:
    (study / "second.csv").write_text("age\n1\n2\n3\n")
    assert find_earlier(read_catalogue(changed(study, "people.csv", "second.csv"))) == []


def test_what_was_begun_and_never_sent_is_no_promise(study: Path) -> None:
    enter(read_catalogue(study / "people.toml"), address="")
    catalogue = read_catalogue(renamed(study))
    assert find_earlier(catalogue) == []
    (study / "people.custody" / "publish.intent").write_text("{}")
    assert [promise.address for promise in find_earlier(catalogue)] == [""]
    (study / "people.custody" / "publish.intent").unlink()
    LedgerFile(ADDRESS, 31337).write(study / "people.custody" / "ledger.json")
    assert [promise.address for promise in find_earlier(catalogue)] == [ADDRESS]


def test_nothing_of_the_data_is_in_a_register(study: Path) -> None:
    folders = [study / ".noiseledger", user_folder()]
    for folder in folders:
        assert folder is not None
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700
        assert all(stat.S_IMODE(file.stat().st_mode) == 0o600 for file in folder.iterdir())
    # Two registers have two keys: nothing that they store of the same content is the same.
    marks = [json.loads(next(folder.glob("*.json")).read_text())["marks"] for folder in folders if folder]
    assert marks[0].keys() == marks[1].keys() == {"records", "file", "secret"}
    assert not set(marks[0].values()) & set(marks[1].values())


def test_a_register_without_its_key_is_not_begun_anew(study: Path) -> None:
    key = study / ".noiseledger" / "key"
    key.write_text("")
    with pytest.raises(CustodyDamaged, match="restore it from a backup"):
        find_earlier(read_catalogue(renamed(study)))
    assert key.read_text() == ""


@pytest.mark.parametrize("damage", ["{", "[]", '{"catalogue": 1}'])
def test_a_damaged_record_is_not_ignored(study: Path, damage: str) -> None:
    next((study / ".noiseledger").glob("*.json")).write_text(damage)
    with pytest.raises(NoiseledgerError, match="restore it from a backup"):
        find_earlier(read_catalogue(renamed(study)))


def test_promises_add_up_as_in_the_audit() -> None:
    """The audit has its own arithmetic, on purpose; both must say the same."""

    class Report:
        chain_id, spent, editions = 1, Fraction(0), (SimpleNamespace(most=Fraction(0)),)

        def __init__(self, address: str, promised: Promised) -> None:
            self.address, self.neighbours = address, promised.neighbours.value
            self.delta, self.budget = promised.delta, promised.precision

    one = Promised(Fraction(1), Fraction("1e-5"), Neighbours.REPLACE)
    other = Promised(Fraction(2), Fraction("1e-6"), Neighbours.ADD_REMOVE)
    for promises in ([one, one], [one, other], [other, other, one]):
        ours = together(promises)
        reports = [Report(str(number), promise) for number, promise in enumerate(promises)]
        theirs = compose(reports)  # type: ignore[arg-type]
        assert (ours.epsilon, ours.delta, ours.neighbours) == (theirs.epsilon, theirs.delta, theirs.neighbours)


def test_a_ledger_file_goes_on_naming_other_ledgers(study: Path) -> None:
    """Also those that no register knows any more."""
    (found,) = find_earlier(read_catalogue(renamed(study)))
    other = OtherLedger(ADDRESS.replace("5", "6"), 1, found.promised)
    again = replace(other, address=ADDRESS)
    known = LedgerFile(ADDRESS, also_published=(other, again))
    assert others_named(None, [found]) == (OtherLedger(ADDRESS, 31337, found.promised),)
    assert others_named(known, []) == others_named(known, [found]) == (other, again)
    assert others_named(None, [replace(found, address="")]) == ()


@pytest.mark.parametrize(
    "other",
    [
        {"address": "nowhere"},
        {"epsilon": "1e999999999"},
        {"epsilon": "-1"},
        {"delta": "0"},
        {"delta": 5},
        {"neighbours": "none"},
        {"chain_id": "x"},
    ],
)
def test_a_ledger_file_names_other_ledgers_or_is_refused(tmp_path: Path, other: dict[str, object]) -> None:
    file = tmp_path / "ledger.json"
    named = {"address": ADDRESS, "chain_id": 1, "epsilon": "1", "delta": "1/100000", "neighbours": "replace"}
    content = {"address": ADDRESS, "chain_id": 1, "queries": {}, "also_published": [named]}
    file.write_text(json.dumps(content))
    read = LedgerFile.read(file)
    assert read.also_published[0].content == named
    assert LedgerFile.read(file) == replace(read, also_published=read.also_published)
    file.write_text(json.dumps(content | {"also_published": [named | other]}))
    with pytest.raises(InvalidInput, match="not a ledger file"):
        LedgerFile.read(file)


@pytest.mark.parametrize("suffix", ["sqlite", "duckdb"])
@pytest.mark.parametrize("is_named_first", [True, False])
def test_the_only_table_of_a_database_is_the_same_with_its_name_and_without(
    tmp_path: Path, suffix: str, is_named_first: bool
) -> None:
    file = tmp_path / f"people.{suffix}"
    connect = sqlite3.connect if suffix == "sqlite" else duckdb.connect
    with closing(connect(file)) as run:
        run.execute("CREATE TABLE people (age INTEGER, height INTEGER)")
        run.executemany("INSERT INTO people VALUES (?, ?)", [(20 + n, 150 + n) for n in range(60)])
        run.commit()
    text = CATALOGUE.replace("people.csv", file.name)
    named = text.replace("[privacy]", 'table = "people"\n[privacy]', 1)
    first, second = (named, text) if is_named_first else (text, named)
    (tmp_path / "first.toml").write_text(first)
    enter(read_catalogue(tmp_path / "first.toml"))
    # One more column: the records, as the catalogue reads them, are others.
    more = '\n[columns.height]\nkind = "number"\nlower = 0\nupper = 250\nmissing = 0\n'
    (tmp_path / "second.toml").write_text(second + more)
    (found,) = find_earlier(read_catalogue(tmp_path / "second.toml"))
    assert found.address == ADDRESS
    # A copy of the file elsewhere is recognised by its bytes.
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    for name in ("second.toml", file.name):
        shutil.copy(tmp_path / name, elsewhere)
    assert find_earlier(read_catalogue(elsewhere / "second.toml"))
    # Another table of the same file is other data.
    with closing(connect(file)) as run:
        run.execute("CREATE TABLE houses (age INTEGER, height INTEGER)")
        run.execute("INSERT INTO houses VALUES (70, 90)")
        run.commit()
    (tmp_path / "third.toml").write_text(named.replace('"people"', '"houses"'))
    assert find_earlier(read_catalogue(tmp_path / "third.toml")) == []


@pytest.fixture
def forgotten(study: Path) -> Path:
    """The folder of a published catalogue, without any register."""
    LedgerFile(ADDRESS, 31337).write(study / "people.custody" / "ledger.json")
    shutil.rmtree(study / ".noiseledger")
    shutil.rmtree(user_folder() or Path())
    return study


@pytest.mark.parametrize("is_renamed", [True, False])
def test_a_custody_folder_is_a_promise_without_any_register(forgotten: Path, is_renamed: bool) -> None:
    file = renamed(forgotten) if is_renamed else changed(forgotten, "age > 60", "age > 50")
    catalogue = read_catalogue(file)
    (found,) = find_earlier(catalogue)
    assert (found.address, str(found.promised)) == (ADDRESS, "epsilon 8 at delta 0.0001")
    for told in ("A ledger was published from", "people.custody", "--second-promise", "epsilon 12.46"):
        assert told in str(no_ledger(catalogue))


def test_nothing_that_was_published_is_taken_for_other_data_without_proof(forgotten: Path) -> None:
    (forgotten / "others.csv").write_text("age\n70\n71\n")
    others = read_catalogue(changed(forgotten, "people.csv", "others.csv"))
    assert find_earlier(others) == []
    (forgotten / "copy.csv").write_bytes((forgotten / "people.csv").read_bytes())
    assert find_earlier(
        read_catalogue(changed(forgotten, 'file = "people.csv"', 'file = "copy.csv"\nmissing = ["20"]'))
    )
    assert find_earlier(read_catalogue(read_in_another_order(forgotten)))
    (forgotten / "people.csv").rename(forgotten / "gone.csv")
    assert [found.address for found in find_earlier(others)] == [ADDRESS]


def test_the_own_folder_and_one_without_a_ledger_are_no_earlier_promise(forgotten: Path) -> None:
    assert find_earlier(read_catalogue(forgotten / "people.toml")) == []
    (forgotten / "people.custody" / "ledger.json").unlink()
    assert find_earlier(read_catalogue(renamed(forgotten))) == []


def test_a_folder_that_does_not_say_what_it_promises_stops_everything(forgotten: Path) -> None:
    (forgotten / "people.custody" / "journal.ledger").unlink()
    with pytest.raises(CustodyDamaged, match="does not say what it promises"):
        find_earlier(read_catalogue(renamed(forgotten)))


def test_two_copies_of_a_journal_in_one_folder_are_seen_without_a_register(forgotten: Path) -> None:
    shutil.copytree(forgotten / "people.custody", forgotten / "new.custody")
    catalogue = read_catalogue(changed(forgotten, "age > 60", "age > 50"))
    identity = Custody.of(catalogue).own_identity()
    assert identity is not None
    with pytest.raises(CustodyDamaged, match="in two places"):
        check_one_copy(catalogue, identity, Registers.of(forgotten))
    shutil.rmtree(forgotten / "people.custody")
    check_one_copy(catalogue, identity, Registers.of(forgotten))
