"""Attack: several processes, or threads, ask at once, so that each sees a budget that the others have not charged yet.

The defence: one transaction, which keeps all others out, from the first look at the budget to the commit. The weakened
ledger looks first and keeps the others out only while it writes, so that two can pass the check with money for one.

To make the race certain rather than likely, the data source holds everybody who has passed the check until all have, or
until it is clear that the others cannot come.
"""

from __future__ import annotations

import multiprocessing
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Executor, ProcessPoolExecutor, ThreadPoolExecutor
from contextlib import closing, suppress
from fractions import Fraction
from pathlib import Path
from typing import Protocol, TypeAlias, Unpack

import pytest

from faults.books import Seen, check_books
from noiseledger import Answer, BudgetExceeded, LocalLedger, NoiseledgerError, Population, Query, Table
from noiseledger.core.request import Accuracy
from noiseledger.errors import LedgerError
from noiseledger.ledger import book
from noiseledger.ledger.bound import Bound

RACERS = 4
QUERIES = [Query.count(f"cell = {number}") for number in range(RACERS)]
RECORDS = [{"cell": number} for number in range(RACERS)]
#: Asking one query for this takes more than half of the budget.
MOST = Fraction(2)
#: How long one who passed the check waits for others. It must be long only where they do come.
IN_VAIN, FOR_SURE = 0.5, 60

Plan: TypeAlias = Sequence[tuple[Query, Fraction]]
Outcome: TypeAlias = Answer | NoiseledgerError


class Barrier(Protocol):
    """What barriers between threads and between processes have in common."""

    def wait(self, timeout: float | None = None) -> int: ...


class MeetingPoint:
    """Real totals, handed out only when everyone who could be between check and charge is there."""

    def __init__(self, data: Bound, barrier: Barrier, patience: float) -> None:
        self._data, self._barrier, self._patience = data, barrier, patience

    def totals(self, query: Query) -> Sequence[int]:
        # If nobody else comes, that is as it should be.
        with suppress(threading.BrokenBarrierError):
            self._barrier.wait(self._patience)
        return self._data.totals(query)


class LooksTooEarly(LocalLedger):
    """Weakened: the budget is read in one transaction and charged in another, from what was read."""

    def ask(
        self,
        query: Query,
        *,
        analyst: str = "",
        exact_noise: bool = False,
        edition: int = 0,
        **accuracy: Unpack[Accuracy],
    ) -> Answer:
        request = self.resolve(query, edition=edition, **accuracy)
        with self._store.reading() as run:
            entry = book.find_query(run, query)
            path = self._path(run, entry, request.precision)
            budget = book.read_budget(run, *self._promise).charge(path.price(request.precision).cost, entry.reach)
        reveal = path.reveal(request.precision, lambda: self._truth(entry))
        with self._store.transaction() as run:
            number, built_from = book.write_reveal(run, entry, request, reveal, budget, analyst)
        return Answer(query, entry.sensitivity, reveal, number, built_from, budget.whole)


_ledger: LocalLedger


def open_to_meet(kind: type[LocalLedger], file: Path, meeting: Barrier, patience: float) -> LocalLedger:
    """Open a ledger that hands out its totals when everyone is there."""
    ledger = kind.open(file, Table(RECORDS, {"cell": "number"}))
    data = ledger._editions.data
    data[0] = MeetingPoint(data[0], meeting, patience)  # type: ignore[assignment]
    return ledger


def get_ready(kind: type[LocalLedger], file: Path, start: Barrier, meeting: Barrier, patience: float) -> None:
    """Open the ledger in this process and wait for the others."""
    global _ledger  # noqa: PLW0603 - this is how a process pool hands something to its workers
    _ledger = open_to_meet(kind, file, meeting, patience)
    start.wait(FOR_SURE)


def run(plan: Plan) -> list[Outcome]:
    return [attempt(_ledger, query, precision) for query, precision in plan]


def attempt(ledger: LocalLedger, query: Query, precision: Fraction) -> Outcome:
    try:
        return ledger.ask(query, exact_noise=True, precision=precision)
    except NoiseledgerError as error:
        return error


Race: TypeAlias = Callable[[type[LocalLedger], Path, Sequence[Plan], float], list[Outcome]]


