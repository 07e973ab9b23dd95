"""What a custodian keeps: written so that it survives a power cut, and never begun anew where it was lost."""

from __future__ import annotations

import os
import stat
from contextlib import closing
from pathlib import Path

import pytest

from noiseledger.custodian.custody import Custody, commitment
from noiseledger.data.catalogue import Catalogue, read_catalogue
from noiseledger.errors import CustodyDamaged, InvalidInput, JournalLost
from noiseledger.ledger.durable import sync_folder, write_durably

CATALOGUE = """
[source]
file = "people.csv"
[privacy]
epsilon = 8
delta = "1e-4"
neighbours = "replace"
[columns.age]
kind = "number"
[queries.over_60]
measure = "share"
where = "age > 60"
"""


@pytest.fixture
def catalogue(tmp_path: Path) -> Catalogue:
    (tmp_path / "people.csv").write_text("age\n" + "\n".join(str(20 + n) for n in range(60)) + "\n")
    (tmp_path / "people.toml").write_text(CATALOGUE)
    return read_catalogue(tmp_path / "people.toml")


def test_a_lost_journal_is_not_begun_anew_though_only_its_name_is_left(catalogue: Catalogue) -> None:
    """The name is written before anything is published: a crash in between leaves no ledger file."""
    custody = Custody.of(catalogue)
    data = custody.pin(catalogue)
    custody.prepare(catalogue, data)
    custody.journal_file.unlink()
    assert not custody.ledger_file.exists()
    with pytest.raises(JournalLost, match="noiseledger recover"):
        custody.prepare(catalogue, data)
    with pytest.raises(JournalLost, match="noiseledger recover"):
        custody.journal(data)
    assert not custody.journal_file.exists()


def test_the_name_of_another_journal_stops_everything(catalogue: Catalogue) -> None:
    """A journal that was lost later would be rebuilt under the wrong name, so that no commitment matches it."""
    custody = Custody.of(catalogue)
    data = custody.pin(catalogue)
    custody.prepare(catalogue, data)
    custody.identity_file.write_text("00" * 32 + "\n")
    with pytest.raises(CustodyDamaged, match="does not have the name of"):
        custody.prepare(catalogue, data)
    with closing(custody.journal(data)) as journal:
        with pytest.raises(CustodyDamaged, match="the name of a different journal"):
            custody.check(commitment(data, journal), data, journal)
        custody.identity_file.unlink()
        custody.check(commitment(data, journal), data, journal)


def test_what_is_private_is_for_its_owner_only(catalogue: Catalogue) -> None:
    custody = Custody.of(catalogue)
    custody.prepare(catalogue, custody.pin(catalogue))
    for file in (custody.secret_file, custody.identity_file, custody.journal_file):
        assert stat.S_IMODE(file.stat().st_mode) & 0o077 == 0
    assert stat.S_IMODE(custody.folder.stat().st_mode) == 0o700


def test_a_file_is_on_the_disk_before_it_takes_its_place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """After a power cut a name must not lead to nothing: first the content, then the name, then the folder."""
    done: list[tuple[str, str]] = []
    sync, replace = os.fsync, Path.replace

    def note_sync(descriptor: int) -> None:
        file = Path(f"/proc/self/fd/{descriptor}").readlink()
        done.append(("sync", f"{file.name} {file.read_text()}" if file.is_file() else file.name))
        sync(descriptor)

    def note_replace(self: Path, target: Path) -> Path:
        done.append(("replace", target.name))
        return replace(self, target)

    monkeypatch.setattr(os, "fsync", note_sync)
    monkeypatch.setattr(Path, "replace", note_replace)
    file = tmp_path / "ledger.json"
    file.write_text("old")
    write_durably(file, "new")
    assert done == [("sync", "ledger.json.new new"), ("replace", "ledger.json"), ("sync", tmp_path.name)]
    assert file.read_text() == "new"


def test_what_a_crash_left_behind_does_not_stop_the_next_writing(tmp_path: Path) -> None:
    (tmp_path / "identity.new").write_text("half")
    (tmp_path / "identity.new").chmod(0o644)
    write_durably(tmp_path / "identity", "whole", mode=0o600)
    assert (tmp_path / "identity").read_text() == "whole"
    assert stat.S_IMODE((tmp_path / "identity").stat().st_mode) == 0o600
    write_durably(tmp_path / "public", "whole")
    assert stat.S_IMODE((tmp_path / "public").stat().st_mode) == 0o644 & ~_umask()
    assert {file.name for file in tmp_path.iterdir()} == {"identity", "public"}


def test_a_folder_is_closed_again(tmp_path: Path) -> None:
    opened = Path("/proc/self/fd")
    before = len(list(opened.iterdir()))
    sync_folder(tmp_path)
    assert len(list(opened.iterdir())) == before


def test_a_ledger_file_that_is_none_is_said_to_be_none(catalogue: Catalogue) -> None:
    custody = Custody.of(catalogue)
    assert custody.read_ledger_file() is None
    custody.folder.mkdir()
    custody.ledger_file.write_text("{")
    with pytest.raises(InvalidInput, match="not a ledger file"):
        custody.read_ledger_file()


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
