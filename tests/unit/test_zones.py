"""Zones: where a record lies, what a query reaches, and the one text of a declaration."""

from __future__ import annotations

from datetime import date, datetime
from decimal import Decimal
from fractions import Fraction
from math import inf, nan
from typing import Any

import pytest

from noiseledger.core.filters.cells import Column as Cells
from noiseledger.core.filters.condition import Comparison, InMonths, IsNull, Leaf, Membership
from noiseledger.core.group_product import ByColumn, Product
from noiseledger.core.groups import Bins, Keys
from noiseledger.core.query import Column, Query
from noiseledger.core.zones import MAX_ZONES, Zones, most_reached
from noiseledger.errors import InvalidInput

REGIONS = Zones.of(Keys.of("region", ["north", "south", "west"]))
AGES = Zones.of(Bins.of("age", [0, 30, 60]))
MONTHS = Zones.of(Bins.months("born", [1, 4, 7]))
YEARS = Zones.of(Bins.years("born", [1990, 2000, 2010]))
EVERYTHING = "everything"


@pytest.mark.parametrize(
    ("zones", "value", "label"),
    [
        *[(REGIONS, value, value) for value in ("north", "south", "west")],
        *[(REGIONS, value, "other") for value in ("east", "NORTH", "", None, Fraction(1), 1, True)],
        *[(AGES, value, "[0, 30)") for value in (Fraction(0), 0, 29, 29.5, Fraction(59, 2))],
        *[(AGES, value, "[30, 60)") for value in (Fraction(30), 30.0, 59.999)],
        *[(AGES, value, "other") for value in (-1, 60, 1e300, None, "30", True, date(2020, 1, 1))],
        *[(MONTHS, day, "[1, 4)") for day in (date(1, 1, 1), date(2024, 3, 31))],
        *[(MONTHS, day, "[4, 7)") for day in (date(2024, 4, 1), date(9999, 6, 30))],
        *[(MONTHS, day, "other") for day in (date(2024, 7, 1), None, "2024-01-01")],
        *[(YEARS, day, "[1990, 2000)") for day in (date(1990, 1, 1), date(1999, 12, 31))],
        *[(YEARS, day, "other") for day in (date(1989, 12, 31), date(2010, 1, 1), None)],
        *[(Zones.ONE, value, "all records") for value in ("north", None)],
    ],
)
def test_a_record_lies_in_the_zone_of_its_group_and_in_the_last_without_one(
    zones: Zones, value: Any, label: str
) -> None:
    assert zones.labels[zones.place({"region": value, "age": value, "born": value})] == label


@pytest.mark.parametrize("value", [Decimal(1), datetime(2024, 1, 1), nan, inf, [1], b"1"])
def test_what_no_engine_returns_is_refused(value: object) -> None:
    with pytest.raises(InvalidInput, match=f"no value of type {type(value).__name__}: read it as declared"):
        Zones.of(Keys.of("code", [1, 2])).place({"code": value})


def test_a_record_without_the_column_of_the_zones_is_refused() -> None:
    with pytest.raises(InvalidInput, match="no column 'region'"):
        REGIONS.place({"age": 1})
    assert Zones.ONE.place({}) == 0


