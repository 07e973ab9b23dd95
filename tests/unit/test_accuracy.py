from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from noiseledger.core.accuracy import (
    PAPER_ALPHA,
    deviation,
    half_width,
    precision_for_sigma,
    precision_for_within,
    useful_alpha,
)
from noiseledger.core.privacy import UNITS
from noiseledger.errors import InvalidInput


def test_deviation_scales_with_sensitivity() -> None:
    assert deviation(4, sensitivity=202) == 101


@pytest.mark.parametrize("confidence", [0.5, 0.8, 0.95, 0.99, 0.999999, 1 - 1e-12])
def test_half_widths_are_normal_quantiles(confidence: float) -> None:
    expected = stats.norm.isf(float((1 - Fraction(repr(confidence))) / 2))
    assert half_width(1, confidence=confidence) == pytest.approx(expected, rel=1e-12)


def test_the_paper_rounds_its_alpha() -> None:
    assert useful_alpha(1, beta=0.05) == pytest.approx(1.959964, rel=1e-6)
    assert pytest.approx(useful_alpha(1, beta=0.05), rel=0.03) == PAPER_ALPHA


@given(st.floats(1e-6, 1e6), st.floats(0.01, 0.9999), st.fractions(Fraction(1, 10**4), 10**6))
def test_within_and_half_width_are_inverse(within: float, confidence: float, sensitivity: Fraction) -> None:
    precision = precision_for_within(within, confidence, sensitivity)
    # The precision is rounded up by less than a unit, so the accuracy asked for is kept.
    one_unit = float(1 / (precision * UNITS))
    assert half_width(precision, sensitivity, confidence) == pytest.approx(within, rel=1e-12 + one_unit)
    assert (precision * UNITS).denominator == 1


@pytest.mark.parametrize(("sigma", "precision"), [(1.5, Fraction(4, 9)), ("0.25", 16), (3, Fraction(1, 9))])
def test_precision_for_sigma_is_exact_where_it_can_be(sigma: float | str, precision: Fraction | int) -> None:
    assert precision_for_sigma(sigma) == precision


def test_precision_for_sigma_rounds_up_by_less_than_a_unit() -> None:
    precision = precision_for_sigma(7)
    assert Fraction(1, 49) < precision < Fraction(1, 49) + Fraction(1, UNITS)


@pytest.mark.parametrize("confidence", [0, 1, -0.5, 2, float("nan"), "1e-9999", Fraction(10**301 - 1, 10**301)])
def test_nonsensical_confidences_are_refused(confidence: float | str | Fraction) -> None:
    with pytest.raises(InvalidInput, match="confidence"):
        half_width(1, confidence=confidence)


@pytest.mark.parametrize("bad", [0, -1, float("inf")])
def test_nonsensical_scales_are_refused(bad: float) -> None:
    for call in (lambda: deviation(bad), lambda: deviation(1, bad), lambda: precision_for_sigma(bad)):
        with pytest.raises(InvalidInput):
            call()
    with pytest.raises(InvalidInput):
        precision_for_within(bad)
