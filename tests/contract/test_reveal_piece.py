"""Large answers: revealed in pieces, in order, and chained into one hash."""

from __future__ import annotations

import pytest

from contract.ledger import (
    AGE,
    ANN,
    CUSTODIAN,
    EVE,
    HEIGHT,
    UNKNOWN,
    WORKER,
    Ledger,
    publish,
    refused,
    request,
    stretch,
)
from contract.record import answer
from contract.reference import MAX_PIECE, MAX_PRECISION, Path, chained

LARGEST, SMALLEST = 2**255 - 1, -(2**255)


def bought(precision: int = 10, dimension: int = 20) -> Ledger:
    ledger = publish(budget=MAX_PRECISION)
    ledger.register("age", dimension)
    ledger.ask((AGE, precision))
    return ledger


def test_an_answer_in_one_piece() -> None:
    ledger = bought(10, 9)
    fields = {"query": AGE, "edition": 0, "start": 0, "end": 4, "first": 0, "increments": [7, -3, *[0] * 7]}
    assert ledger.reveal_piece(AGE, 0, 4, 0, [7, -3, *[0] * 7]) == [("RevealedPiece", fields)]
    first = chained(AGE, 4, 0, [7, -3, *[0] * 7])
    assert ledger.path(AGE) == Path([], first, bought=10, revealed=4)
    ledger.reveal_piece(AGE, 4, 10, 0, [1] * 9)
    assert ledger.path(AGE) == Path([], chained(first, 10, 0, [1] * 9), bought=10, revealed=10)
    assert ledger.spent() == 10


def test_an_answer_in_several_pieces() -> None:
    ledger, digest, done = bought(), AGE, 0
    for piece in ([1] * 7, [2], [LARGEST] * 11):
        ledger.reveal_piece(AGE, 0, 6, done, piece)
        digest, done = chained(digest, 6, done, piece), done + len(piece)
        assert ledger.path(AGE) == Path([], digest, bought=10, revealed=0, done=done, end=6)
    ledger.reveal_piece(AGE, 0, 6, 19, [SMALLEST])
    assert ledger.path(AGE) == Path([], chained(digest, 6, 19, [SMALLEST]), bought=10, revealed=6)
    ledger.reveal_piece(AGE, 6, 10, 0, [5] * 20)
    assert ledger.path(AGE).revealed == 10


@pytest.mark.parametrize("first", [0, 1, 6, 8, 9, 20, 2**16, 2**16 + 7, 2**255, 2**256 - 1])
def test_the_next_piece_begins_where_the_last_one_ended(first: int) -> None:
    ledger = bought()
    ledger.reveal_piece(AGE, 0, 10, 0, [1] * 7)
    with refused(ledger, "ledger: not the next coordinate"):
        ledger.reveal_piece(AGE, 0, 10, first, [1] * 3)


@pytest.mark.parametrize("first", [1, 19, 20, 2**16, 2**256 - 1])
def test_the_first_piece_begins_at_the_first_coordinate(first: int) -> None:
    ledger = bought()
    with refused(ledger, "ledger: not the next coordinate"):
        ledger.reveal_piece(AGE, 0, 10, first, [1])


@pytest.mark.parametrize("size", [0, 14, 200, 256])
def test_a_piece_has_as_many_numbers_as_are_left_or_fewer(size: int) -> None:
    ledger = bought()
    ledger.reveal_piece(AGE, 0, 10, 0, [1] * 7)
    with refused(ledger, "ledger: wrong number of increments"):
        ledger.reveal_piece(AGE, 0, 10, 7, [1] * size)
    ledger.reveal_piece(AGE, 0, 10, 7, [1] * 13)


@pytest.mark.parametrize("size", [0, 21, 256])
def test_a_first_piece_has_at_least_one_number_and_at_most_all(size: int) -> None:
    ledger = bought()
    with refused(ledger, "ledger: wrong number of increments"):
        ledger.reveal_piece(AGE, 0, 10, 0, [1] * size)


