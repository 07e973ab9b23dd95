"""Fault: the process is killed, kill -9, at any moment.

The defence: charge and answer become durable in one commit, and only then is the answer handed out. So whenever the end
comes, the file holds every answer that the world saw, at its price, and goes on working. Two weakened ledgers, one that
commits after handing out and one that commits piece by piece, show that the checks would notice.
"""

from __future__ import annotations

import random
import shutil
import time
from collections.abc import Iterator
from contextlib import closing
from fractions import Fraction
from itertools import count
from pathlib import Path
from signal import SIGKILL, SIGXFSZ

import pytest

from faults import children, victim
from faults.books import check_books
from noiseledger import Case, LocalLedger, NoiseledgerError
from noiseledger.errors import LedgerNotFound
from noiseledger.ledger import book
from noiseledger.ledger.bound import key_file
from noiseledger.ledger.store import Store

#: So little that it can always be paid for: all other requests come in steps of 1/500, and the budget does not.
A_LITTLE = Fraction(1, 10**6)


class Scene:
    """A fresh ledger file, and a file for what the world saw."""

    def __init__(self, folder: Path, template: Path) -> None:
        folder.mkdir(parents=True)
        self.file, self.world = folder / "ledger", folder / "world"
        shutil.copy(template, self.file)
        shutil.copy(key_file(template), key_file(self.file))

    def answers(self) -> int:
        """Count what the world saw so far."""
        return self.world.read_bytes().count(b"\n")

    def check(self) -> int:
        """Check that nothing seen was lost and that the ledger goes on; return how many answers were seen."""
        seen = victim.what_the_world_saw(self.world)
        with closing(LocalLedger.open(self.file, victim.SOURCE)) as ledger:
            check_books(ledger, seen)
            ledger.ask(victim.QUERIES[1], exact_noise=True, precision=A_LITTLE)
            check_books(ledger, seen)
        return len(seen)


@pytest.fixture
def template(tmp_path: Path) -> Path:
    file = tmp_path / "template"
    victim.create(file).close()
    return file


def killed_asking(folder: Path, template: Path, store: type[Store]) -> Iterator[Scene]:
    """Yield what is left by a child killed before its first SQL statement, its second, ..., until one survives.

    The moments before the world sees an answer count too.
    """
    for moment in count(1):
        scene = Scene(folder / str(moment), template)
        code = children.run(victim.ask_until_killed, scene.file, scene.world, moment, store)
        yield scene
        if code == 0:
            return
        assert code == -SIGKILL


def test_killed_before_any_statement_of_any_case(tmp_path: Path, template: Path) -> None:
    seen = {scene.check(): scene for scene in killed_asking(tmp_path / "kills", template, Store)}
    assert sorted(seen) == [0, 1, 2, 3, 4]
    with closing(LocalLedger.open(seen[4].file)) as ledger:
        cases = [record.case for record in ledger.records()]
    assert cases[:4] == [Case.NEW, Case.EXTEND, Case.BRIDGE, Case.KNOWN]


def test_an_answer_handed_out_before_the_commit_would_be_missed(tmp_path: Path, template: Path) -> None:
    assert any(lost(scene) for scene in killed_asking(tmp_path / "kills", template, victim.LazyStore))


def lost(scene: Scene) -> bool:
    try:
        scene.check()
    except AssertionError:
        return True
    return False


def test_a_list_over_zones_and_editions_is_bought_whole_or_not_at_all(tmp_path: Path, template: Path) -> None:
    with closing(LocalLedger.open(template, victim.SOURCE)) as ledger:
        ledger.open_edition(victim.LATER)
    bought = set()
    for moment in count(1):
        scene = Scene(tmp_path / str(moment), template)
        code = children.run(victim.ask_a_list_until_killed, scene.file, scene.world, moment)
        with closing(LocalLedger.open(scene.file)) as ledger:
            found = [ledger.zone_budget(edition).spent for edition in range(2)]
            seen = victim.what_the_world_saw(scene.world)
            check_books(ledger, seen)
        bought.add((*found, len(seen)))
        if code == 0:
            break
        assert code == -SIGKILL
    nothing, all_of_it = ((0, 0, 0), (0, 0, 0)), ((2, 2, 0), (2, 0, 0))
    assert bought == {(*nothing, 0), *((*all_of_it, number) for number in range(4))}


