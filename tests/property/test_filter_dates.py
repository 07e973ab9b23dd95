"""Dates in filters are whole days: two filters have the same text if and only if they count the same days.

That includes years, which are ranges of days, and months, which are not.
"""

from __future__ import annotations

from datetime import date, timedelta
from fractions import Fraction

from hypothesis import given
from hypothesis import strategies as st

from noiseledger.core.filters.filter import Filter, parse_filter

OPERATORS = ["=", "<>", "<", "<=", ">", ">="]
CLOSE = [date(2020, 2, 26) + timedelta(days=n) for n in range(8)]
YEARS = [1, 1969, 2019, 2020, 9999]
#: One of all days that the filters below can tell apart, and the ends of the calendar.
DAYS = [date.min, *CLOSE, date.max]
DAYS += [date(year, month, 15) for year in {*YEARS, 2, 1970, 2021} for month in range(1, 13)]
literals = st.sampled_from([date.min, *CLOSE[1:-1], date.max]).map(
    lambda day: f"DATE '{day}'" if day.day % 2 else f"{day}"
)
comparisons = st.tuples(st.sampled_from(OPERATORS), literals).map(lambda p: f"d {p[0]} {p[1]}")
parts = st.one_of(
    st.tuples(st.sampled_from(OPERATORS), st.sampled_from(YEARS)).map(lambda p: f"year(d) {p[0]} {p[1]}"),
    st.tuples(st.sampled_from(OPERATORS), st.integers(1, 12)).map(lambda p: f"{p[1]} {p[0]} month(d)"),
    st.lists(st.integers(1, 12), min_size=1, max_size=4).map(lambda p: f"month(d) IN ({', '.join(map(str, p))})"),
)
leaves = comparisons | parts | st.lists(literals, min_size=1, max_size=3).map(lambda days: f"d IN ({', '.join(days)})")


def combine(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    pair = st.tuples(inner, st.sampled_from(["AND", "OR"]), inner).map(lambda p: f"({p[0]}) {p[1]} ({p[2]})")
    return pair | inner.map(lambda term: f"NOT ({term})")


filters = st.recursive(leaves | st.sampled_from(["d IS NULL", "n = 1"]), combine, max_leaves=6).map(parse_filter)


def counted(found: Filter) -> list[bool]:
    return [found.matches({"d": day, "n": Fraction(n)}) for day in [*DAYS, None] for n in (0, 1)]


@given(filters)
def test_the_canonical_text_counts_the_same_days(found: Filter) -> None:
    again = parse_filter(found.canonical)
    assert counted(again) == counted(found)
    assert again.canonical == found.canonical
    assert counted(parse_filter(found.shown)) == counted(found)
    assert len(found.shown) <= len(found.canonical)
    assert again.shown == found.shown


@given(filters, filters)
def test_the_same_days_have_one_text(one: Filter, other: Filter) -> None:
    assert (one.canonical == other.canonical) == (counted(one) == counted(other))
