"""The checks themselves: each sees what it is for, in stretches written by hand."""

from __future__ import annotations

from fractions import Fraction

import pytest

from faults.worker.promise import (
    Broken,
    Stretch,
    check_budget,
    check_nothing_forgotten,
    check_one_path,
    check_one_value,
    check_silence,
)


def stretch(start: int, end: int, *increments: int) -> Stretch:
    return Stretch("ab", Fraction(start), Fraction(end), increments)


KNOWN = {"ab": {Fraction(1): (5, -1), Fraction(2): (6, 0), Fraction(3): (7, 1), Fraction(4): (8, 8)}}
ONE_PATH = [stretch(0, 1, 5, -1), stretch(1, 3, 2, 2), stretch(0, 3, 7, 1), stretch(0, 2, 6, 0), stretch(2, 3, 1, 1)]


def test_one_path_is_one_path() -> None:
    check_one_value(ONE_PATH + ONE_PATH)
    check_one_path(ONE_PATH + ONE_PATH, KNOWN)
    check_budget(ONE_PATH + ONE_PATH, Fraction(3))


@pytest.mark.parametrize("other", ONE_PATH)
def test_a_second_value_for_a_stretch_is_seen(other: Stretch) -> None:
    changed = Stretch(other.query, other.start, other.end, (other.increments[0], other.increments[1] + 1))
    with pytest.raises(Broken, match="two increments"):
        check_one_value([*ONE_PATH, changed])


@pytest.mark.parametrize("strange", [stretch(1, 2, 0, 0), stretch(0, 3, 7, 2), stretch(2, 3, 2, 1)])
@pytest.mark.parametrize("at", range(6))
def test_a_second_path_is_seen_wherever_it_meets_the_first(strange: Stretch, at: int) -> None:
    """Also where no stretch was broadcast twice."""
    others = [each for each in ONE_PATH if (each.start, each.end) != (strange.start, strange.end)]
    check_one_value([*others, strange])
    with pytest.raises(Broken, match="second path"):
        check_one_path([*others[:at], strange, *others[at:]], {})


def test_a_stretch_across_a_forgotten_point_is_a_second_path() -> None:
    """No two numbers contradict each other, and yet the data was asked twice."""
    one, other = stretch(0, 1, 5, -1), stretch(0, 2, 6, 0)
    check_one_path([one, other], {})
    check_nothing_forgotten([one], [other], KNOWN)
    check_nothing_forgotten([other], [one], {})
    check_nothing_forgotten([one], [stretch(1, 2, 1, 1)], {})
    check_nothing_forgotten([one, other], [other], {"ab": {Fraction(2): (6, 0)}})
    for before, now in (([one], [other]), ([], [one, other])):
        with pytest.raises(Broken, match="second path"):
            check_nothing_forgotten(before, now, {"ab": {Fraction(2): (6, 0)}})


def test_a_path_that_is_not_the_journals_is_seen() -> None:
    with pytest.raises(Broken, match="second path"):
        check_one_path(ONE_PATH, {"ab": {**KNOWN["ab"], Fraction(3): (7, 0)}})


def test_stretches_that_do_not_meet_are_no_second_path() -> None:
    check_one_path([stretch(1, 2, 5, 5), stretch(3, 4, 6, 6)], {})


def test_more_than_the_budget_is_seen() -> None:
    other = Stretch("cd", Fraction(0), Fraction(1), (1,))
    with pytest.raises(Broken, match="budget"):
        check_budget([*ONE_PATH, other], Fraction(39, 10))
    check_budget([*ONE_PATH, other], Fraction(4))


def test_a_secret_is_seen() -> None:
    with pytest.raises(Broken, match="secret"):
        check_silence([b"nothing", b"the total is 123456."], [b"98765", b"123456"])
    check_silence([b"nothing"], [b"98765"])
