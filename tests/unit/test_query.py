from __future__ import annotations

import json
from datetime import date, datetime, timedelta
from fractions import Fraction
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from noiseledger.core.date_groups import Parts
from noiseledger.core.groups import Bins, Keys
from noiseledger.core.query import Column, Measure, Query
from noiseledger.errors import InvalidFilter, InvalidInput

INCOME = Column.of("income", -10_000, 1_000_000, missing=0)
SEX = Keys.of("sex", ["f", "m"])
AGES = Bins.of("age", [0, 40, 80])
YEARS = Bins.years("born", [1990, 2000, 2010])


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
        (Query.count(by=[SEX, AGES]), Query.count(by=[AGES, SEX])),
        (Query.count(by=[Keys.months("born"), SEX, YEARS]), Query.count(by=(YEARS, Keys.months("born"), SEX))),
        (Query.count(by=[SEX]), Query.count(by=SEX)),
        (Query.count(by=Keys.years("born", [1991, 1990])), Query.count(by=Bins.years("born", [1990, 1991, 1992]))),
        (
            Query.count(by=YEARS),
            Query.count(by=Bins.of("born", [date(1990, 1, 1), date(2000, 1, 1), date(2010, 1, 1)])),
        ),
        (Query.count(by=Keys.months("born", [2, 1])), Query.count(by=Bins.months("born", [1, 2, 3]))),
        (Query.count("year(born) = 1990"), Query.count("born >= 1990-01-01 AND born < 1991-01-01")),
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
    Query.count(by=[SEX, AGES]),
    Query.count("age > 1", by=[SEX, Keys.of("town", ["a", "b"])]),
    Query.count(by=[SEX, YEARS]),
    Query.count(by=[SEX, YEARS, Keys.months("born")]),
    Query.count(by=Keys.months("born")),
    Query.count(by=Keys.months("died")),
    Query.count("born >= 1990-01-01", by=Keys.months("born")),
    Query.count("month(born) = 1", by=YEARS),
    Query.count(by=Bins.months("born", [1, 4, 13])),
    Query.count(by=Keys.months("born", [1, 4])),
    Query.count(by=Keys.years("born", [1, 4])),
    Query.counts_by("born", [1, 4]),
    Query.count("month(born) = 1"),
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
    sexes = '{"column":"sex","values":["f","m"]}'
    ages = '{"column":"age","edges":["0","40","80"]}'
    days = '{"column":"born","edges":["1990-01-01","2000-01-01","2010-01-01"],"kind":"date"}'
    months = '{"column":"born","part":"month","ranges":[[1,4],[6,7]]}'
    pinned: list[tuple[Any, str]] = [(SEX, sexes), (AGES, ages), (YEARS, days), ([SEX, AGES], f"[{ages},{sexes}]")]
    for by, text in pinned:
        assert Query.count(by=by).canonical == f'{{"groups":{text},"measure":"count","noiseledger":1}}'
    assert Parts("born", "month", ((1, 4), (6, 7))).dump() == json.loads(months)


_F, _A = '{"column":"f","values":["x","y"]}', '{"column":"a","values":["x","y"]}'
#: Groups in an order or a form of which there is another one, and without meaning.
NOT_CANONICAL = [
    *(f"[{_F},{_A}]", f"[{_A}]", "[]", f"[{_A},{_A}]", f"[{_A},[{_F},{_F}]]", f'[{_A},"f"]', "3", '"f"'),
    *(
        f'{{"column":"d","part":{part},"ranges":{ranges}}}'
        for part, ranges in [
            ('"year"', "[[1990,1991],[1991,1992]]"),
            ('"year"', "[[1990,1991],[9999,10000]]"),
            ('"month"', "[[1,4]]"),
            ('"month"', "[[4,5],[1,2]]"),
            ('"month"', "[[1,3],[2,5]]"),
            ('"month"', "[[1,1],[2,5]]"),
            ('"month"', "[[0,1],[2,5]]"),
            ('"month"', "[[1,2],[2,14]]"),
            ('"month"', "[[true,2],[2,3]]"),
            ('"month"', '[["1","2"],["2","3"]]'),
            ('"month"', "[[1,2,3],[4,5,6]]"),
            ('"month"', "7"),
            ('"day"', "[[1,2],[2,3]]"),
        ]
    ),
]