def race_processes(kind: type[LocalLedger], file: Path, plans: Sequence[Plan], patience: float) -> list[Outcome]:
    """Let one process follow each plan, all on one file."""
    spawn, count = multiprocessing.get_context("spawn"), len(plans)
    ready = (kind, file, spawn.Barrier(count), spawn.Barrier(count), patience)
    with ProcessPoolExecutor(count, spawn, get_ready, ready) as pool:
        return _gather(pool, run, plans)


def race_threads(kind: type[LocalLedger], file: Path, plans: Sequence[Plan], patience: float) -> list[Outcome]:
    """Let one thread follow each plan, all on one ledger object."""
    start, meeting = threading.Barrier(len(plans)), threading.Barrier(len(plans))
    with closing(open_to_meet(kind, file, meeting, patience)) as ledger, ThreadPoolExecutor(len(plans)) as pool:

        def run_here(plan: Plan) -> list[Outcome]:
            start.wait(FOR_SURE)
            return [attempt(ledger, query, precision) for query, precision in plan]

        return _gather(pool, run_here, plans)


def _gather(pool: Executor, follow: Callable[[Plan], list[Outcome]], plans: Sequence[Plan]) -> list[Outcome]:
    return [outcome for outcomes in pool.map(follow, plans) for outcome in outcomes]


def settle(file: Path, outcomes: Sequence[Outcome]) -> tuple[list[Answer], list[NoiseledgerError]]:
    """Check the books against what the racers were told; return their answers and their errors."""
    answers = [outcome for outcome in outcomes if isinstance(outcome, Answer)]
    with closing(LocalLedger.open(file)) as ledger:
        check_books(ledger, map(Seen.of, answers))
        assert len(list(ledger.records())) == len(answers)
    return answers, [outcome for outcome in outcomes if isinstance(outcome, NoiseledgerError)]


@pytest.fixture
def file(tmp_path: Path) -> Path:
    made = tmp_path / "ledger"
    LocalLedger.create(made, epsilon=8, delta=1e-4, population=Population.add_remove(), queries=QUERIES).close()
    return made


@pytest.fixture(params=[race_processes, race_threads])
def race(request: pytest.FixtureRequest) -> Race:
    chosen: Race = request.param
    return chosen


def crowd() -> list[Plan]:
    """Let everyone ask for more and more of every query, each beginning elsewhere: in all, over twice the budget."""
    return [
        [(QUERIES[(racer + step) % RACERS], Fraction(20 * step + racer + 1, 100)) for step in range(12)]
        for racer in range(RACERS)
    ]


def test_a_crowd_never_overspends(file: Path, race: Race) -> None:
    answers, errors = settle(file, race(LocalLedger, file, crowd(), 0))
    assert {answer.query for answer in answers} == set(QUERIES)
    assert errors, "more was asked for than there is"
    assert all(isinstance(error, BudgetExceeded) and error.requested > error.remaining for error in errors)


def test_two_who_can_only_afford_one_get_one(file: Path, race: Race) -> None:
    outcomes = race(LocalLedger, file, [[(query, MOST)] for query in QUERIES[:2]], IN_VAIN)
    answers, errors = settle(file, outcomes)
    assert [answer.cost for answer in answers] == [MOST]
    assert [type(error) for error in errors] == [BudgetExceeded]


def test_two_who_look_too_early_overspend(file: Path, race: Race) -> None:
    outcomes = race(LooksTooEarly, file, [[(query, MOST)] for query in QUERIES[:2]], FOR_SURE)
    assert all(isinstance(outcome, Answer) for outcome in outcomes)
    with pytest.raises(AssertionError):
        settle(file, outcomes)


def test_of_all_who_ask_the_same_one_pays_and_all_get_it(file: Path, race: Race) -> None:
    outcomes = race(LocalLedger, file, [[(QUERIES[0], MOST)]] * RACERS, IN_VAIN)
    answers, errors = settle(file, outcomes)
    assert not errors
    assert sorted(answer.cost for answer in answers) == [0] * (RACERS - 1) + [MOST]
    assert len({answer.values for answer in answers}) == 1


def test_of_all_who_look_too_early_the_file_itself_stops_a_second_value(file: Path, race: Race) -> None:
    """The second guard: one value for each point, whatever the code above it does."""
    outcomes = race(LooksTooEarly, file, [[(QUERIES[0], MOST)]] * RACERS, FOR_SURE)
    answers, errors = settle(file, outcomes)
    assert len(answers) == 1, "a race that went right would have given everyone the answer"
    assert [type(error) for error in errors] == [LedgerError] * (RACERS - 1)