def test_a_piece_has_a_largest_size() -> None:
    ledger = bought(10, 300)
    with refused(ledger, ""):
        ledger.reveal_piece(AGE, 0, 10, 0, [1] * (MAX_PIECE + 1))
    ledger.reveal_piece(AGE, 0, 10, 0, [1] * MAX_PIECE)
    assert ledger.path(AGE).done == MAX_PIECE


@pytest.mark.parametrize(
    ("end", "reason"), [(9, ""), (11, ""), (12, ""), (13, "ledger: not bought"), (0, "ledger: not bought")]
)
def test_all_pieces_of_a_stretch_end_where_the_first_one_does(end: int, reason: str) -> None:
    """Even where more was bought in between."""
    ledger = bought()
    ledger.reveal_piece(AGE, 0, 10, 0, [1] * 7)
    ledger.ask((AGE, 12))
    with refused(ledger, reason or "ledger: not where the stretch ends"):
        ledger.reveal_piece(AGE, 0, end, 7, [1] * 13)
    ledger.reveal_piece(AGE, 0, 10, 7, [1] * 13)
    assert ledger.path(AGE).revealed == 10
    ledger.reveal_piece(AGE, 10, 12, 0, [1] * 20)
    assert ledger.path(AGE).revealed == 12


@pytest.mark.parametrize("start", [1, 3, 5, 10, 2**110, 2**256 - 1])
def test_a_piece_goes_on_where_the_path_ends(start: int) -> None:
    ledger = bought()
    ledger.reveal_piece(AGE, 0, 4, 0, [1] * 20)
    with refused(ledger, "ledger: not where the path ends"):
        ledger.reveal_piece(AGE, start, 10, 0, [1] * 20)
    ledger.reveal_piece(AGE, 4, 10, 0, [1] * 3)
    with refused(ledger, "ledger: not where the path ends"):
        ledger.reveal_piece(AGE, start, 10, 3, [1] * 17)


@pytest.mark.parametrize("end", [0, 3, 4, 11, 2**110 - 1, 2**110 + 10, 2**256 - 1])
def test_a_piece_goes_forward_and_no_further_than_was_bought(end: int) -> None:
    ledger = bought()
    ledger.reveal_piece(AGE, 0, 4, 0, [1] * 20)
    with refused(ledger, "ledger: not bought"):
        ledger.reveal_piece(AGE, 4, end, 0, [1] * 20)


def test_a_piece_cannot_be_replayed() -> None:
    ledger = bought()
    ledger.reveal_piece(AGE, 0, 10, 0, [1] * 10)
    with refused(ledger, "ledger: not the next coordinate"):
        ledger.reveal_piece(AGE, 0, 10, 0, [1] * 10)
    ledger.reveal_piece(AGE, 0, 10, 10, [1] * 10)
    for first in (0, 10):
        with refused(ledger, "ledger: not where the path ends"):
            ledger.reveal_piece(AGE, 0, 10, first, [1] * 10)


@pytest.mark.parametrize("who", [CUSTODIAN, ANN, EVE], ids=["custodian", "analyst", "stranger"])
def test_only_the_worker_reveals_pieces(who: str) -> None:
    ledger = bought()
    with refused(ledger, "ledger: not for you"):
        ledger.reveal_piece(AGE, 0, 10, 0, [1] * 20, by=who)


def test_small_answers_and_unknown_ones_have_no_pieces() -> None:
    ledger = bought(10, 8)
    with refused(ledger, "ledger: a small answer"):
        ledger.reveal_piece(AGE, 0, 10, 0, [1] * 8)
    with refused(ledger, "ledger: unknown query"):
        ledger.reveal_piece(UNKNOWN, 0, 10, 0, [1] * 9)


def test_pieces_of_one_answer_do_not_touch_other_answers_or_editions() -> None:
    ledger = bought()
    ledger.register("height", 300)
    ledger.open_edition()
    ledger.ask((HEIGHT, 10), request(AGE, 9, edition=1))
    ledger.reveal_piece(AGE, 0, 10, 0, [1] * 5)
    ledger.reveal_piece(AGE, 0, 9, 0, [2] * 6, edition=1)
    ledger.reveal_piece(HEIGHT, 0, 10, 0, [3] * 256)
    assert ledger.path(AGE) == Path([], chained(AGE, 10, 0, [1] * 5), bought=10, done=5, end=10)
    assert ledger.path(AGE, edition=1) == Path([], chained(AGE, 9, 0, [2] * 6), bought=9, done=6, end=9)
    assert ledger.path(HEIGHT) == Path([], chained(HEIGHT, 10, 0, [3] * 256), bought=10, done=256, end=10)
    ledger.reveal_piece(AGE, 0, 9, 6, [2] * 14, edition=1)
    assert (ledger.path(AGE).revealed, ledger.path(AGE, edition=1).revealed) == (0, 9)