@pytest.mark.parametrize(
    ("zones", "where", "reached"),
    [
        (REGIONS, "region = 'north'", "north"),
        (REGIONS, "region = 'north' AND age > 60", "north"),
        (REGIONS, "region IN ('north', 'west')", "north west"),
        (REGIONS, "region = 'north' OR (region = 'west' AND age > 60)", "north west"),
        (REGIONS, "region = 'north' OR age > 60", EVERYTHING),
        (REGIONS, "region <> 'north'", "south west other"),
        (REGIONS, "NOT (region = 'north' AND age > 60)", EVERYTHING),
        (REGIONS, "NOT (region = 'north' OR age > 60)", "south west other"),
        (REGIONS, "NOT region IN ('north', 'south', 'west')", "other"),
        (REGIONS, "region IS NULL", "other"),
        (REGIONS, "region IS NOT NULL", EVERYTHING),  # other values than the listed ones
        (REGIONS, "region = 'east'", "other"),
        (REGIONS, "NOT (region <> 'north')", "north"),  # not the missing value: NOT unknown is unknown
        (REGIONS, "age > 60", EVERYTHING),
        (REGIONS, "(region = 'north' AND age > 60) OR (region = 'south' AND age < 30)", "north south"),
        (AGES, "age > 60", "other"),
        (AGES, "age >= 59", "[30, 60) other"),
        (AGES, "age BETWEEN 29 AND 30", "[0, 30) [30, 60)"),
        (AGES, "age < 30", "[0, 30) other"),
        (AGES, "age >= 0 AND age < 30", "[0, 30)"),
        (AGES, "age > 29.999 AND age < 30", "[0, 30)"),
        (AGES, "age = 60", "other"),
        (AGES, "age IS NULL", "other"),
        (AGES, "age <> 10 AND age IS NOT NULL AND age < 60 AND age >= 0", "[0, 30) [30, 60)"),
        (MONTHS, "month(born) = 2", "[1, 4)"),
        (MONTHS, "month(born) IN (3, 4)", "[1, 4) [4, 7)"),
        (MONTHS, "born BETWEEN 2024-01-15 AND 2024-02-15", "[1, 4)"),
        (MONTHS, "born BETWEEN 2024-02-15 AND 2025-02-15", EVERYTHING),
        (MONTHS, "year(born) = 2024 AND month(born) = 12", "other"),
        (MONTHS, "born IS NULL", "other"),
        (YEARS, "year(born) = 1999", "[1990, 2000)"),
        (YEARS, "born >= 1999-12-31", "[1990, 2000) [2000, 2010) other"),
        (YEARS, "month(born) = 2", EVERYTHING),
        (YEARS, "month(born) = 2 AND born < 1990-01-01", "other"),
        (Zones.of(Keys.years("born", [1989, 1995])), "born >= 1989-06-01 AND born < 1992-01-01", "1989 other"),
        (Zones.of(Keys.years("born", [1989, 1995])), "born >= 1989-06-01 AND born < 1990-01-01", "1989"),
        (Zones.of(Keys.years("born", [1989, 1991])), "born >= 1989-06-01 AND born < 1991-06-01", "1989 1991 other"),
        (
            Zones.of(Keys.years("born", [1989, 1991])),
            "born >= 1989-06-01 AND born <> 1989-07-01 AND born < 1991-06-01 AND year(born) <> 1990",
            "1989 1991",
        ),
        (Zones.of(Keys.of("member", [False, True])), "member IS NOT NULL", "False True"),
        (Zones.of(Keys.of("member", [False, True])), "member <> TRUE", "False"),
        (Zones.of(Keys.of("code", [1, 2])), "code > 1", "2 other"),
        (Zones.of(Keys.of("code", [1, 2])), "code > 1 AND code <= 2 AND code <> 1.5", "2 other"),
        (Zones.ONE, "region = 'north'", EVERYTHING),
    ],
)
def test_a_filter_reaches_the_zones_of_the_records_that_it_can_count(zones: Zones, where: str, reached: str) -> None:
    mask = zones.reach_mask(Query.count(where))
    names = zones.names(mask)
    if reached == EVERYTHING:
        assert mask == zones.everything
        assert names == zones.labels
    else:
        assert " ".join(names) == reached


@pytest.mark.parametrize(
    ("zones", "groups", "where", "reached"),
    [
        (REGIONS, [Keys.of("region", ["north", "south"])], None, "north south"),
        (REGIONS, [Keys.of("region", ["north", "east"])], "age > 60", "north other"),
        (REGIONS, [Bins.of("age", [0, 30, 60])], None, EVERYTHING),
        (REGIONS, [Bins.of("age", [0, 30, 60])], "region = 'north'", "north"),
        (REGIONS, [Keys.of("region", ["north", "south"]), Bins.of("age", [0, 30, 60])], None, "north south"),
        (AGES, [Bins.of("age", [0, 30, 60])], None, "[0, 30) [30, 60)"),
        (AGES, [Bins.of("age", [10, 15, 20])], None, "[0, 30)"),
        (AGES, [Bins.of("age", [60, 70, 80])], None, "other"),
        (MONTHS, [Keys.months("born", [1, 2, 3])], None, "[1, 4)"),
        (MONTHS, [Keys.years("born", [1990, 1991])], "month(born) = 5", "[4, 7)"),
        (MONTHS, [Keys.years("born", [1990, 1992]), Keys.months("born", [1, 12])], None, "[1, 4) other"),
        (YEARS, [Keys.months("born", [1, 2, 3])], "born >= 1995-01-01 AND born < 1996-01-01", "[1990, 2000)"),
        # Each group needs a February and the filter leaves none: nobody can be counted, so everything is reached.
        (MONTHS, [Keys.months("born", [2, 4])], "born >= 2024-03-01 AND born < 2024-04-01", EVERYTHING),
    ],
)
def test_groups_reach_the_zones_of_the_records_that_have_a_group(
    zones: Zones, groups: list[ByColumn], where: str | None, reached: str
) -> None:
    for query in (Query.count(where, groups), Query.sum(Column.of("income", 0, 9, missing=0), where, groups)):
        mask = zones.reach_mask(query)
        assert (EVERYTHING if mask == zones.everything else " ".join(zones.names(mask))) == reached


