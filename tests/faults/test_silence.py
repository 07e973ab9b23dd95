"""Fault: anything at all goes wrong while a true answer is at hand, and an error message is about to be written.

The defence: no message is made from data, or from noise that was not released. Here the true answer has digits that are
easily found, and each draw of noise is watched; neither may be found in any error, its causes or its traceback, and
nothing may be printed.
"""

from __future__ import annotations

import os
import sqlite3
import traceback
from collections.abc import Callable, Sequence
from contextlib import closing
from fractions import Fraction
from pathlib import Path
from unittest import mock

import pytest

from noiseledger import BudgetExceeded, Column, InvalidInput, LocalLedger, Population, Query, Table
from noiseledger.core import path
from noiseledger.core.filters.condition import Kind
from noiseledger.core.noise import rounded_gaussians
from noiseledger.errors import DataMismatch, DataUnavailable, LedgerBusy, LedgerError, UnknownQuery
from noiseledger.ledger import store

SECRET = 987654321
#: However it is written or scaled, its first digits are among these.
DIGITS = ("987654", "987,654", "9.87654", "98.7654", "0.98765")

X = Column.of("x", 0, 10**9, missing=0)
KINDS: dict[str, Kind] = {"x": "number"}
QUERY = Query.sum(X)
DATA = Table([{"x": SECRET}], KINDS)
POPULATION = Population.add_remove()


def make(folder: Path, *queries: Query, source: Table = DATA, population: Population = POPULATION) -> LocalLedger:
    return LocalLedger.create(
        folder / "ledger", epsilon=8, delta=1e-4, population=population, queries=queries or [QUERY], source=source
    )


def ask(folder: Path, source: Table = DATA) -> None:
    with closing(make(folder, source=source)) as ledger:
        ledger.ask(QUERY, precision=1)


def over_budget(folder: Path) -> None:
    with closing(make(folder)) as ledger:
        ledger.ask(QUERY, precision=1)
        ledger.ask(QUERY, precision=100)


def unknown_query(folder: Path) -> None:
    with closing(make(folder)) as ledger:
        ledger.ask(Query.count("x > 1"), precision=1)


def nonsense(folder: Path) -> None:
    with closing(make(folder)) as ledger:
        ledger.ask(QUERY, sigma=-1)


def no_data(folder: Path) -> None:
    make(folder).close()
    with closing(LocalLedger.open(folder / "ledger")) as ledger:
        ledger.ask(QUERY, precision=1)


def other_data(folder: Path) -> None:
    make(folder, population=Population.replace(rows=1)).close()
    LocalLedger.open(folder / "ledger", Table([{"x": SECRET}, {"x": SECRET}], KINDS))


def no_rule_for_missing_values(folder: Path) -> None:
    make(folder, Query.sum(Column.of("x", 0, 10**9)), source=Table([{"x": SECRET}, {"x": None}], KINDS))


def text_declared_as_text(folder: Path) -> None:
    ask(folder, Table([{"x": f"about {SECRET}"}], {"x": "text"}))


def no_column(folder: Path) -> None:
    ask(folder, Table([{"y": SECRET}], {"y": "number"}))


class WrongShape(Table):
    def totals(self, query: Query) -> Sequence[int]:
        return [*super().totals(query), SECRET]


def wrong_shape(folder: Path) -> None:
    ask(folder, WrongShape([{"x": SECRET}], KINDS))


def no_randomness(folder: Path) -> None:
    with mock.patch.object(os, "urandom", side_effect=OSError("no randomness")):
        ask(folder)


def no_disk(folder: Path) -> None:
    with closing(make(folder)) as ledger:
        (folder / "ledger-journal").mkdir()
        ledger.ask(QUERY, precision=1)


def ask_after(folder: Path, *statements: str) -> None:
    """Ask a ledger whose file was tampered with, so that it fails when everything has been drawn."""
    with closing(make(folder)) as ledger:
        ledger.ask(QUERY, precision=1)
        with closing(sqlite3.connect(folder / "ledger")) as other:
            for statement in statements:
                other.execute(statement)
            other.commit()
        ledger.ask(QUERY, precision=2)


def no_table(folder: Path) -> None:
    ask_after(folder, "DROP TABLE record")


