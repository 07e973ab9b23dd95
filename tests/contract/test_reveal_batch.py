"""Several paths extended in one call: all of them or none."""

from __future__ import annotations

import pytest

from contract.ledger import AGE, HEIGHT, UNKNOWN, WORKER, Ledger, publish, refused


@pytest.fixture
def ledger() -> Ledger:
    ledger = publish()
    ledger.register("age", 2)
    ledger.register("height", 3)
    ledger.ask((AGE, 10), (HEIGHT, 20))
    return ledger


def test_nothing_is_revealed_by_an_empty_batch(ledger: Ledger) -> None:
    before = ledger.state()
    assert ledger.send(WORKER, "reveal", [], [], [], []) == []
    assert ledger.state() == before
    with refused(ledger, "ledger: too many increments"):
        ledger.send(WORKER, "reveal", [], [], [], [1])


def test_increments_are_dealt_out_query_after_query(ledger: Ledger) -> None:
    events = ledger.send(WORKER, "reveal", [HEIGHT, AGE], [0, 0], [20, 9], [1, 2, 3, 4, 5])
    assert events == [
        ("Revealed", {"query": HEIGHT, "start": 0, "end": 20, "increments": [1, 2, 3]}),
        ("Revealed", {"query": AGE, "start": 0, "end": 9, "increments": [4, 5]}),
    ]
    assert (ledger.path(HEIGHT).point, ledger.path(AGE).point) == ([1, 2, 3], [4, 5])
    assert (ledger.path(HEIGHT).revealed, ledger.path(AGE).revealed) == (20, 9)


def test_one_path_may_be_extended_twice(ledger: Ledger) -> None:
    ledger.send(WORKER, "reveal", [AGE, AGE], [0, 3], [3, 10], [1, 2, 30, 40])
    assert (ledger.path(AGE).point, ledger.path(AGE).revealed) == ([31, 42], 10)


def test_one_stretch_cannot_be_revealed_twice(ledger: Ledger) -> None:
    with refused(ledger, "ledger: not where the path ends"):
        ledger.send(WORKER, "reveal", [AGE, AGE], [0, 0], [10, 10], [1, 2, 1, 2])


@pytest.mark.parametrize(
    ("query", "start", "end", "increments", "reason"),
    [
        (UNKNOWN, 0, 1, [1, 2, 3], "ledger: unknown query"),
        (HEIGHT, 1, 2, [1, 2, 3], "ledger: not where the path ends"),
        (HEIGHT, 0, 0, [1, 2, 3], "ledger: not bought"),
        (HEIGHT, 0, 21, [1, 2, 3], "ledger: not bought"),
        (HEIGHT, 0, 20, [1, 2], "ledger: too few increments"),
        (HEIGHT, 0, 20, [1, 2, 3, 4], "ledger: too many increments"),
    ],
)
def test_one_bad_path_refuses_all(
    ledger: Ledger, query: bytes, start: int, end: int, increments: list[int], reason: str
) -> None:
    with refused(ledger, reason):
        ledger.send(WORKER, "reveal", [AGE, query], [0, start], [10, end], [8, 9, *increments])


def test_an_overflow_refuses_all(ledger: Ledger) -> None:
    with refused(ledger, ""):
        ledger.send(WORKER, "reveal", [HEIGHT, AGE, AGE], [0, 0, 1], [1, 1, 2], [0, 0, 0, 0, 2**255 - 1, 0, 1])


def test_every_stretch_goes_forward(ledger: Ledger) -> None:
    with refused(ledger, "ledger: not bought"):
        ledger.send(WORKER, "reveal", [AGE, AGE], [0, 3], [3, 3], [1, 2, 30, 40])
    with refused(ledger, "ledger: not bought"):
        ledger.send(WORKER, "reveal", [AGE, AGE], [0, 3], [3, 1], [1, 2, 30, 40])


@pytest.mark.parametrize(
    ("starts", "ends"),
    [([0], [10, 20]), ([0, 0, 0], [10, 20]), ([0, 0], [10]), ([0, 0], [10, 20, 30]), ([0], [10]), ([], [])],
)
def test_lists_of_different_length_are_refused(ledger: Ledger, starts: list[int], ends: list[int]) -> None:
    with refused(ledger, "ledger: lists differ in length"):
        ledger.send(WORKER, "reveal", [AGE, HEIGHT], starts, ends, [1, 2, 3, 4, 5])


def test_a_batch_extends_up_to_100_paths() -> None:
    ledger, steps = publish(), range(101)
    ledger.register("age")
    ledger.ask((AGE, 101))
    ends = [step + 1 for step in steps]
    with refused(ledger, ""):
        ledger.send(WORKER, "reveal", [AGE] * 101, list(steps), ends, [1] * 101)
    ledger.send(WORKER, "reveal", [AGE] * 100, list(steps)[:100], ends[:100], list(range(100)))
    assert (ledger.path(AGE).point, ledger.path(AGE).revealed) == ([sum(range(100))], 100)


def test_a_batch_carries_up_to_512_coordinates() -> None:
    ledger = publish()
    ledger.register("age", 511)
    ledger.register("height", 2)
    ledger.ask((AGE, 1), (HEIGHT, 1))
    with refused(ledger, ""):
        ledger.send(WORKER, "reveal", [AGE, HEIGHT], [0, 0], [1, 1], [1] * 513)
    with refused(ledger, "ledger: too few increments"):
        ledger.send(WORKER, "reveal", [AGE, HEIGHT], [0, 0], [1, 1], [1] * 512)