@pytest.mark.parametrize(
    "query",
    [
        Query.count("region = 1"),  # declared as text, so no catalogue has this query
        Query.count("region = TRUE"),
        Query.counts_by("region", [1, 2]),
        Query.sum(Column.of("region", 0, 9, missing=0), "region IS NULL"),
        Query.count(" AND ".join(f"c{n} = 1" for n in range(40)), Keys.of("region", ["north", "south"])),  # 41 columns
    ],
    ids=["number", "flag", "groups", "sum", "columns"],
)
def test_what_cannot_be_decided_reaches_everything(query: Query) -> None:
    assert REGIONS.reach_mask(query) == REGIONS.everything


@pytest.mark.parametrize(
    ("zones", "text"),
    [
        (Zones.ONE, ""),
        (REGIONS, '{"noiseledger":1,"zones":{"column":"region","values":["north","south","west"]}}'),
        (AGES, '{"noiseledger":1,"zones":{"column":"age","edges":["0","30","60"]}}'),
        (MONTHS, '{"noiseledger":1,"zones":{"column":"born","part":"month","ranges":[[1,4],[4,7]]}}'),
        (
            YEARS,
            '{"noiseledger":1,"zones":{"column":"born","edges":["1990-01-01","2000-01-01","2010-01-01"],"kind":"date"}}',
        ),
    ],
)
def test_the_canonical_form_is_one_text_and_can_be_parsed(zones: Zones, text: str) -> None:
    assert zones.canonical == text
    assert Zones.parse(text) == zones


def test_one_meaning_has_one_text() -> None:
    assert Zones.of(Keys.of("region", ["west", "north", "south"])) == REGIONS
    assert Zones.of(Bins.of("age", ["0", 30.0, Fraction(60)])) == AGES
    assert (
        Zones.of(Keys.years("born", [1990, 1991])).canonical
        == Zones.of(Bins.years("born", [1990, 1991, 1992])).canonical
    )
    assert Zones() == Zones.of(None) == Zones.ONE
    assert len({Zones.ONE, REGIONS, Zones.of(REGIONS.groups)}) == 2


@pytest.mark.parametrize(
    "text",
    [
        *(" ", "{}", "[]", "null", "1", "north", '{"noiseledger":1}'),
        '{"noiseledger":1,"zones":null}',
        '{"noiseledger":2,"zones":{"column":"region","values":["north","south"]}}',
        '{"noiseledger":1, "zones":{"column":"region","values":["north","south"]}}',
        '{"noiseledger":1,"zones":{"column":"region","values":["south","north"]}}',
        '{"noiseledger":1,"zones":{"column":"region","values":["north","south"],"more":1}}',
        '{"noiseledger":1,"zones":{"column":"region","values":["north","south"],"x":1},"x":1}',
        '{"noiseledger":1,"zones":{"column":"region","values":["north"]}}',
        '{"noiseledger":1,"zones":{"column":"region","values":"north"}}',
        '{"noiseledger":1,"zones":{"column":5,"values":["north","south"]}}',
        '{"noiseledger":1,"zones":{"column":"","values":["north","south"]}}',
        '{"noiseledger":1,"zones":{"column":"age","edges":["0","30.0","60"]}}',
        '{"noiseledger":1,"zones":{"column":"age","edges":["0","nan","60"]}}',
        '{"noiseledger":1,"zones":{"column":"age","edges":[0,NaN,60]}}',
        '{"noiseledger":1,"zones":[{"column":"a","values":["x","y"]},{"column":"b","values":["x","y"]}]}',
        '{"noiseledger":1,"zones":{"column":"born","part":"month","ranges":[[1,4],[4,7.0]]}}',
        '{"noiseledger":1,"zones":{"column":"region","values":["north","other"]}}',
        '{"noiseledger":1,"zones":{"column":"region","values":["north","\\ud800"]}}',
    ],
)
def test_any_other_text_is_refused(text: str) -> None:
    with pytest.raises(InvalidInput):
        Zones.parse(text)