def opened_until_killed(folder: Path, template: Path, store: type[Store]) -> Iterator[LocalLedger]:
    """Yield what is left by a child killed before each SQL statement of opening an edition, until one survives."""
    for moment in count(1):
        scene = Scene(folder / str(moment), template)
        code = children.run(victim.open_edition_until_killed, scene.file, moment, store)
        with closing(LocalLedger.open(scene.file, victim.SOURCE)) as ledger:
            yield ledger
        if code == 0:
            return
        assert code == -SIGKILL


def is_whole(ledger: LocalLedger) -> bool:
    """Return whether the second edition is not there, or is there with its data and a budget for each zone."""
    if ledger.editions == 1:
        return True
    with ledger._store.reading() as run:
        bound = all(book.read_bindings(run).values())
    return bound and len(ledger.zone_budget(1).spent) == ledger.zones.count


def test_an_edition_is_opened_whole_or_not_at_all(tmp_path: Path, template: Path) -> None:
    editions = set()
    for ledger in opened_until_killed(tmp_path / "kills", template, Store):
        editions.add(ledger.editions)
        assert is_whole(ledger)
        if ledger.editions == 1:
            assert ledger.open_edition(victim.LATER) == 1
        else:
            ledger.attach(victim.LATER, edition=1)
        ledger.ask(victim.QUERIES[0], edition=1, precision=1)
        check_books(ledger)
    assert editions == {1, 2}


def test_an_edition_opened_piece_by_piece_would_be_noticed(tmp_path: Path, template: Path) -> None:
    assert not all(is_whole(ledger) for ledger in opened_until_killed(tmp_path / "kills", template, victim.HastyStore))


def test_killed_in_the_middle_of_a_write(tmp_path: Path, template: Path) -> None:
    """Limits on the size of files cut writes at exact places, in the journal and in the ledger, within one commit."""
    sizes = range(500, template.stat().st_size + 10_000, 1500)
    codes = set()
    for size in sizes:
        scene = Scene(tmp_path / str(size), template)
        codes.add(children.run(victim.ask_until_a_write_kills, scene.file, scene.world, size))
        scene.check()
    assert codes == {-SIGXFSZ, 0}


def test_killed_at_random_times(tmp_path: Path, template: Path) -> None:
    """One ledger goes through 40 kills, each a random while after a random number of answers."""
    scene, generator = Scene(tmp_path / "scene", template), random.Random(20210)
    scene.world.touch()
    for seed in range(40):
        wanted = scene.answers() + generator.randint(0, 3)
        child = children.start(victim.ask_forever, scene.file, scene.world, seed)
        while scene.answers() < wanted:
            assert child.is_alive()
            time.sleep(0.001)
        time.sleep(generator.uniform(0, 0.02))
        child.kill()
        child.join()
        assert child.exitcode == -SIGKILL
        scene.check()


def killed_creating(folder: Path, store: type[Store]) -> Iterator[Path]:
    """Yield what is left by a child killed before each SQL statement of making a ledger, until one survives."""
    for moment in count(1):
        # In a folder of its own: a second ledger of the same data beside the first is refused.
        file = folder / f"{moment}" / "ledger"
        file.parent.mkdir()
        code = children.run(victim.create_until_killed, file, moment, store)
        yield file
        if code == 0:
            return
        assert code == -SIGKILL


def create_again_or_open(file: Path) -> LocalLedger:
    try:
        return LocalLedger.open(file, victim.SOURCE)
    except LedgerNotFound:
        return victim.create(file)


def test_a_creation_that_was_killed_is_whole_or_can_be_run_again(tmp_path: Path) -> None:
    for file in killed_creating(tmp_path, Store):
        with closing(create_again_or_open(file)) as ledger:
            assert ledger.queries() == victim.QUERIES
            assert ledger.budget().spent == 0
            ledger.ask(victim.QUERIES[0], exact_noise=True, precision=1)
            check_books(ledger)


def test_a_creation_piece_by_piece_would_leave_half_a_ledger(tmp_path: Path) -> None:
    assert any(half_made(file) for file in killed_creating(tmp_path, victim.HastyStore))


def half_made(file: Path) -> bool:
    try:
        with closing(create_again_or_open(file)) as ledger:
            return ledger.queries() != victim.QUERIES
    except NoiseledgerError:
        return True
