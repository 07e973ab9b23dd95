"""The conversions against ball arithmetic (Arb), which bounds its own error, and against another DP library."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction
from itertools import product
from typing import Any

import dp_accounting
import flint
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from depth import examples
from noiseledger.core.privacy import (
    MAX_CONVERTED,
    UNITS,
    classic_is_proved,
    classic_precision_for,
    delta_for,
    epsilon_for,
    precision_for,
    whole_units,
)
from noiseledger.errors import InvalidInput

EPSILONS = ["1e-4", "3e-4", "1e-3", "0.01", "0.1", "0.5", "1", "2", "8", "20", "50", "100"]
DELTAS = ["1e-15", "1e-12", "1e-9", "1e-6", "1e-4", "1e-2", "0.1", "0.5"]
TWELVE_DIGITS = Fraction(1, 10**12)
flint.ctx.prec = 600  # bits; a ball that is too wide fails the comparison instead of passing it


def ball(value: Fraction) -> Any:
    return flint.arb(flint.fmpq(value.numerator, value.denominator))


def true_delta(epsilon: Fraction, precision: Fraction) -> Any:
    """Return delta as a ball that certainly holds it, straight from the formula."""
    mu, eps = ball(precision).sqrt(), ball(epsilon)
    return upper_tail(eps / mu - mu / 2) - eps.exp() * upper_tail(eps / mu + mu / 2)


def upper_tail(x: Any) -> Any:
    return (x / flint.arb(2).sqrt()).erfc() / 2


@pytest.mark.parametrize(("epsilon", "delta"), list(product(EPSILONS, DELTAS)))
def test_all_conversions_are_good_to_12_digits_and_err_towards_privacy(epsilon: str, delta: str) -> None:
    eps, wanted = Fraction(epsilon), Fraction(delta)
    precision = precision_for(epsilon, delta)
    # Rounded down: the promise is kept; and by no more than 12 digits: a little further it is broken.
    assert true_delta(eps, precision) <= ball(wanted)
    assert true_delta(eps, precision * (1 + TWELVE_DIGITS)) > ball(wanted)
    back = Fraction(repr(epsilon_for(precision, delta)))
    assert true_delta(back, precision) <= ball(wanted)
    assert true_delta(back * (1 - TWELVE_DIGITS), precision) > ball(wanted)
    reached = Fraction(repr(delta_for(precision, epsilon)))
    assert true_delta(eps, precision) <= ball(reached)
    assert true_delta(eps, precision) >= ball(reached * (1 - TWELVE_DIGITS))


def test_the_paper_s_budget() -> None:
    assert round(float(precision_for(8, 1e-4)), 4) == 3.3906
    assert round(float(classic_precision_for(8, 1e-4)), 4) == 3.3922
    assert f"{delta_for(classic_precision_for(8, 1e-4), 8):.6g}" == "0.000100477"


def test_the_classic_formula_wastes_below_1_and_breaks_its_promise_above() -> None:
    assert round(float(precision_for(1, 1e-5) / classic_precision_for(1, 1e-5)), 2) == 1.69
    assert f"{delta_for(classic_precision_for(10, 1e-4), 10):.2g}" == "0.00027"
    assert classic_is_proved("0.99")
    assert not classic_is_proved(1)


@pytest.mark.parametrize(("epsilon", "delta"), [(0.1, 1e-5), (1.0, 1e-6), (8.0, 1e-4)])
def test_dp_accounting_agrees(epsilon: float, delta: float) -> None:
    sigma = dp_accounting.get_sigma_gaussian(epsilon, delta)
    assert float(precision_for(epsilon, delta)) == pytest.approx(1 / sigma**2, rel=1e-6)
    assert epsilon_for(1 / sigma**2, delta) == pytest.approx(dp_accounting.get_epsilon_gaussian(sigma, delta), rel=1e-6)


@settings(max_examples=examples(60), deadline=None)
@given(st.floats(1e-4, 100), st.floats(1e-15, 0.5), st.floats(1.0001, 3))
def test_more_epsilon_or_delta_affords_more(epsilon: float, delta: float, factor: float) -> None:
    assert precision_for(epsilon * factor, delta) > precision_for(epsilon, delta)
    assert precision_for(epsilon, min(delta * factor, 0.9)) > precision_for(epsilon, delta)


@settings(max_examples=examples(60), deadline=None)
@given(st.floats(1e-12, 1000), st.floats(1e-300, 0.999999))
def test_any_accepted_promise_is_kept_or_refused(epsilon: float, delta: float) -> None:
    try:
        precision = precision_for(epsilon, delta)
    except InvalidInput:
        return
    assert true_delta(Fraction(repr(epsilon)), precision) <= ball(Fraction(repr(delta)))


def test_no_precision_means_no_loss() -> None:
    assert epsilon_for(0, 1e-6) == 0
    assert delta_for(0, 0) == 0


def test_at_a_large_delta_no_epsilon_is_needed() -> None:
    assert epsilon_for("0.01", 0.5) == 0


def test_a_delta_is_never_rounded_to_an_impossible_promise() -> None:
    assert 0 < delta_for("1e-20", 100) < 1e-300
    assert delta_for(10**9, 0) == 1


@pytest.mark.parametrize("epsilon", [0, -1, float("nan"), float("inf"), 1e9, "1e-13", "x"])
def test_nonsensical_epsilons_are_refused(epsilon: float | str) -> None:
    with pytest.raises(InvalidInput, match="epsilon"):
        precision_for(epsilon, 1e-5)


@pytest.mark.parametrize("delta", [0, -1e-5, 1, 1.5, float("nan"), float("inf"), "1e-301", "0.9999999999999"])
def test_nonsensical_deltas_are_refused(delta: float | str) -> None:
    for convert in (
        lambda: precision_for(1, delta),
        lambda: epsilon_for(1, delta),
        lambda: classic_precision_for(1, delta),
    ):
        with pytest.raises(InvalidInput, match="delta"):
            convert()


@pytest.mark.parametrize("precision", [-1, float("nan"), float("inf"), MAX_CONVERTED + 1])
def test_nonsensical_precisions_are_refused(precision: float | Fraction) -> None:
    with pytest.raises(InvalidInput, match="precision"):
        epsilon_for(precision, 1e-5)
    with pytest.raises(InvalidInput, match="precision"):
        delta_for(precision, 1)


@pytest.mark.parametrize("epsilon", [-1, float("nan"), 1001])
def test_delta_for_refuses_nonsensical_epsilons(epsilon: float) -> None:
    with pytest.raises(InvalidInput, match="epsilon"):
        delta_for(1, epsilon)


def test_the_strictest_promise_still_affords_something() -> None:
    assert precision_for("1e-12", "1e-300") > 0


def test_the_limits_themselves_are_accepted() -> None:
    assert precision_for(1000, "0.999999999999") > 0
    assert delta_for(MAX_CONVERTED, 1000) <= 1
    assert delta_for(0, 1) == 0
    assert delta_for(1, 0) < 1
    assert epsilon_for(0, "0.5") == 0
    assert epsilon_for(MAX_CONVERTED, "0.5") > 0


def test_units_make_the_paper_s_example_whole() -> None:
    for sigma in ("1", "3", "2", "2.5", "0.5", "1.5", "0.25", "0.75"):
        precision = 1 / Fraction(sigma) ** 2
        assert whole_units(precision) == precision
    assert whole_units(Fraction(1, 7)) < Fraction(1, 7) < whole_units(Fraction(1, 7)) + Fraction(1, UNITS)


def test_threads_do_not_disturb_each_other() -> None:
    expected = precision_for(1, 1e-5)
    with ThreadPoolExecutor(8) as pool:
        assert set(pool.map(lambda _: precision_for(1, 1e-5), range(64))) == {expected}
