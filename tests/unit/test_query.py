from __future__ import annotations

import json
from datetime import date, datetime, timedelta
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from noiseledger.core.groups import Bins, Keys
from noiseledger.core.query import Column, Measure, Query
from noiseledger.errors import InvalidFilter, InvalidInput

INCOME = Column.of("income", -10_000, 1_000_000, missing=0)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (Query.share("age > 60"), Query.share("  (60<age) ")),
        (Query.count("a = 1 AND b = 'x'"), Query.count("\"b\" = 'x' and a = 1.0")),
        (Query.count("NOT (a <> 1 OR b <> 'x')"), Query.count("b = 'x' AND a = 1")),
        (Query.mean(INCOME), Query.mean(Column.of("income", "-1e4", 1e6, grid="1.0", missing="0"))),
        (Query.sum(INCOME), Query.sum(INCOME, where="TRUE")),
        (Query.sum(INCOME), Query.sum(INCOME, where="age > 1 OR age <= 1 OR age IS NULL")),
        (Query.counts_by("race", ["white", "black"]), Query.counts_by("race", ["black", "white"])),
        (Query.histogram("age", [0, 20, 40]), Query.histogram("age", ["0", 20.0, "4e1"])),
    ],
)
def test_the_same_meaning_has_the_same_identifier(one: Query, other: Query) -> None:
    assert one.identifier == other.identifier
    assert one.canonical == other.canonical


DIFFERENT = [
    Query.mean(INCOME),
    Query.sum(INCOME),
    Query.sum(Column.of("income", -10_000, 1_000_000)),
    Query.sum(Column.of("income", -10_000, 999_999, missing=0)),
    Query.sum(Column.of("income", -9_999, 1_000_000, missing=0)),
    Query.sum(Column.of("income", -10_000, 1_000_000, grid=10, missing=0)),
    Query.sum(Column.of("income", -10_000, 1_000_000, missing=1)),
    Query.sum(Column.of("Income", -10_000, 1_000_000, missing=0)),
    Query.sum(INCOME, "age > 60"),
    Query.sum(INCOME, "age >= 60"),
    Query.count("age > 60"),
    Query.share("age > 60"),
    Query.count("age = 60"),
    Query.count("age = '60'"),
    Query.count("age = TRUE"),
    Query.count("age = 1"),
    Query.counts_by("age", [0, 1]),
    Query.counts_by("age", ["0", "1"]),
    Query.counts_by("age", [False, True]),
    Query.histogram("age", [0, 1, 2]),
    Query.histogram("age", [0, 1, 2, 3]),
    Query.share(by=Bins.of("age", [0, 1, 2])),
    Query.sum(INCOME, by=Keys.of("age", [0, 1])),
]


def test_different_meanings_have_different_identifiers() -> None:
    assert len({query.identifier for query in DIFFERENT}) == len(DIFFERENT)


@pytest.mark.parametrize("query", DIFFERENT, ids=str)
def test_the_canonical_form_reads_back(query: Query) -> None:
    assert Query.parse(query.canonical) == query
    assert json.loads(query.canonical)["noiseledger"] == 1


def test_identifiers_never_change() -> None:
    """Pinned: a ledger's record is kept under these for ever."""
    assert Query.share("age > 60").canonical == '{"measure":"share","noiseledger":1,"where":"age > 60"}'
    assert Query.share("age > 60").identifier == "fdd253409165b86b03dc8132699b445bfd1dd17a9aeece80440864a3ed4f4284"
    assert Query.mean(INCOME).canonical == (
        '{"column":{"grid":"1","lower":"-10000","missing":"0","name":"income","upper":"1000000"},'
        '"measure":"mean","noiseledger":1}'
    )


