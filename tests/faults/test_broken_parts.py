"""Fault: something that the ledger stands on fails: randomness, data, disk.

The defence: everything happens in one transaction, so a request that fails has failed as a whole: there is an error, no
answer, and the file is as it was, byte by byte. The weakened ledgers take a part of it out and change the file.
"""

from __future__ import annotations

import os
import random
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from fractions import Fraction
from pathlib import Path
from typing import Unpack
from unittest import mock

import pytest

from faults import children, victim
from faults.books import check_books
from noiseledger import Answer, BudgetExceeded, InvalidInput, LocalLedger, Query, Table
from noiseledger.core import noise
from noiseledger.core.request import Accuracy
from noiseledger.errors import DataUnavailable
from noiseledger.ledger.store import Store, to_text

QUERY, PAID = victim.QUERIES[1], victim.PAID
#: With precision 1 known, what is paid is case 2B and needs data and noise, and this is case 2C and needs noise.
FREE = Fraction(1, 2)
TOO_MUCH = Fraction(100)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    made = tmp_path / "ledger"
    with closing(victim.create(made)) as ledger:
        ledger.ask(QUERY, exact_noise=True, precision=1)
    return made


@contextmanager
def failing(file: Path, error: type[Exception]) -> Iterator[None]:
    """Check that what is done fails with this error and leaves the file as it was, and that the ledger goes on."""
    before = file.read_bytes()
    with pytest.raises(error):
        yield
    assert file.read_bytes() == before
    with closing(LocalLedger.open(file, victim.SOURCE)) as ledger:
        ledger.ask(QUERY, exact_noise=True, precision=PAID)
        check_books(ledger)


def ask(
    file: Path, precision: Fraction, kind: type[LocalLedger] = LocalLedger, source: Table | None = victim.SOURCE
) -> None:
    with closing(kind.open(file, source)) as ledger:
        ledger.ask(QUERY, exact_noise=True, precision=precision)


class ChargesFirst(LocalLedger):
    """Weakened, as in the paper's listing: what is left is lowered first, and then everything else is seen to."""

    def ask(
        self,
        query: Query,
        *,
        analyst: str = "",
        exact_noise: bool = False,
        edition: int = 0,
        **accuracy: Unpack[Accuracy],
    ) -> Answer:
        budget = self.budget()
        spent = min(budget.spent + self.quote(query, **accuracy).price.cost, budget.total)
        with self._store.transaction() as run:
            run.execute("UPDATE spent SET amount = ?", (to_text(spent),))
        return super().ask(query, analyst=analyst, exact_noise=exact_noise, **accuracy)


# Randomness


class DryWell:
    """The operating system's generator, failing from the n-th call on."""

    def __init__(self, calls: int, error: Exception) -> None:
        self._left, self._error, self._urandom = calls, error, os.urandom

    def __call__(self, size: int) -> bytes:
        if self._left == 0:
            raise self._error
        self._left -= 1
        return self._urandom(size)


def words_from_anywhere() -> Iterator[int]:
    """Weakened: where the secure generator fails, an ordinary one takes over."""
    try:
        yield from SECURE_WORDS()
    except (OSError, NotImplementedError):
        while True:
            yield random.getrandbits(64)


SECURE_WORDS = noise.secure_words


@pytest.mark.parametrize("error", [NotImplementedError(), OSError()], ids=repr)
@pytest.mark.parametrize("calls", [0, 1])
@pytest.mark.parametrize("precision", [PAID, FREE])
def test_without_randomness_there_is_no_answer(file: Path, error: Exception, calls: int, precision: Fraction) -> None:
    with failing(file, type(error)), mock.patch.object(os, "urandom", DryWell(calls, error)):
        ask(file, precision)


def test_other_randomness_in_its_place_would_give_one(file: Path) -> None:
    before = file.read_bytes()
    with (
        mock.patch.object(os, "urandom", DryWell(0, OSError())),
        mock.patch.object(noise, "secure_words", words_from_anywhere),
    ):
        ask(file, PAID)
    assert file.read_bytes() != before


# Data


class BrokenData(Table):
    def totals(self, query: Query) -> Sequence[int]:
        raise ConnectionError


class WrongShape(Table):
    def totals(self, query: Query) -> Sequence[int]:
        return [*super().totals(query), 0]


def test_without_data_nothing_is_charged(file: Path) -> None:
    with failing(file, ConnectionError):
        ask(file, PAID, source=BrokenData([], {"cell": "number"}))


def test_with_data_of_the_wrong_shape_nothing_is_charged(file: Path) -> None:
    with failing(file, InvalidInput):
        ask(file, PAID, source=WrongShape(victim.SOURCE.records(), victim.SOURCE.kinds))


def test_without_enough_budget_nothing_is_charged(file: Path) -> None:
    with failing(file, BudgetExceeded):
        ask(file, TOO_MUCH)


@pytest.mark.parametrize(("precision", "source"), [(PAID, None), (TOO_MUCH, victim.SOURCE)])
def test_charging_first_would_charge_for_nothing(file: Path, precision: Fraction, source: Table | None) -> None:
    before = file.read_bytes()
    with pytest.raises((DataUnavailable, BudgetExceeded)):
        ask(file, precision, ChargesFirst, source)
    assert file.read_bytes() != before


# Disk


def fill_disk(file: Path, store: type[Store]) -> Iterator[victim.FullDisk]:
    """Let the disk be full at every possible place: in the journal, then in the file itself, then nowhere."""
    original = file.read_bytes()
    for size in range(0, len(original) + 10_000, 2500):
        file.write_bytes(original)
        yield children.call(victim.ask_on_a_full_disk, file, size, store)


def test_on_a_full_disk_a_request_fails_as_a_whole(file: Path) -> None:
    failed = 0
    for outcome in fill_disk(file, Store):
        assert outcome.changed == (outcome.error is None)
        assert outcome.later.cost == (0 if outcome.changed else 1)
        failed += not outcome.changed
        with closing(LocalLedger.open(file)) as ledger:
            check_books(ledger)
    assert failed > 5


def test_on_a_full_disk_a_ledger_without_transactions_would_charge_for_nothing(file: Path) -> None:
    assert any(outcome.error and outcome.changed for outcome in fill_disk(file, victim.HastyStore))