def test_there_are_256_zones_at_most() -> None:
    most = Zones.of(Keys.of("code", range(MAX_ZONES - 1)))
    assert most.count == MAX_ZONES
    assert Zones.parse(most.canonical) == most
    assert most.reach_mask(Query.count("code >= 3")) == most.everything & ~0b111
    with pytest.raises(InvalidInput, match=r"256 zones at most, and 256 groups .* are 257"):
        Zones.of(Keys.of("code", range(MAX_ZONES)))


def test_zones_are_groups_of_one_column_and_none_is_called_other() -> None:
    with pytest.raises(InvalidInput, match="groups of one column"):
        Zones.of(Product((Keys.of("a", [1, 2]), Keys.of("b", [1, 2]))))  # type: ignore[arg-type]
    for column in (5, ""):
        with pytest.raises(InvalidInput, match="name of a column"):
            Zones.of(Keys.of(column, ["north", "south"]))  # type: ignore[arg-type]
    with pytest.raises(InvalidInput, match="leave the value 'other'"):
        Zones.of(Keys.of("region", ["north", "other"]))


def test_many_zones_and_many_groups_are_decided_in_a_moment() -> None:
    days = Zones.of(Bins.of("born", [date(2000 + n // 12, 1 + n % 12, 1) for n in range(255)]))
    assert days.names(days.reach_mask(Query.count("month(born) = 2 AND year(born) = 2003"))) == (
        "[2003-02-01, 2003-03-01)",
    )
    wide = Query.counts_by("code", range(20_000))
    assert Zones.of(Keys.of("code", range(255))).reach_mask(wide) == 2**256 - 1
    assert Zones.of(Keys.of("code", [-1, 5])).reach_mask(wide) == 0b110


@pytest.mark.parametrize(("reaches", "most"), [([], 0), ([1], 1), ([1, 2, 4], 1), ([3, 6, 4, 1 << 255], 2)])
def test_the_zone_that_most_queries_reach(reaches: list[int], most: int) -> None:
    assert most_reached(reaches) == most


CUTS: list[tuple[str, list[Leaf]]] = [
    (
        "number",
        [Comparison("c", "<", Fraction(3)), Comparison("c", "=", Fraction(7, 2)), Membership("c", (Fraction(9),))],
    ),
    ("number", [Comparison("c", ">=", Fraction(-1))]),
    ("number", []),
    ("text", [Membership("c", ("a", "x", "xx")), Comparison("c", "<>", "b")]),
    ("text", []),
    ("flag", [Comparison("c", "=", True)]),
    ("date", [Comparison("c", "<", date(2020, 3, 1)), Comparison("c", "=", date.max), Comparison("c", ">", date.min)]),
    ("date", [InMonths("c", (2,)), Comparison("c", "<", date(2020, 2, 29))]),
]


@pytest.mark.parametrize(("kind", "tests"), CUTS)
def test_the_example_of_a_cell_lies_in_it(kind: Any, tests: list[Leaf]) -> None:
    column = Cells.cut("c", kind, tests)
    examples = [column.example(bit) for bit in range(column.size + 1)]
    assert len(set(examples)) == len(examples)
    for bit, value in enumerate(examples):
        for leaf in [*tests, IsNull("c")]:
            assert (leaf.truth({"c": value}) is True) == bool(column.matching(leaf, True) >> bit & 1)
            assert (leaf.truth({"c": value}) is False) == bool(column.matching(leaf, False) >> bit & 1)