@pytest.mark.parametrize(
    "text",
    ["", "{}", "[]", "null", "1", '{"measure":"median","noiseledger":1}', '{"measure":"count"}']
    + ['{"measure": "count","noiseledger":1}', '{"measure":"count","noiseledger":2}']
    + ['{"measure":"count","noiseledger":1,"where":"60 < age"}', '{"measure":"count","noiseledger":1,"x":1}']
    + ['{"groups":{"column":"a"},"measure":"count","noiseledger":1}']
    + ['{"column":{"name":"a"},"measure":"sum","noiseledger":1}'],
)
def test_anything_but_a_canonical_form_is_refused(text: str) -> None:
    with pytest.raises(InvalidInput, match="canonical form"):
        Query.parse(text)


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"name": "", "lower": 0, "upper": 1}, "needs a name"),
        ({"name": "x", "lower": 1, "upper": 0}, "below the upper"),
        ({"name": "x", "lower": 1, "upper": 1}, "below the upper"),
        ({"name": "x", "lower": 0, "upper": float("nan")}, "finite"),
        ({"name": "x", "lower": float("-inf"), "upper": 0}, "finite"),
        ({"name": "x", "lower": 0, "upper": 1, "grid": 0}, "above 0"),
        ({"name": "x", "lower": 0, "upper": 1, "grid": -1}, "above 0"),
        ({"name": "x", "lower": 0, "upper": 1, "grid": "0.3"}, "not on the grid"),
        ({"name": "x", "lower": 0, "upper": 10, "missing": "0.5"}, "not on the grid"),
        ({"name": "x", "lower": 0, "upper": 10, "missing": 11}, "outside the bounds"),
    ],
)
def test_columns_that_make_no_sense_are_refused(fields: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        Column.of(**fields)


def test_queries_that_make_no_sense_are_refused() -> None:
    with pytest.raises(InvalidInput, match="needs a column"):
        Query(Measure.MEAN)
    with pytest.raises(InvalidInput, match="takes no column"):
        Query(Measure.COUNT, INCOME)
    with pytest.raises(InvalidInput, match="can never match a record"):
        Query.count("age > 60 AND age < 50")
    with pytest.raises(InvalidFilter):
        Query.count("age > ")
    with pytest.raises(InvalidInput, match="grouped by"):
        Query.counts_by("race", ["a", "b"], where="race <> 'a'")
    with pytest.raises(InvalidInput, match="sums the column income, but its filter or groups use it as text"):
        Query.sum(INCOME, "income = 'high'")


@pytest.mark.parametrize("edges", [[], [0], [0, 1], [0, 0, 1], [2, 1, 0]])
def test_bins_need_rising_edges(edges: list[int]) -> None:
    with pytest.raises(InvalidInput, match="edges"):
        Query.histogram("age", edges)


@pytest.mark.parametrize("edge", [2, datetime(2024, 2, 1), datetime(2024, 2, 1, 12, 30)])
def test_no_edge_is_left_out_or_read_as_another(edge: Any) -> None:
    with pytest.raises(InvalidInput, match=r"all dates|without a time"):
        Bins.of("born", [date(2024, 1, 1), edge, date(2024, 3, 1), date(2024, 4, 1)])


@pytest.mark.parametrize("values", [[], ["a"], ["a", "a"], ["a", 1], [1, True], [1.5, 2.5], [None, None]])
def test_groups_are_chosen_values_of_one_kind(values: list[Any]) -> None:
    with pytest.raises(InvalidInput, match="groups"):
        Query.counts_by("race", values)


def test_values_are_clamped_and_put_on_the_grid() -> None:
    column = Column.of("x", -10, 10, grid="0.5")
    cases = [("-99", -20), ("99", 20), ("0.24", 0), ("0.25", 1), ("-0.25", 0), ("-0.26", -1), ("3", 6)]
    assert [column.on_grid(Fraction(value)) for value, _ in cases] == [whole for _, whole in cases]


@given(st.fractions(), st.integers(1, 50))
def test_grid_values_stay_within_bounds_and_half_a_grid_step(value: Fraction, steps: int) -> None:
    column = Column.of("x", -3, 7, grid=Fraction(1, steps))
    whole = column.on_grid(value)
    clamped = min(max(value, Fraction(-3)), Fraction(7))
    assert -3 * steps <= whole <= 7 * steps
    assert abs(Fraction(whole, steps) - clamped) <= Fraction(1, 2 * steps)


def test_totals_become_natural_units() -> None:
    assert Query.mean(Column.of("x", 0, 10, grid="0.5")).value([30], rows=10) == (Fraction(3, 2),)
    assert Query.sum(Column.of("x", 0, 10, grid="0.5")).value([30], rows=None) == (15,)
    assert Query.share("a = 1").value([3], rows=10) == (Fraction(3, 10),)
    assert Query.count("a = 1").value([3], rows=10) == (3,)
    with pytest.raises(InvalidInput, match="number of rows"):
        Query.share("a = 1").value([3], rows=None)


def test_labels_name_the_coordinates() -> None:
    assert Query.histogram("age", [0, "0.5", 2]).labels == ("[0, 1/2)", "[1/2, 2)")
    assert Query.counts_by("race", ["b", "a"]).labels == ("a", "b")
    assert Query.count("a = 1").labels == ("",)


def test_a_query_says_itself() -> None:
    assert str(Query.sum(INCOME, "age > 60", by=Keys.of("race", ["a", "b"]))) == "sum of income by race where age > 60"


@pytest.mark.parametrize(("upper", "grid"), [("1e-310", "1e-320"), ("1e40", "1e40"), (2**51, 1), ("0.000001", "1e-30")])
def test_a_grid_beyond_what_doubles_can_tell_apart_is_refused(upper: Any, grid: Any) -> None:
    with pytest.raises(InvalidInput, match="grid"):
        Column.of("x", 0, upper, grid)


def test_a_column_can_be_given_by_its_name() -> None:
    income = Column.of("income", 0, 100, grid=10, missing=20)
    assert Query.mean("income", lower=0, upper=100, grid=10, missing=20) == Query.mean(income)
    by_name = Query.sum("income", "age > 60", lower=0, upper=100, grid=10, missing=20)
    assert by_name == Query.sum(income, "age > 60")


@pytest.mark.parametrize(
    ("column", "bounds", "expected"),
    [
        ("income", {}, "lower and upper missing"),
        ("income", {"lower": 0}, r"upper missing.*lower=0, upper=100"),
        (Column.of("income", 0, 100), {"lower": 0}, "has its bounds already: leave out lower"),
        (5, {"lower": 0, "upper": 1}, "a name or a Column, not int"),
    ],
)
def test_a_column_without_its_bounds_is_refused_with_what_to_write(column: Any, bounds: Any, expected: str) -> None:
    with pytest.raises(InvalidInput, match=expected):
        Query.mean(column, **bounds)


@pytest.mark.parametrize(("value", "expected"), [(-1, None), (0, 0), (9, 0), (10, 1), (19, 1), (20, None), (21, None)])
def test_a_value_outside_the_bins_is_in_none(value: int, expected: int | None) -> None:
    assert Bins.of("age", [0, 10, 20]).index(Fraction(value)) == expected
    days = [date(2024, 1, 1) + timedelta(number) for number in (0, 10, 20)]
    assert Bins.of("day", days).index(days[0] + timedelta(value)) == expected
