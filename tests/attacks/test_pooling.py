"""Attack: analysts who may each know a little put their answers together, to know more than any of them paid for.

The defence: an answer before the furthest point is drawn between *both* its known neighbours. The paper's case 2C looks
at the better neighbour only, and gives way.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from attacks.combining import RUNS_TO_SEE_A_GAIN, Errors, best_combination, check_no_gain
from attacks.weakened_paths import PaperPath
from calibrated import check_deviation
from depth import examples
from noiseledger.core.coins import Coins
from noiseledger.core.path import Case, Price, QueryPath, Reveal
from noiseledger.ledger.public import PublicPath

TRUTH = Fraction(1000)
#: Deviation 1 goes to a third analyst; then one of the two who pool buys 2.5, the other 2.
SOLD = [Fraction(1), Fraction(4, 25), Fraction(1, 4)]


def pool(kind: type[QueryPath], sold: list[Fraction], runs: int, left_out: int = 1) -> Errors:
    """Sell answers in this order; return the errors of all but the best few, the best of these first.

    The coordinates of a vector have independent noise, so one path of many coordinates is as good as many paths.
    """
    path, truth = kind(runs), [TRUTH] * runs
    answers = {precision: path.reveal(precision, lambda: truth).answer for precision in sold}
    held = sorted(sold, reverse=True)[left_out:]
    return np.array([[float(value - TRUTH) for value in answers[precision]] for precision in held])


def test_two_analysts_who_pool_know_no_more_than_the_better_of_them() -> None:
    errors = pool(QueryPath, SOLD, runs=50_000)
    check_deviation(errors[0], 2)
    check_deviation(errors[1], 2.5)
    assert best_combination(errors) > 0.98 * 2
    check_no_gain(errors[0], errors[1:])


def test_the_papers_scheme_gives_them_1_70_instead_of_2() -> None:
    errors = pool(PaperPath, SOLD, runs=50_000)
    # Each answer alone looks right; only together they betray more.
    check_deviation(errors[0], 2)
    check_deviation(errors[1], 2.5)
    assert best_combination(errors) == pytest.approx(1.7056, rel=0.02)
    with pytest.raises(AssertionError):
        check_no_gain(errors[0], errors[1:])


@st.composite
def histories(draw: st.DrawFn) -> tuple[list[Fraction], int]:
    """Draw different precisions in the order of sale, and how many of the best the colluders do not hold."""
    percents = draw(st.lists(st.integers(1, 400), min_size=3, max_size=8, unique=True))
    return [Fraction(percent, 100) for percent in percents], draw(st.integers(0, len(percents) - 2))


# No shrinking: it would take minutes, and with noise in it a smaller failure says no more.
@settings(max_examples=examples(20), deadline=None, phases=set(Phase) - {Phase.shrink, Phase.explain})
@given(histories())
def test_whatever_was_sold_in_whatever_order_pooling_gains_nothing(history: tuple[list[Fraction], int]) -> None:
    sold, left_out = history
    errors = pool(QueryPath, sold, RUNS_TO_SEE_A_GAIN, left_out)
    check_no_gain(errors[0], errors[1:])


def public_answers(sold: list[Fraction], names: list[str]) -> Errors:
    """Sell precision 1 on a chain; return the errors of answers below it, made from the public coins of these queries."""
    runs = RUNS_TO_SEE_A_GAIN
    truth = [TRUTH] * runs
    end = QueryPath(runs).reveal(Fraction(1), lambda: truth).point
    answers = []
    for precision, name in zip(sold, names, strict=True):
        coins = Coins(1, "0x" + "11" * 20, name * 32)
        point = PublicPath(coins, [Fraction(1)], [end]).point(precision)
        answers.append(Reveal(Price(precision, Case.BRIDGE, Fraction(0), ()), point or ()).answer)
    return np.array([[float(value - TRUTH) for value in answer] for answer in answers])


# Few midpoints from the end of the gap, to be quick: the answers of any two requests are points of one tree.
FREE = [Fraction(1, 4), Fraction(3, 16), Fraction(1, 8)]


def test_free_answers_from_public_coins_are_no_better_together_either() -> None:
    errors = public_answers(FREE, ["aa"] * 3)
    check_no_gain(errors[0], errors[1:])


def test_coins_of_their_own_for_each_request_would_average_out() -> None:
    errors = public_answers(FREE, ["aa", "bb", "cc"])
    with pytest.raises(AssertionError):
        check_no_gain(errors[0], errors[1:])


def test_so_few_runs_are_enough_to_see_the_papers_scheme_give_way() -> None:
    errors = pool(PaperPath, SOLD, RUNS_TO_SEE_A_GAIN)
    with pytest.raises(AssertionError):
        check_no_gain(errors[0], errors[1:])
