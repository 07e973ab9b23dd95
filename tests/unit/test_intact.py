"""What is missing in a custody folder is named, and never replaced once a ledger may depend on it."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from noiseledger.custodian.custody import Custody
from noiseledger.data.catalogue import Catalogue, read_catalogue
from noiseledger.errors import CustodyDamaged, DataMismatch, JournalLost
from unit.test_custody import catalogue  # noqa: F401 - a fixture


@pytest.fixture
def custody(catalogue: Catalogue) -> Custody:  # noqa: F811
    """A custody folder with everything that is there before something is sent."""
    custody = Custody.of(catalogue)
    custody.prepare(catalogue, custody.pin(catalogue))
    return custody


@pytest.mark.parametrize("name", ["secret", "journal.ledger"])
@pytest.mark.parametrize("state", ["missing", "empty"])
def test_what_is_missing_or_empty_stops_everything_and_is_not_replaced(
    custody: Custody,
    catalogue: Catalogue,  # noqa: F811
    name: str,
    state: str,
) -> None:
    data, file = custody.pin(catalogue), custody.folder / name
    file.unlink()
    if state == "empty":
        file.touch()
    kind = JournalLost if name == "journal.ledger" else CustodyDamaged
    attempts: list[Callable[[], object]] = [
        lambda: custody.pin(catalogue),
        lambda: custody.prepare(catalogue, data),
        lambda: custody.journal(data),
    ]
    for attempt in attempts:
        with pytest.raises(kind, match=f"{name} is {state}") as caught:
            attempt()
        assert "noiseledger recover people.toml" in str(caught.value) or "your backup" in str(caught.value)
    assert file.exists() == (state == "empty")
    assert state == "missing" or not file.stat().st_size


@pytest.mark.parametrize("name", ["secret", "journal.ledger", "journal.identity", "ledger.json"])
def test_a_folder_in_the_place_of_a_file_is_named(custody: Custody, catalogue: Catalogue, name: str) -> None:  # noqa: F811
    (custody.folder / name).unlink(missing_ok=True)
    (custody.folder / name).mkdir()
    with pytest.raises(CustodyDamaged, match=f"{name} is not a file"):
        custody.pin(catalogue)


def test_a_file_in_the_place_of_the_folder_is_named(catalogue: Catalogue) -> None:  # noqa: F811
    Custody.of(catalogue).folder.touch()
    with pytest.raises(CustodyDamaged, match="not a folder"):
        Custody.of(catalogue).pin(catalogue)


@pytest.mark.parametrize(("name", "mode"), [("", "700"), ("secret", "600"), ("journal.ledger", "600")])
@pytest.mark.parametrize("owner", ["own", "another"])
def test_missing_rights_are_named_with_the_command_that_mends_them(
    custody: Custody,
    catalogue: Catalogue,  # noqa: F811
    monkeypatch: pytest.MonkeyPatch,
    name: str,
    mode: str,
    owner: str,
) -> None:
    locked = custody.folder / name
    # The tests may run as root, to whom nothing is locked.
    monkeypatch.setattr(os, "access", lambda path, _: Path(path) != locked)
    if owner == "another":
        monkeypatch.setattr(os, "geteuid", lambda: 12345)
    with pytest.raises(CustodyDamaged, match="Permission denied") as caught:
        custody.pin(catalogue)
    assert str(caught.value).endswith(f"chmod {mode} {locked}")
    assert ("sudo chown" in str(caught.value)) == (owner == "another")


def test_what_a_crash_left_empty_before_anything_depended_on_it_is_no_loss(catalogue: Catalogue) -> None:  # noqa: F811
    custody = Custody.of(catalogue)
    custody.folder.mkdir()
    custody.secret_file.touch(0o600)
    custody.journal_file.touch()
    data = custody.pin(catalogue)
    custody.prepare(catalogue, data)
    assert custody.pin(catalogue).root == data.root


def test_reading_the_data_leaves_nothing_behind(catalogue: Catalogue) -> None:  # noqa: F811
    """A refusal, or an answer of no, must not leave a folder that stands in the way of the right one."""
    Custody.of(catalogue).pin(catalogue)
    assert not Custody.of(catalogue).folder.exists()


def test_a_journal_that_is_none_is_said_to_be_none(custody: Custody, catalogue: Catalogue) -> None:  # noqa: F811
    custody.journal_file.write_text("something else")
    with pytest.raises(JournalLost, match=r"not a noiseledger file.*noiseledger recover people\.toml"):
        custody.pin(catalogue)


def test_a_query_that_left_the_catalogue_can_still_be_answered(custody: Custody, catalogue: Catalogue) -> None:  # noqa: F811
    before = custody.pin(catalogue)
    (first,) = catalogue.entries
    text = catalogue.file.read_text()
    catalogue.file.write_text(text.replace("age > 60", "age > 50"))
    later = read_catalogue(catalogue.file)
    assert custody.pin(later).totals(first.query) == before.totals(first.query)
    catalogue.file.write_text(text.replace("columns.age", "columns.old").replace("age > 60", "old > 60"))
    with pytest.raises(DataMismatch, match="has no column"):
        custody.pin(read_catalogue(catalogue.file))
