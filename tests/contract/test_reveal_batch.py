"""Several paths extended in one call: all of them or none."""

from __future__ import annotations

import pytest

from contract.ledger import AGE, HEIGHT, UNKNOWN, WORKER, Ledger, publish, refused, request, stretch


@pytest.fixture
def ledger() -> Ledger:
    ledger = publish()
    ledger.register("age", 2)
    ledger.register("height", 3)
    ledger.ask((AGE, 10), (HEIGHT, 20))
    return ledger


def test_nothing_is_revealed_by_an_empty_batch(ledger: Ledger) -> None:
    before = ledger.state()
    assert ledger.send(WORKER, "reveal", [], []) == []
    assert ledger.state() == before
    with refused(ledger, "ledger: too many increments"):
        ledger.send(WORKER, "reveal", [], [1])


def test_increments_are_dealt_out_query_after_query(ledger: Ledger) -> None:
    events = ledger.send(WORKER, "reveal", [stretch(HEIGHT, 0, 20), stretch(AGE, 0, 9)], [1, 2, 3, 4, 5])
    assert events == [
        ("Revealed", {"query": HEIGHT, "edition": 0, "start": 0, "end": 20, "increments": [1, 2, 3]}),
        ("Revealed", {"query": AGE, "edition": 0, "start": 0, "end": 9, "increments": [4, 5]}),
    ]
    assert (ledger.path(HEIGHT).point, ledger.path(AGE).point) == ([1, 2, 3], [4, 5])
    assert (ledger.path(HEIGHT).revealed, ledger.path(AGE).revealed) == (20, 9)


def test_one_path_may_be_extended_twice(ledger: Ledger) -> None:
    ledger.send(WORKER, "reveal", [stretch(AGE, 0, 3), stretch(AGE, 3, 10)], [1, 2, 30, 40])
    assert (ledger.path(AGE).point, ledger.path(AGE).revealed) == ([31, 42], 10)


def test_one_stretch_cannot_be_revealed_twice(ledger: Ledger) -> None:
    with refused(ledger, "ledger: not where the path ends"):
        ledger.send(WORKER, "reveal", [stretch(AGE, 0, 10), stretch(AGE, 0, 10)], [1, 2, 1, 2])


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
        ledger.send(WORKER, "reveal", [stretch(AGE, 0, 10), stretch(query, start, end)], [8, 9, *increments])


def test_an_overflow_refuses_all(ledger: Ledger) -> None:
    with refused(ledger, ""):
        ledger.send(
            WORKER,
            "reveal",
            [stretch(HEIGHT, 0, 1), stretch(AGE, 0, 1), stretch(AGE, 1, 2)],
            [0, 0, 0, 0, 2**255 - 1, 0, 1],
        )


def test_every_stretch_goes_forward(ledger: Ledger) -> None:
    with refused(ledger, "ledger: not bought"):
        ledger.send(WORKER, "reveal", [stretch(AGE, 0, 3), stretch(AGE, 3, 3)], [1, 2, 30, 40])
    with refused(ledger, "ledger: not bought"):
        ledger.send(WORKER, "reveal", [stretch(AGE, 0, 3), stretch(AGE, 3, 1)], [1, 2, 30, 40])


def test_a_batch_extends_paths_of_several_editions(ledger: Ledger) -> None:
    ledger.open_edition()
    ledger.ask(request(AGE, 7, edition=1))
    stretches = [stretch(AGE, 0, 10), stretch(AGE, 0, 7, edition=1), stretch(HEIGHT, 0, 20)]
    events = ledger.send(WORKER, "reveal", stretches, [1, 2, 3, 4, 5, 6, 7])
    assert [(fields["edition"], fields["increments"]) for _, fields in events] == [
        (0, [1, 2]),
        (1, [3, 4]),
        (0, [5, 6, 7]),
    ]
    assert (ledger.path(AGE).point, ledger.path(AGE, edition=1).point) == ([1, 2], [3, 4])
    with refused(ledger, "ledger: not bought"):
        ledger.send(WORKER, "reveal", [stretch(HEIGHT, 0, 20, edition=1)], [1, 2, 3])


def test_a_batch_extends_up_to_100_paths() -> None:
    ledger = publish()
    ledger.register("age")
    ledger.ask((AGE, 101))
    stretches = [stretch(AGE, step, step + 1) for step in range(101)]
    with refused(ledger, ""):
        ledger.send(WORKER, "reveal", stretches, [1] * 101)
    ledger.send(WORKER, "reveal", stretches[:100], list(range(100)))
    assert (ledger.path(AGE).point, ledger.path(AGE).revealed) == ([sum(range(100))], 100)


def test_a_batch_carries_up_to_512_coordinates() -> None:
    ledger = publish()
    ledger.register("age", 8)
    ledger.ask((AGE, 100))
    stretches = [stretch(AGE, step, step + 1) for step in range(65)]
    with refused(ledger, ""):
        ledger.send(WORKER, "reveal", stretches, [1] * 513)
    with refused(ledger, "ledger: too few increments"):
        ledger.send(WORKER, "reveal", stretches, [1] * 512)
    ledger.send(WORKER, "reveal", stretches[:64], [1] * 512)
    assert (ledger.path(AGE).point, ledger.path(AGE).revealed) == ([64] * 8, 64)
