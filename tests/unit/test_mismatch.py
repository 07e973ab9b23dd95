"""A custody folder with a part that does not belong to its ledger: the part is named, as far as anyone can know it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from noiseledger.custodian.custody import Custody, commitment
from noiseledger.custodian.journal import Journal
from noiseledger.custodian.mismatch import explain
from noiseledger.custodian.promises import note
from noiseledger.data.catalogue import Catalogue, read_catalogue
from noiseledger.data.pinned import Pinned
from noiseledger.ledger.file import LedgerFile
from unit.test_custody import CATALOGUE
from unit.test_second_promise import ADDRESS

ANOTHER_JOURNAL = "is not the journal that the ledger was published with"


@pytest.fixture
def catalogue(tmp_path: Path) -> Catalogue:
    """A catalogue with a ledger file; neither of the registers knows of it."""
    (tmp_path / "people.csv").write_text("age\n" + "\n".join(str(20 + n) for n in range(60)) + "\n")
    (tmp_path / "people.toml").write_text(CATALOGUE)
    catalogue = read_catalogue(tmp_path / "people.toml")
    custody = Custody.of(catalogue)
    custody.prepare(catalogue, custody.pin(catalogue))
    LedgerFile(ADDRESS, 31337).write(custody.ledger_file)
    return catalogue


@pytest.fixture
def data(catalogue: Catalogue) -> Pinned:
    return Custody.of(catalogue).pin(catalogue)


@pytest.fixture
def journal(catalogue: Catalogue, data: Pinned) -> Iterator[Journal]:
    with closing(Custody.of(catalogue).journal(data)) as journal:
        yield journal


def enter(catalogue: Catalogue, data: Pinned, journal: Journal) -> None:
    note(catalogue, data, journal, 31337, ADDRESS)


def corrected(catalogue: Catalogue) -> Pinned:
    """Other data in the same file."""
    people = Path(catalogue.source.place)
    people.write_text(people.read_text() + "81\n")
    return Custody.of(catalogue).pin(catalogue)


def told(catalogue: Catalogue, data: Pinned, journal: Journal | None, kept: str | None, published: bytes = b"") -> str:
    text = explain(Custody.of(catalogue).folder, published, data, journal, kept)
    assert text.endswith("Nothing was changed, and nothing is answered.")
    return text


def test_the_file_beside_it_has_the_name_of_the_right_journal(
    catalogue: Catalogue, data: Pinned, journal: Journal, tmp_path: Path
) -> None:
    published = commitment(data, journal)
    population = catalogue.population(data.rows)
    with closing(Journal.create(tmp_path / "other", epsilon=8, delta="1e-4", population=population)) as other:
        text = told(catalogue, data, other, journal.identity, published)
        assert ANOTHER_JOURNAL in text
        assert "journal.identity has the name of the right one" in text
        # Neither a name that is as wrong as the journal's nor a file that is not there says so.
        for kept in (other.identity, None):
            assert "has the name of the right one" not in told(catalogue, data, other, kept, published)


def test_without_a_record_of_the_publishing_the_journal_tells(
    catalogue: Catalogue, data: Pinned, journal: Journal
) -> None:
    text = told(catalogue, data, journal, journal.identity)
    assert ANOTHER_JOURNAL in text
    assert "data and secret are the right ones" in text
    text = told(catalogue, corrected(catalogue), journal, journal.identity)
    assert "The data or " in text
    assert "no record of the publication" in text


def test_without_a_journal_its_name_may_be_wrong(catalogue: Catalogue, data: Pinned, journal: Journal) -> None:
    assert told(catalogue, data, None, journal.identity).startswith("The data, the secret or the journal's name in ")
    enter(catalogue, data, journal)
    assert told(catalogue, data, None, journal.identity).startswith("The journal's name in ")


def test_the_registers_know_data_and_secret(catalogue: Catalogue, data: Pinned, journal: Journal) -> None:
    enter(catalogue, data, journal)
    assert "data and secret are the right ones" in told(catalogue, data, journal, journal.identity)
    custody = Custody.of(catalogue)
    right = custody.secret_file.read_text()
    custody.secret_file.write_text("ab" * 32)
    text = told(catalogue, custody.pin(catalogue), journal, journal.identity)
    assert "not published with the secret that is now in" in text
    assert "with the data" not in text
    custody.secret_file.write_text(right)
    text = told(catalogue, corrected(catalogue), journal, journal.identity)
    assert f"not published with the data that is now in {catalogue.source.place}: restore" in text
    assert "with the secret" not in text


def test_data_that_is_elsewhere_or_read_otherwise_is_named(
    catalogue: Catalogue, data: Pinned, journal: Journal
) -> None:
    enter(catalogue, data, journal)
    people, text = Path(catalogue.source.place), catalogue.file.read_text()
    catalogue.file.write_text(text.replace('"people.csv"', '"people.csv"\nmissing = ["20"]'))
    again = read_catalogue(catalogue.file)
    assert "the file is the same, but the catalogue reads it differently" in told(
        again, Custody.of(again).pin(again), journal, journal.identity
    )
    people.with_name("new.csv").write_text("age\n1\n")
    catalogue.file.write_text(text.replace("people.csv", "new.csv"))
    moved = read_catalogue(catalogue.file)
    assert f"new.csv (then it was in {people}): restore" in told(
        moved, Custody.of(moved).pin(moved), journal, journal.identity
    )
