"""Clamping and rounding, which every engine repeats: exact for whole numbers, within the bounds, and never falling."""

from __future__ import annotations

from fractions import Fraction
from math import floor

from hypothesis import assume, given
from hypothesis import strategies as st

from noiseledger.core.query import MAX_UNITS, Column

numbers = (
    st.integers() | st.fractions() | st.floats(allow_nan=False, allow_infinity=False).map(lambda x: Fraction(repr(x)))
)
grids = st.sampled_from([Fraction(text) for text in ("1", "10", "0.1", "0.01", "1/3", "0.7", "1000", "1/1024")])


@st.composite
def columns(draw: st.DrawFn, grid: st.SearchStrategy[Fraction]) -> Column:
    step = draw(grid)
    most = MAX_UNITS // (step.numerator * step.denominator)
    low, high = sorted(draw(st.sets(st.integers(-most, most) | st.integers(-99, 99), min_size=2, max_size=2)))
    assume(max(abs(low), abs(high)) * step * step.denominator <= MAX_UNITS)
    return Column("x", low * step, high * step, step)


@given(columns(st.integers(1, 10**6).map(Fraction)), st.integers())
def test_whole_numbers_on_a_whole_grid_are_rounded_exactly(column: Column, value: int) -> None:
    clamped = min(max(Fraction(value), column.lower), column.upper)
    assert column.on_grid(Fraction(value)) == floor(clamped / column.grid + Fraction(1, 2))


@given(columns(grids), numbers)
def test_nothing_lands_beyond_a_bound(column: Column, value: Fraction | int) -> None:
    assert column.lower / column.grid <= column.on_grid(Fraction(value)) <= column.upper / column.grid


@given(columns(grids))
def test_the_bounds_are_where_they_are(column: Column) -> None:
    assert column.on_grid(column.lower) == column.lower / column.grid
    assert column.on_grid(column.upper) == column.upper / column.grid


@given(columns(grids), numbers, numbers)
def test_a_larger_value_never_counts_less(column: Column, one: Fraction | int, other: Fraction | int) -> None:
    low, high = sorted([Fraction(one), Fraction(other)])
    assert column.on_grid(low) <= column.on_grid(high)


@given(columns(grids), st.integers(-(10**6), 10**6), st.fractions(Fraction(-49, 100), Fraction(49, 100)))
def test_what_is_near_a_multiple_of_the_grid_is_put_there(column: Column, units: int, part: Fraction) -> None:
    assume(column.lower / column.grid <= units <= column.upper / column.grid)
    value = (units + part) * column.grid
    clamped = units if column.lower <= value <= column.upper else None
    assert clamped is None or column.on_grid(value) == clamped