def test_between_two_pieces_everything_else_may_happen() -> None:
    ledger = bought()
    ledger.reveal_piece(AGE, 0, 10, 0, [1] * 5)
    ledger.ask((AGE, 15))
    ledger.pause_query(AGE)
    ledger.pause()
    ledger.retire(0)
    ledger.close()
    ledger.send(CUSTODIAN, "change_worker", EVE)
    with refused(ledger, "ledger: not for you"):
        ledger.reveal_piece(AGE, 0, 10, 5, [2] * 15)
    ledger.reveal_piece(AGE, 0, 10, 5, [2] * 15, by=EVE)
    assert ledger.path(AGE) == Path([], chained(chained(AGE, 10, 0, [1] * 5), 10, 5, [2] * 15), bought=15, revealed=10)
    assert ledger.read("query_paused", AGE) is True


def test_the_last_piece_of_the_largest_answer() -> None:
    """At the extremes of every part of the meter."""
    ledger = publish(budget=MAX_PRECISION, zones=2)
    ledger.register("age", 65536, reach=1, ceiling=MAX_PRECISION)
    ledger.ask((AGE, MAX_PRECISION))
    ledger.pause_query(AGE)
    ledger.reveal_piece(AGE, 0, 1, 0, [1])
    for first in range(1, 65536 - 256, 256):
        ledger.send(WORKER, "reveal_piece", stretch(AGE, 0, 1), first, [1] * 256)
    assert ledger.read("piece", AGE, 0)[:2] == (65281, 1)
    ledger.reveal_piece(AGE, 0, 1, 65281, [1] * 254)
    with refused(ledger, "ledger: wrong number of increments"):
        ledger.reveal_piece(AGE, 0, 1, 65535, [1, 1])
    assert ledger.read("piece", AGE, 0)[:2] == (65535, 1)
    ledger.reveal_piece(AGE, 0, 1, 65535, [1])
    assert ledger.read("meter", AGE, 0) == (65536, MAX_PRECISION, 1)
    ledger.reveal_piece(AGE, 1, MAX_PRECISION, 0, [1])
    assert ledger.read("meter", AGE, 0) == (65536, MAX_PRECISION, 1)
    assert ledger.read("piece", AGE, 0)[:2] == (1, MAX_PRECISION)
    assert (ledger.query(AGE).reach, ledger.query(AGE).paused) == (1, True)


def test_the_first_piece_costs_no_more_than_later_ones() -> None:
    """The word of its hash was written when the query was registered: at first it would cost 17,100 gas more."""
    ledger = bought()
    gas = [
        ledger._call(WORKER, "reveal_piece", (stretch(AGE, start, start + 1), 0, [1] * 20)).get_gas_used()
        for start in range(3)
    ]
    assert max(gas) - min(gas) < 5000


def test_a_table_of_10000_cells_is_rebuilt_from_its_events() -> None:
    ledger, digest = bought(30, 10_000), AGE
    stretches = [(0, 20, [n * 10**18 - 7 for n in range(10_000)]), (20, 30, [-(n**5) for n in range(10_000)])]
    for start, end, numbers in stretches:
        for first in range(0, 10_000, MAX_PIECE):
            piece = numbers[first : first + MAX_PIECE]
            ledger.reveal_piece(AGE, start, end, first, piece)
            digest = chained(digest, end, first, piece)
    assert ledger.path(AGE) == Path([], digest, bought=30, revealed=30)
    expected = [one + other for one, other in zip(stretches[0][2], stretches[1][2], strict=True)]
    assert answer(ledger.events, AGE, 0, 10_000) == expected
