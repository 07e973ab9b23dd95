"""What a query reaches: a record outside its reach contributes nothing, and every zone in its reach has a record that does.

The second half makes the first one strict: a reach without one of its zones fails it.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date
from fractions import Fraction
from itertools import chain, product

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from noiseledger.core.filters.condition import Row
from noiseledger.core.group_product import ByColumn, by_column
from noiseledger.core.groups import Bins, Keys
from noiseledger.core.query import Column, Measure, Query
from noiseledger.core.zones import Zones
from noiseledger.data.table import totals
from noiseledger.errors import InvalidInput

#: One value of each kind that zones, filters and groups below can tell apart, and values beside them.
VALUES: dict[str, list[Fraction | str | bool | date | None]] = {
    "region": ["north", "south", "west", "east", "atlantis", None],
    "age": [
        *map(Fraction, ("-1", "0", "5", "17", "18", "20", "29.5", "29.7", "30", "59", "60", "61", "99", "99.5", "200")),
        None,
    ],
    "member": [True, False, None],
    "born": [
        *(date(year, month, 1) for year in (1, 1989, 1990, 1991, 1993, 1995, 2000, 2001) for month in (1, 2, 6, 7, 12)),
        *(
            date(1989, 6, 15),
            date(1991, 6, 15),
            date(1990, 1, 2),
            date(1990, 6, 15),
            date(1990, 6, 30),
            date(1999, 12, 31),
            date.max,
            None,
        ),
    ],
}
GROUPS: dict[str, list[ByColumn]] = {
    "region": [Keys.of("region", ["north", "south"]), Keys.of("region", ["south", "west", "east"])],
    "age": [Bins.of("age", [0, 30, 60]), Bins.of("age", [18, 60, 100]), Keys.of("age", [17, 18, 99])],
    "member": [Keys.of("member", [False, True])],
    "born": [
        Bins.of("born", [date(1990, 1, 1), date(1990, 6, 30), date(2000, 1, 1)]),
        *(Bins.years("born", [1990, 1991, 2001]), Keys.years("born", [1989, 1991]), Keys.years("born", [1990, 1991])),
        *(Keys.months("born", [1, 6]), Bins.months("born", [1, 7, 13]), Keys.of("born", [date(1990, 6, 1), date.max])),
    ],
}
ZONES = [Zones.of(groups) for groups in chain(*GROUPS.values())]
LITERALS = {
    "region": ["'north'", "'south'", "'west'"],
    "age": ["0", "18", "29.5", "60", "99"],
    "member": ["TRUE", "FALSE"],
    "born": ["1989-06-01", "1991-06-01", "1990-01-01", "1990-06-30", "1999-12-31"],
}
ORDERED = ["=", "<>", "<", "<=", ">", ">="]


def leaves(column: str) -> st.SearchStrategy[str]:
    literal = st.sampled_from(LITERALS[column])
    operators = ORDERED if column in ("age", "born") else ["=", "<>"]
    found = st.tuples(st.sampled_from(operators), literal).map(lambda p: f"{column} {p[0]} {p[1]}")
    found |= st.lists(literal, min_size=1, max_size=3).map(lambda p: f"{column} IN ({', '.join(p)})")
    found |= st.sampled_from([f"{column} IS NULL", f"{column} IS NOT NULL"])
    if column == "born":
        parts = st.sampled_from(["month(born)", "year(born)"])
        found |= parts.flatmap(
            lambda part: st.tuples(
                st.sampled_from(ORDERED), st.sampled_from([1, 6, 12] if "m" in part else [1990, 2000])
            ).map(lambda p: f"{part} {p[0]} {p[1]}")
        )
    return found


def combine(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    pair = st.tuples(inner, st.sampled_from(["AND", "OR"]), inner).map(lambda p: f"({p[0]}) {p[1]} ({p[2]})")
    return pair | inner.map(lambda term: f"NOT ({term})")


@st.composite
def questions(draw: st.DrawFn) -> tuple[Zones, Query]:
    """A query by a filter, or groups, on the column of the zones, and one more column."""
    zones = draw(st.sampled_from(ZONES))
    assert zones.groups is not None
    own = zones.groups.column
    other = draw(st.sampled_from([column for column in VALUES if column != own]))
    where = draw(st.none() | st.recursive(leaves(own) | leaves(other), combine, max_leaves=6))
    by = draw(st.none() | st.sampled_from(GROUPS[own]) | st.lists(st.sampled_from(GROUPS[own]), min_size=2, max_size=2))
    measure = draw(st.sampled_from([Measure.COUNT, Measure.SUM]))
    try:
        if measure is Measure.COUNT:
            return zones, Query.count(where, by)
        return zones, Query.sum(Column.of("income", 1, 9, missing=1), where, by)
    except InvalidInput:
        assume(False)
        raise


def records(query: Query, zones: Zones) -> Iterator[Row]:
    """Yield one record for each combination of values that the query and the zones could tell apart."""
    assert zones.groups is not None
    used = [column for column in VALUES if column in query.kinds or column == zones.groups.column]
    for values in product(*(VALUES[column] for column in used)):
        yield {**dict.fromkeys(VALUES), "income": Fraction(5), **dict(zip(used, values, strict=True))}


def outside(query: Query, zones: Zones, mask: int) -> Row | None:
    """Return a record outside a reach that contributes to the query, by the reference implementation; None if none does."""
    placed = ((record, zones.place(record)) for record in records(query, zones))
    return next((record for record, zone in placed if not mask >> zone & 1 and any(totals(query, [record]))), None)


@given(questions())
def test_a_record_outside_the_reach_contributes_zero_and_every_reached_zone_has_one_that_contributes(
    question: tuple[Zones, Query],
) -> None:
    zones, query = question
    mask = zones.reach_mask(query)
    assert 0 < mask <= zones.everything
    assert outside(query, zones, mask) is None
    if outside(query, zones, 0) is None:  # nobody can be counted
        assert mask == zones.everything
        return
    for zone in range(zones.count):
        if mask >> zone & 1:  # a reach without it would be too small, and the line above would notice
            assert outside(query, zones, mask & ~(1 << zone)) is not None


@given(questions(), st.sampled_from(ZONES))
def test_a_record_outside_the_reach_contributes_zero_also_by_groups_of_other_columns(
    question: tuple[Zones, Query], zones: Zones
) -> None:
    _, query = question
    assert outside(query, zones, zones.reach_mask(query)) is None


@given(st.sampled_from(ZONES), st.data())
def test_each_record_has_one_zone_which_is_its_group_or_the_last(zones: Zones, data: st.DataObject) -> None:
    record = {column: data.draw(st.sampled_from(values)) for column, values in VALUES.items()}
    (groups,) = by_column(zones.groups)
    place = groups.place(record)
    assert zones.place(record) == (zones.count - 1 if place is None else place)


@given(questions())
def test_a_reach_does_not_depend_on_how_the_query_was_written(question: tuple[Zones, Query]) -> None:
    zones, query = question
    again = Zones.parse(zones.canonical)
    assert again == zones
    assert again.reach_mask(Query.parse(query.canonical)) == zones.reach_mask(query)


@pytest.mark.parametrize("zones", ZONES, ids=lambda zones: zones.canonical)
def test_without_filter_and_groups_a_query_reaches_everything(zones: Zones) -> None:
    assert zones.reach_mask(Query.count()) == zones.everything
    assert all(outside(Query.count(), zones, zones.everything & ~(1 << zone)) for zone in range(zones.count))