def refused_by_an_index(folder: Path) -> None:
    """Let the file refuse the new point itself: what was drawn is in the refused statement."""
    ask_after(folder, "CREATE UNIQUE INDEX one ON point (query)")


def refused_by_a_trigger(folder: Path) -> None:
    ask_after(folder, "CREATE TRIGGER no BEFORE INSERT ON point BEGIN SELECT RAISE(ABORT, 'refused'); END")


def busy(folder: Path) -> None:
    with mock.patch.object(store, "BUSY_SECONDS", 0), closing(make(folder)) as ledger:
        ledger.ask(QUERY, precision=1)
        with closing(sqlite3.connect(folder / "ledger", isolation_level=None)) as other:
            other.execute("BEGIN IMMEDIATE")
            ledger.ask(QUERY, precision=2)


class TalkativeData(Table):
    """Weakened: the message says what was added up."""

    def totals(self, query: Query) -> Sequence[int]:
        raise ArithmeticError(f"The total {super().totals(query)} is too large.")


def talkative_data(folder: Path) -> None:
    ask(folder, TalkativeData([{"x": SECRET}], KINDS))


def talkative_cause(folder: Path) -> None:
    """Weakened: the message says nothing, but the error that it came from does."""
    try:
        talkative_data(folder)
    except ArithmeticError:
        raise RuntimeError("It did not work.") from None


def talkative_noise(folder: Path) -> None:
    """Weakened: the message says what would have been answered."""
    reveal = path.QueryPath(1).reveal(Fraction(1), lambda: [Fraction(1)])
    raise RuntimeError(f"{reveal.point} could not be written.")


def all_text(error: BaseException | None) -> str:
    """Return everything that anyone could print of an error and of those that it came from."""
    if error is None:
        return ""
    own = [str(error), repr(error), repr(error.args), *getattr(error, "__notes__", [])]
    shown = traceback.format_exception(error)
    return "\n".join([*own, *shown, all_text(error.__cause__), all_text(error.__context__)])


def leaks(fault: Callable[[Path], None], error: type[Exception], folder: Path) -> bool:
    """Let the fault happen; say whether the secret, or what was drawn, is in any text of the error."""
    drawn: list[int] = []

    def watched(means: Sequence[Fraction], variance: Fraction) -> list[int]:
        drawn.extend(rounded_gaussians(means, variance))
        return drawn[-len(means) :]

    with mock.patch.object(path, "rounded_gaussians", watched), pytest.raises(error) as caught:
        fault(folder)
    # Twelve digits of a draw are not found by chance.
    noise = [str(abs(draw))[:12] for draw in drawn]
    return has_any(all_text(caught.value), *DIGITS, *noise)


def has_any(text: str, *parts: str) -> bool:
    return any(part in text for part in parts)


FAULTS: dict[Callable[[Path], None], type[Exception]] = {
    over_budget: BudgetExceeded,
    unknown_query: UnknownQuery,
    nonsense: InvalidInput,
    no_data: DataUnavailable,
    other_data: DataMismatch,
    no_rule_for_missing_values: DataMismatch,
    text_declared_as_text: DataMismatch,
    no_column: DataMismatch,
    wrong_shape: InvalidInput,
    no_randomness: OSError,
    no_disk: LedgerError,
    no_table: LedgerError,
    refused_by_an_index: LedgerError,
    refused_by_a_trigger: LedgerError,
    busy: LedgerBusy,
}
WEAKENED: dict[Callable[[Path], None], type[Exception]] = {
    talkative_data: ArithmeticError,
    talkative_cause: RuntimeError,
    talkative_noise: RuntimeError,
}


@pytest.mark.parametrize(("fault", "error"), FAULTS.items())
def test_no_error_tells_the_true_answer(
    fault: Callable[[Path], None], error: type[Exception], tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    assert not leaks(fault, error, tmp_path)
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize(("fault", "error"), WEAKENED.items())
def test_an_error_that_does_would_be_noticed(
    fault: Callable[[Path], None], error: type[Exception], tmp_path: Path
) -> None:
    assert leaks(fault, error, tmp_path)


def test_ledger_and_data_do_not_show_themselves(tmp_path: Path) -> None:
    with closing(make(tmp_path)) as ledger:
        shown = f"{ledger!r} {ledger} {DATA!r} {DATA} {ledger.quote(QUERY, precision=1)!r}"
    assert not has_any(shown, *DIGITS)
