from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from math import isqrt

import pytest
from hypothesis import given
from hypothesis import strategies as st

from noiseledger.core.numbers import exact, positive, readable, sqrt_up
from noiseledger.errors import InvalidInput


@pytest.mark.parametrize(
    ("given_as", "expected"),
    [
        (0.1, Fraction(1, 10)),
        (1e-4, Fraction(1, 10_000)),
        ("1e-4", Fraction(1, 10_000)),
        ("2/3", Fraction(2, 3)),
        ("0.5/2", Fraction(1, 4)),
        (Decimal("2.50"), Fraction(5, 2)),
        (7, Fraction(7)),
        (Fraction(1, 3), Fraction(1, 3)),
    ],
)
def test_numbers_are_read_as_written(given_as: int | float | str | Decimal | Fraction, expected: Fraction) -> None:
    assert exact(given_as) == expected


@pytest.mark.parametrize(
    "nonsense",
    ["", "abc", "1/0", "1/x", float("nan"), float("inf"), "nan", "-inf", Decimal("NaN"), True, None, [1], 1j]
    + ["1e999999999", "1e-999999999", Decimal("1e500"), "9" * 2000, "0x10"],
)
def test_nonsense_is_refused_with_a_sentence(nonsense: object) -> None:
    with pytest.raises(InvalidInput, match=r"^The budget .*\.$"):
        exact(nonsense, "budget")  # type: ignore[arg-type]


@pytest.mark.parametrize("value", [0, -1, "-1e-9", 0.0])
def test_positive_refuses_zero_and_below(value: float | str) -> None:
    with pytest.raises(InvalidInput, match="above 0"):
        positive(value)


@given(st.fractions(min_value=Fraction(1, 10**9), max_value=10**9))
def test_square_roots_are_rounded_up_by_less_than_one_unit(square: Fraction) -> None:
    root = sqrt_up(square, digits=18)
    assert root**2 >= square
    assert (root - Fraction(1, 10**18)) ** 2 < square or root**2 == square


@pytest.mark.parametrize(
    ("square", "root"), [("8", 3), ("26/3", 3), ("9", 3), ("28/3", 4), ("10", 4), ("47/3", 4), ("49/3", 5)]
)
def test_square_roots_are_rounded_up_also_next_to_squares(square: str, root: int) -> None:
    assert sqrt_up(Fraction(square), digits=0) == root


@given(st.integers(1, 10**12), st.integers(1, 10**12))
def test_rational_square_roots_are_exact(top: int, bottom: int) -> None:
    assert sqrt_up(Fraction(top * top, bottom * bottom)) == Fraction(top, bottom)
    assert isqrt(top * top) == top


@pytest.mark.parametrize(
    ("value", "digits", "text"),
    [
        (0.0, 3, "0"),
        (21609.4, 5, "21,609"),
        (6960.4, 3, "6,960"),
        (-0.0044812, 3, "-0.00448"),
        (1e20, 3, "1e+20"),
    ],
)
def test_readable_numbers(value: float, digits: int, text: str) -> None:
    assert readable(value, digits) == text
