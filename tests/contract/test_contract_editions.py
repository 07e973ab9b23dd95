"""Editions: data that came later has a budget and paths of its own."""

from __future__ import annotations

import pytest

from contract.ledger import AGE, ANN, BOB, CUSTODIAN, HEIGHT, TERMS, WORKER, Ledger, publish, refused, request, stretch
from contract.reference import MAX_PRECISION, Path

#: The last edition whose tills have places that can be counted, and the first that has none.
LAST = 2**256 // 128 - 2
BEYOND = [LAST + 1, 2**255, 2**256 - 1]


@pytest.fixture
def ledger() -> Ledger:
    ledger = publish()
    ledger.register("age", ceiling=900)
    ledger.register("height", 2)
    assert ledger.open_edition(b"d" * 32, 7) == [("Opened", {"edition": 1, "commitment": b"d" * 32, "rows": 7})]
    return ledger


def test_editions_are_numbered_and_committed_to(ledger: Ledger) -> None:
    assert ledger.read("editions") == 2
    assert ledger.read("edition", 0) == (TERMS.commitment, TERMS.rows, True)
    assert ledger.read("edition", 1) == (b"d" * 32, 7, True)
    assert ledger.read("edition", 2) == (bytes(32), 0, False)
    ((_, fields),) = ledger.open_edition(bytes(32), 2**256 - 1)
    assert (fields["edition"], ledger.read("edition", 2)) == (2, (bytes(32), 2**256 - 1, True))


def test_each_edition_has_the_whole_budget(ledger: Ledger) -> None:
    ledger.ask((HEIGHT, 1000))
    with refused(ledger, "BudgetExceeded(1, 0)"):
        ledger.ask((AGE, 1))
    ledger.ask(request(HEIGHT, 100, edition=1), request(AGE, 900, edition=1))
    with refused(ledger, "BudgetExceeded(1, 0)"):
        ledger.ask(request(HEIGHT, 101, edition=1))
    assert (ledger.spent(0), ledger.spent(1)) == (1000, 1000)


def test_requests_in_a_row_in_a_later_edition_are_charged_as_one(ledger: Ledger) -> None:
    with refused(ledger, "BudgetExceeded(1001, 1000)"):
        ledger.ask(request(HEIGHT, 500, edition=1), request(AGE, 501, edition=1))


def test_each_edition_has_its_own_paths(ledger: Ledger) -> None:
    ledger.ask((HEIGHT, 10))
    ((_, fields),) = ledger.ask(request(HEIGHT, 5, edition=1))
    assert (fields["edition"], fields["cost"]) == (1, 5)
    assert (ledger.read("price", HEIGHT, 0, 10), ledger.read("price", HEIGHT, 1, 10)) == ((10, 0), (10, 5))
    ledger.reveal(HEIGHT, 0, 10, [1, 2])
    ledger.reveal(HEIGHT, 0, 4, [30, 40], edition=1)
    ledger.reveal(HEIGHT, 4, 5, [3, -4], edition=1)
    assert ledger.path(HEIGHT) == Path([1, 2], HEIGHT, bought=10, revealed=10)
    assert ledger.path(HEIGHT, edition=1) == Path([33, 36], HEIGHT, bought=5, revealed=5)
    assert ledger.read("meter", HEIGHT, 1) == (2, 5, 5)


def test_one_batch_buys_in_several_editions(ledger: Ledger) -> None:
    places = [(AGE, 5, 0), (AGE, 7, 1), (HEIGHT, 3, 0), (HEIGHT, 2, 1), (AGE, 4, 0), (AGE, 9, 0)]
    wanted = [request(*place) for place in places]
    assert [fields["cost"] for _, fields in ledger.ask(*wanted, limit=21)] == [5, 7, 3, 2, 0, 4]
    assert (ledger.spent(0), ledger.spent(1)) == (12, 9)
    with refused(ledger, "LimitExceeded(3, 2)"):
        ledger.ask((AGE, 10), request(AGE, 9, edition=1), limit=2)
    with refused(ledger, "BudgetExceeded(992, 991)"):
        ledger.ask((AGE, 10), request(HEIGHT, 994, edition=1), (AGE, 11))


def test_an_allowance_pays_in_every_edition() -> None:
    ledger = publish(requires_allowance=True)
    ledger.register("age")
    ledger.open_edition()
    ledger.allow(ANN, 10)
    with refused(ledger, "AllowanceExceeded(11, 10)"):
        ledger.ask((AGE, 5), request(AGE, 6, edition=1))
    ledger.ask((AGE, 4), request(AGE, 6, edition=1))
    assert ledger.read("allowance", ANN) == 0