@pytest.mark.parametrize(
    "text",
    ["", "{}", "[]", "null", "1", '{"measure":"median","noiseledger":1}', '{"measure":"count"}']
    + ['{"measure": "count","noiseledger":1}', '{"measure":"count","noiseledger":2}']
    + ['{"measure":"count","noiseledger":1,"where":"60 < age"}', '{"measure":"count","noiseledger":1,"x":1}']
    + ['{"groups":{"column":"a"},"measure":"count","noiseledger":1}']
    + ['{"column":{"name":"a"},"measure":"sum","noiseledger":1}']
    + [f'{{"groups":{groups},"measure":"count","noiseledger":1}}' for groups in NOT_CANONICAL],
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
        ({"name": "x", "lower": 0, "upper": 10, "missing": 11}, "must lie within the bounds"),
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
    with pytest.raises(InvalidInput, match="by which the query groups"):
        Query.counts_by("race", ["a", "b"], where="race <> 'a'")
    with pytest.raises(InvalidInput, match="sums the column income, but its filter or groups use it as text"):
        Query.sum(INCOME, "income = 'high'")
    with pytest.raises(InvalidInput, match="both as text and as date"):
        Query.count(by=[Keys.of("born", ["a", "b"]), Keys.months("born")])
    with pytest.raises(InvalidInput, match=r"groups twice by the same column: age, age\."):
        Query.count(by=[AGES, Keys.of("age", [1, 2])])
    for by in ([], "sex", ["sex"], [SEX, None], 3, [[SEX, AGES], SEX]):
        with pytest.raises(InvalidInput, match="by must be groups"):
            Query.count(by=by)  # type: ignore[arg-type]
    lone = "\ud800"  # half of a character
    for groups in (Keys.of("age", ["a", lone]), Bins.of(lone, [1, 2, 3])):
        with pytest.raises(InvalidInput, match="not valid Unicode text"):
            Query.count(by=groups)
    ages = Bins.of("age", range(1002))
    with pytest.raises(InvalidInput, match=r"not 1,002,001 \(1,001 of age times 1,001 of size\)\."):
        Query.count(by=[ages, Bins.of("size", range(1002))])


@pytest.mark.parametrize(
    ("where", "by"),
    [
        ("month(born) = 1", [Keys.months("born"), SEX]),
        ("born IS NOT NULL", [Keys.months("born"), SEX]),
        ("born >= 1990-01-01 AND month(born) < 3", [Keys.months("born")]),
        ("born >= 1990-01-01", [YEARS, SEX]),
        ("born IS NULL OR sex IS NULL", [YEARS, AGES]),
        ("month(born) = 1", [Bins.of("born", [date(1990, 1, 1), date(1991, 1, 1), date(1991, 7, 1)])]),
        ("month(born) = 1", [Keys.of("born", [date(1990, 1, 1), date(1991, 1, 1)])]),
        ("month(born) = 1 AND year(born) > 1990", [Keys.years("born", [1990, 1995])]),
        ("sex = 'f'", [AGES, SEX]),
    ],
)
def test_a_filter_uses_nothing_that_is_grouped_by(where: str, by: list[Any]) -> None:
    """Otherwise one question could have two definitions: the groups choose already."""
    with pytest.raises(InvalidInput, match="by which the query groups"):
        Query.count(where, by=by)


@pytest.mark.parametrize("part", ["years", "months"])
@pytest.mark.parametrize(
    ("make", "given"),
    [(Keys, given) for given in ([], [1], [1, 1], [0, 1], [1, 10**6], [True, 2], ["1", "2"], [1.0, 2.0], "12", 3)]
    + [(Bins, given) for given in ([1, 2], [2, 1, 3], [1, 1, 2], [1, 2, 10**6], [1, 2, 2.5])],
)
def test_years_and_months_are_those_of_the_calendar(part: str, make: Any, given: Any) -> None:
    with pytest.raises(InvalidInput, match=r"(year|month)\(born\)"):
        getattr(make, part)("born", given)


def test_cells_are_the_combinations_in_a_fixed_order() -> None:
    query = Query.count(by=[SEX, AGES, Bins.months("born", [1, 7, 13])])
    assert query.grouped_by == ("age", "month(born)", "sex")
    assert query.dimension == len(query.cells) == len(query.labels) == 8
    assert query.cells[:3] == (("[0, 40)", "[1, 7)", "f"), ("[0, 40)", "[1, 7)", "m"), ("[0, 40)", "[7, 13)", "f"))
    assert query.labels[-1] == "[40, 80) / [7, 13) / m"
    assert str(query) == "count of rows by age and month(born) and sex"
    assert Keys.years("born", [1990, 1991, 2000]).labels == ("1990", "1991", "2000")
    assert Keys.years("born", [1990, 1991]).labels == ("1990", "1991")
    assert (YEARS.labels, YEARS.name) == (("[1990, 2000)", "[2000, 2010)"), "year(born)")
    days = Bins.of("born", [date(1990, 1, 1), date(1991, 1, 1), date(1991, 7, 1)])
    assert (days.labels[0], days.name) == ("[1990-01-01, 1991-01-01)", "born")
    assert (Query.count("a = 1").grouped_by, Query.count("a = 1").cells) == ((), ((),))


DAYS = st.dates() | st.none()
BY = [SEX, AGES, YEARS, Keys.years("born", [1969, 2000]), Keys.months("born"), Keys.months("died", [2, 12])]


@given(
    st.lists(st.sampled_from(BY), min_size=2, max_size=4, unique_by=lambda one: (one.column, "month" in one.name)),
    st.fixed_dictionaries({"sex": st.sampled_from("fmx"), "age": st.integers(-9, 99), "born": DAYS, "died": DAYS}),
    st.randoms(),
)
def test_a_record_is_in_one_cell_at_most_and_the_order_of_columns_does_not_matter(
    by: list[Any], record: dict[str, Any], random: Random
) -> None:
    query = Query.count(by=by)
    random.shuffle(by)
    assert Query.count(by=by) == query == Query.parse(query.canonical)
    row = record | {"age": Fraction(record["age"])}
    cells = [i for i, cell in enumerate(query.cells) if all(_is_in(one, row, cell, query) for one in by)]
    assert query.groups is not None
    assert cells == [place for place in [query.groups.place(row)] if place is not None]


def _is_in(one: Any, row: dict[str, Any], cell: tuple[str, ...], query: Query) -> bool:
    """Say whether a record belongs to a cell as far as one column goes."""
    place = one.index(row[one.column])
    return place is not None and one.labels[place] == cell[query.grouped_by.index(one.name)]


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
