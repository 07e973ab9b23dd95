"""Numbers for people: whole counts, per cents, digits that the error bar justifies, and parts that add up."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from noiseledger.core.display import show, show_error, show_range
from noiseledger.core.numbers import percent
from noiseledger.core.query import Query

COUNT, SHARE = Query.count("age > 60"), Query.share("age > 60")
MEAN = Query.mean("hours", lower=0, upper=80)


@pytest.mark.parametrize(
    ("query", "value", "width", "said"),
    [
        (COUNT, 505.492, 23.5, "505 ± 24"),
        (COUNT, 505.5, 0.4, "506 ± 0.400"),
        (COUNT, -0.2, 0.6, "0 ± 1"),
        (COUNT, 2_405_000.4, 12_345.0, "2,405,000 ± 12,300"),
        (SHARE, -0.003, 0.002, "0.00% ± 0.20 points"),
        (SHARE, 1.2, 0.3, "100% ± 30.0 points"),
        (MEAN, 37.6123, 0.034, "37.612 ± 0.034"),
        (MEAN, -0.001, 2.0, "0.0 ± 2.0"),
        (MEAN, -3.2, 250.0, "-3 ± 250"),
        (MEAN, 1e17, 1e16, "1e+17 ± 1e+16"),
        (MEAN, 1e-9, 1e-10, "0 ± 1e-10"),
    ],
)
def test_an_answer_for_people(query: Query, value: float, width: float, said: str) -> None:
    assert str(show(query, value, width)) == said


def test_an_expected_error_is_in_the_units_of_the_request() -> None:
    assert [show_error(query, 0.0125) for query in (COUNT, SHARE)] == ["0.0125", "0.0125 (1.25 points)"]


@given(st.integers(0, 10**6), st.floats(-1e4, 1e4), st.floats(0.01, 1e4))
def test_a_shown_interval_holds_wherever_the_exact_one_does(truth: int, noise: float, width: float) -> None:
    value = truth + noise
    low, high = (float(end.replace(",", "")) for end in show_range(COUNT, value, width))
    if abs(noise) <= width:
        assert low <= truth <= high
    shown = show(COUNT, value, width)
    if abs(noise) <= width < 1000 and width >= 0.5:
        assert abs(int(shown.value.replace(",", "")) - truth) <= int(shown.error)
    assert low >= 0


@given(st.fractions(0, 1))
def test_the_part_used_and_the_part_left_add_up(used: Fraction) -> None:
    shown = percent(used), percent(1 - used)
    assert shown != ("0%", "100%") or used == 0
    if not any(mark in words for words in shown for mark in "<>"):
        assert sum(Fraction(words.rstrip("%")) for words in shown) == 100
    else:
        assert set(shown) == {"<0.01%", ">99.99%"}


def test_more_than_everything_is_shown_as_it_is() -> None:
    assert percent(Fraction(2884, 100)) == "2,884.00%"