def test_a_ceiling_and_a_pause_hold_in_every_edition(ledger: Ledger) -> None:
    for edition in (0, 1):
        with refused(ledger, "ledger: above the ceiling"):
            ledger.ask(request(AGE, 901, edition))
    ledger.pause_query(AGE)
    for edition in (0, 1):
        with refused(ledger, "ledger: query paused"):
            ledger.ask(request(AGE, 1, edition))


@pytest.mark.parametrize("edition", [2, 128, LAST, *BEYOND])
def test_an_edition_that_is_not_open_is_not_sold(ledger: Ledger, edition: int) -> None:
    ledger.ask((AGE, 5))
    for wanted in ([request(AGE, 1, edition)], [request(AGE, 6), request(AGE, 1, edition)]):
        with refused(ledger, "ledger: edition not open"):
            ledger.ask(*wanted)
    with refused(ledger, "ledger: edition not open"):
        ledger.retire(edition)
    with refused(ledger, "ledger: not bought"):
        ledger.reveal(AGE, 0, 1, [1], edition=edition)
    assert ledger.read("meter", AGE, edition) == (1, 0, 0)
    assert ledger.read("price", AGE, edition, 3) == (3, 3)


@pytest.mark.parametrize("edition", [LAST + 2, *BEYOND[1:]])
def test_the_numbers_of_editions_do_not_overflow(ledger: Ledger, edition: int) -> None:
    assert ledger.read("spent", LAST) == [0]
    assert ledger.read("edition", LAST) == (bytes(32), 0, False)
    for view in ("spent", "edition"):
        with refused(ledger, ""):
            ledger.read(view, edition)


def test_a_retired_edition_is_not_sold_any_more(ledger: Ledger) -> None:
    ledger.ask((AGE, 5), request(HEIGHT, 8, edition=1))
    assert ledger.retire(1) == [("Retired", {"edition": 1})]
    assert ledger.read("edition", 1) == (b"d" * 32, 7, False)
    for wanted in (request(AGE, 1, edition=1), request(HEIGHT, 9, edition=1)):
        with refused(ledger, "ledger: edition not open"):
            ledger.ask((AGE, 6), wanted)
    ledger.ask((AGE, 6))
    with refused(ledger, "ledger: edition not open"):
        ledger.retire(1)
    assert (ledger.spent(0), ledger.spent(1)) == (6, 8)


def test_what_was_bought_of_a_retired_edition_is_revealed_and_stays_free(ledger: Ledger) -> None:
    ledger.ask((AGE, 5), request(AGE, 8, edition=1))
    ledger.retire(0)
    ledger.retire(1)
    ledger.send(WORKER, "reveal", [stretch(AGE, 0, 5), stretch(AGE, 0, 8, edition=1)], [3, 4])
    assert (ledger.path(AGE).point, ledger.path(AGE, edition=1).point) == ([3], [4])
    for edition in (0, 1):
        ((_, fields),) = ledger.ask(request(AGE, 5, edition), by=BOB)
        assert fields["cost"] == 0


def test_retiring_the_first_edition_leaves_the_rest_open(ledger: Ledger) -> None:
    ledger.retire(0)
    assert (ledger.read("paused"), ledger.read("closed"), ledger.spent()) == (False, False, 0)
    with refused(ledger, "ledger: edition not open"):
        ledger.ask((AGE, 5))
    ledger.ask(request(AGE, 5, edition=1))
    ledger.pause()
    ledger.pause(False)
    with refused(ledger, "ledger: edition not open"):
        ledger.ask((AGE, 5))


def test_retiring_changes_nothing_else_even_at_the_extremes() -> None:
    ledger = publish(budget=MAX_PRECISION, zones=2)
    ledger.register("age")
    ledger.open_edition()
    ledger.ask((AGE, MAX_PRECISION), request(AGE, MAX_PRECISION, edition=1))
    for edition in (1, 0):
        ledger.retire(edition)
        assert ledger.read("spent", edition) == [MAX_PRECISION] * 2
    assert (ledger.read("paused"), ledger.read("closed")) == (False, False)


def test_a_closed_ledger_opens_no_edition_and_may_retire_one(ledger: Ledger) -> None:
    ledger.close()
    with refused(ledger, "ledger: closed"):
        ledger.open_edition()
    ledger.retire(1)
    assert ledger.read("edition", 1)[2] is False


def test_a_paused_ledger_opens_editions(ledger: Ledger) -> None:
    ledger.pause()
    ledger.open_edition(by=CUSTODIAN)
    assert ledger.read("editions") == 3
    with refused(ledger, "ledger: paused"):
        ledger.ask(request(AGE, 1, edition=2))
