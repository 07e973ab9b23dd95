"""Extending a path: forward only, from where it ends, to no more than was bought."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from contract.ledger import AGE, ANN, BOB, CUSTODIAN, EVE, UNKNOWN, WORKER, Ledger, publish, refused
from contract.reference import MAX_PRECISION, Path

LARGEST, SMALLEST = 2**255 - 1, -(2**255)


def bought(precision: int, dimension: int = 2) -> Ledger:
    ledger = publish(budget=MAX_PRECISION)
    ledger.register("age", dimension)
    ledger.ask((AGE, precision))
    return ledger


def test_increments_add_up_along_the_path() -> None:
    ledger = bought(10)
    events = ledger.reveal(AGE, 0, 4, [7, -3])
    assert events == [("Revealed", {"query": AGE, "edition": 0, "start": 0, "end": 4, "increments": [7, -3]})]
    assert ledger.path(AGE) == Path([7, -3], AGE, bought=10, revealed=4)
    events = ledger.reveal(AGE, 4, 10, [-10, 1])
    assert events == [("Revealed", {"query": AGE, "edition": 0, "start": 4, "end": 10, "increments": [-10, 1]})]
    assert ledger.path(AGE) == Path([-3, -2], AGE, bought=10, revealed=10)
    assert ledger.spent() == 10


@pytest.mark.parametrize("dimension", [1, 2, 7, 8])
def test_every_coordinate_has_its_own_number(dimension: int) -> None:
    ledger, increments = bought(10, dimension), [n - 50 for n in range(dimension)]
    ((_, fields),) = ledger.reveal(AGE, 0, 10, increments)
    assert fields["increments"] == increments
    assert ledger.path(AGE).point == increments


def test_a_reveal_cannot_be_replayed() -> None:
    ledger = bought(10)
    ledger.reveal(AGE, 0, 4, [7, -3])
    with refused(ledger, "ledger: not where the path ends"):
        ledger.reveal(AGE, 0, 4, [7, -3])
    with refused(ledger, "ledger: not where the path ends"):
        ledger.reveal(AGE, 0, 4, [0, 0])
    with refused(ledger, "ledger: not where the path ends"):
        ledger.reveal(AGE, 0, 10, [7, -3])


@pytest.mark.parametrize("start", [0, 1, 3, 5, 10, 2**110 - 1, 2**110, 2**110 + 4, 2**255 - 1, 2**256 - 1])
def test_a_path_goes_on_where_it_ends(start: int) -> None:
    ledger = bought(10)
    ledger.reveal(AGE, 0, 4, [7, -3])
    with refused(ledger, "ledger: not where the path ends"):
        ledger.reveal(AGE, start, 10, [1, 1])


@pytest.mark.parametrize("end", [0, 1, 3, 4, 11, 2**110 - 1, 2**110, 2**110 + 10, 2**255 - 1, 2**256 - 1])
def test_a_path_goes_forward_and_no_further_than_was_bought(end: int) -> None:
    ledger = bought(10)
    ledger.reveal(AGE, 0, 4, [7, -3])
    with refused(ledger, "ledger: not bought"):
        ledger.reveal(AGE, 4, end, [1, 1])


def test_nothing_can_be_revealed_that_nobody_bought() -> None:
    ledger = publish()
    ledger.register("age")
    for end in (0, 1, 1000):
        with refused(ledger, "ledger: not bought"):
            ledger.reveal(AGE, 0, end, [1])


def test_the_longest_path_is_revealed_to_its_end() -> None:
    ledger = bought(MAX_PRECISION)
    ledger.reveal(AGE, 0, 1, [1, 1])
    ledger.reveal(AGE, 1, MAX_PRECISION - 1, [1, 1])
    ledger.reveal(AGE, MAX_PRECISION - 1, MAX_PRECISION, [1, 1])
    assert ledger.path(AGE) == Path([3, 3], AGE, bought=MAX_PRECISION, revealed=MAX_PRECISION)
    with refused(ledger, "ledger: not bought"):
        ledger.reveal(AGE, MAX_PRECISION, MAX_PRECISION + 1, [1, 1])


def test_what_is_bought_later_is_revealed_later() -> None:
    ledger = bought(5, dimension=1)
    ledger.reveal(AGE, 0, 5, [50])
    ledger.ask((AGE, 8), by=BOB)
    ledger.reveal(AGE, 5, 8, [30])
    assert ledger.path(AGE) == Path([80], AGE, bought=8, revealed=8)


@pytest.mark.parametrize("who", [CUSTODIAN, ANN, EVE], ids=["custodian", "analyst", "stranger"])
def test_only_the_worker_reveals(who: str) -> None:
    ledger = bought(10)
    with refused(ledger, "ledger: not for you"):
        ledger.reveal(AGE, 0, 10, [1, 1], by=who)
    with refused(ledger, "ledger: not for you"):
        ledger.send(who, "reveal", [], [])


def test_an_unknown_query_is_refused() -> None:
    ledger = bought(10)
    with refused(ledger, "ledger: unknown query"):
        ledger.reveal(UNKNOWN, 0, 10, [1])


@pytest.mark.parametrize("increments", [[], [1]])
def test_too_few_increments_are_refused(increments: list[int]) -> None:
    ledger = bought(10)
    with refused(ledger, "ledger: too few increments"):
        ledger.reveal(AGE, 0, 10, increments)


@pytest.mark.parametrize("increments", [[1, 2, 3], [1] * 512])
def test_too_many_increments_are_refused(increments: list[int]) -> None:
    ledger = bought(10)
    with refused(ledger, "ledger: too many increments"):
        ledger.reveal(AGE, 0, 10, increments)


def test_more_than_512_increments_are_refused() -> None:
    ledger = bought(10)
    with refused(ledger, ""):
        ledger.reveal(AGE, 0, 10, [1] * 513)


@pytest.mark.parametrize(
    ("first", "then"),
    [
        ([LARGEST, 0], [1, 0]),
        ([0, LARGEST], [0, 1]),
        ([1, 1], [0, LARGEST]),
        ([SMALLEST, 0], [-1, 0]),
        ([0, SMALLEST], [0, -1]),
        ([-1, -1], [SMALLEST, 0]),
        ([LARGEST, 0], [LARGEST, 0]),
        ([SMALLEST, 0], [SMALLEST, 0]),
    ],
)
def test_a_path_that_overflows_is_refused(first: Sequence[int], then: Sequence[int]) -> None:
    ledger = bought(10)
    ledger.reveal(AGE, 0, 4, first)
    with refused(ledger, ""):
        ledger.reveal(AGE, 4, 10, then)


def test_a_path_may_go_to_the_extremes_and_back() -> None:
    ledger = bought(10)
    steps = [[LARGEST, SMALLEST], [SMALLEST, LARGEST], [0, 0], [-LARGEST + 1, 1], [SMALLEST + LARGEST, 0]]
    for start, step in enumerate(steps):
        ledger.reveal(AGE, start, start + 1, step)
    assert ledger.path(AGE).point == [-LARGEST - 1, 0]


def test_what_was_bought_is_revealed_even_while_paused() -> None:
    ledger = bought(10)
    ledger.pause()
    ledger.reveal(AGE, 0, 10, [7, -3], by=WORKER)
    assert ledger.path(AGE).point == [7, -3]


@pytest.mark.parametrize("dimension", [9, 512, 65536])
def test_a_large_answer_is_revealed_in_pieces_only(dimension: int) -> None:
    ledger = bought(10, dimension)
    with refused(ledger, "ledger: a large answer"):
        ledger.reveal(AGE, 0, 10, [1] * min(dimension, 512))
