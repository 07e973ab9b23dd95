"""Each formula against the largest distance over all neighbouring datasets of a small world, found by trying them all."""

from __future__ import annotations

from collections.abc import Iterator
from enum import StrEnum
from fractions import Fraction
from itertools import product

import pytest

from noiseledger.core.filters.condition import Kind
from noiseledger.core.group_product import ByColumn
from noiseledger.core.groups import Bins, Keys
from noiseledger.core.query import Column, Query
from noiseledger.core.sampling import half_width
from noiseledger.core.sensitivity import Neighbours, Population, sensitivity
from noiseledger.data import Table
from noiseledger.errors import InvalidInput, SensitivityUnknown

TWO_GROUPS = Keys.of("g", ["a", "b"])
#: Groups by two columns, and by a column and a part of a date.
CROSSED: list[list[ByColumn]] = [[Keys.of("m", ["y", "n"]), TWO_GROUPS], [TWO_GROUPS, Bins.months("d", [1, 6, 13])]]


def test_the_paper_s_five_sensitivities() -> None:
    population = Population.replace(rows=5000)
    queries = [
        Query.mean(Column.of("INCTOT", -10_000, 1_000_000)),
        Query.mean(Column.of("FTOTINC", -20_000, 2_000_000)),
        Query.share("CITIZEN = 1"),
        Query.share("RACE = 1"),
        Query.share("AGE > 60"),
    ]
    assert [sensitivity(query, population) for query in queries] == [202, 404, *[Fraction(2, 10_000)] * 3]


class Unpriced(StrEnum):
    """A measure that somebody has added to the enumeration, and to nothing else."""

    VARIANCE = "variance"

    @property
    def divides(self) -> bool:
        return False


@pytest.mark.parametrize("query", [Query.count("x > 1"), Query.sum(Column.of("x", 0, 9, missing=0))], ids=str)
def test_a_measure_without_a_formula_is_neither_priced_nor_computed(query: Query) -> None:
    object.__setattr__(query, "measure", Unpriced.VARIANCE)
    with pytest.raises(AssertionError, match="variance"):
        sensitivity(query, Population.replace(rows=10))
    with pytest.raises(AssertionError, match="variance"):
        Table([{"x": 3}], {"x": "number"}).totals(query)
    with pytest.raises(AssertionError, match="variance"):
        half_width(query, Population.replace(rows=10), 0.0, deviation=1.0)


def records(column: Column) -> list[dict[str, Fraction | str]]:
    """Return every kind of record that matters: extreme and middle values, each group and none, matching or not."""
    values = (column.lower, column.upper, min(max(Fraction(0), column.lower), column.upper))
    days = {"y": "2024-02-29", "n": "1969-12-31"}
    return [{"x": x, "g": g, "m": m, "d": days[m]} for x, g, m in product(values, "abz", "yn")]


KINDS: dict[str, Kind] = {"x": "number", "g": "text", "m": "text", "d": "date"}


def neighbours(column: Column, notion: Neighbours) -> Iterator[tuple[Table, Table]]:
    kinds = records(column)
    if notion is Neighbours.REPLACE:
        for one, other in product(kinds, kinds):
            yield Table([one, kinds[0]], KINDS), Table([other, kinds[0]], KINDS)
    else:
        for one in kinds:
            yield Table([one, kinds[0]], KINDS), Table([kinds[0]], KINDS)


def largest_distance(query: Query, column: Column, notion: Neighbours, rows: int | None) -> Fraction:
    """Return the square of the largest l2-distance between answers on neighbouring datasets."""

    def answer(table: Table) -> tuple[Fraction, ...]:
        return query.value(table.totals(query), rows)

    def distance(one: Table, other: Table) -> Fraction:
        return sum(((a - b) ** 2 for a, b in zip(answer(one), answer(other), strict=True)), Fraction(0))

    return max(distance(one, other) for one, other in neighbours(column, notion))


BOUNDS = [(0, 10), (-10, 10), (-3, 10), (5, 10), (-10, -4), (-10, 0)]


@pytest.mark.parametrize("bounds", BOUNDS, ids=str)
@pytest.mark.parametrize("notion", list(Neighbours))
def test_sensitivities_are_the_largest_distance_and_tight(bounds: tuple[int, int], notion: Neighbours) -> None:
    column = Column.of("x", *bounds)
    population = Population(notion, 2 if notion is Neighbours.REPLACE else None)
    queries = [
        Query.sum(column),
        Query.sum(column, "m = 'y'"),
        Query.sum(column, by=TWO_GROUPS),
        Query.sum(column, "m = 'y'", by=TWO_GROUPS),
        Query.count("m = 'y'"),
        Query.count(by=TWO_GROUPS),
        Query.count("m = 'y'", by=TWO_GROUPS),
        *(Query.count(by=by) for by in CROSSED),
        *(Query.sum(column, by=by) for by in CROSSED),
        Query.count("year(d) = 2024 OR month(d) = 3"),
    ]
    if notion is Neighbours.REPLACE:
        queries += [Query.mean(column), Query.share("m = 'y'"), Query.share(by=TWO_GROUPS)]
    else:
        queries += [Query.count()]
    for query in queries:
        claimed = sensitivity(query, population)
        worst = largest_distance(query, column, notion, population.rows)
        assert worst <= claimed**2 <= worst * (1 + Fraction(1, 10**15)), str(query)


@pytest.mark.parametrize(
    ("query", "population"),
    [
        (Query.mean(Column.of("x", 0, 1)), Population.add_remove()),
        (Query.share("m = 'y'"), Population.add_remove()),
        (Query.count(), Population.replace(rows=10)),
        (Query.share(), Population.replace(rows=10)),
    ],
)
def test_what_cannot_be_derived_is_refused(query: Query, population: Population) -> None:
    with pytest.raises(SensitivityUnknown, match=r"\.$"):
        sensitivity(query, population)


def test_a_mean_over_a_part_is_refused() -> None:
    where = Query.count("m = 'y'").where
    for query in (
        Query(Query.mean(Column.of("x", 0, 1)).measure, Column.of("x", 0, 1), where),
        Query(Query.mean(Column.of("x", 0, 1)).measure, Column.of("x", 0, 1), None, TWO_GROUPS),
    ):
        with pytest.raises(SensitivityUnknown, match="ask for a sum and a count"):
            sensitivity(query, Population.replace(rows=10))


def test_the_number_of_rows_is_stated_where_it_is_public_and_only_there() -> None:
    with pytest.raises(InvalidInput, match="private"):
        Population(Neighbours.ADD_REMOVE, rows=10)
    for rows in (None, 0, -5):
        with pytest.raises(InvalidInput, match="number of rows"):
            Population(Neighbours.REPLACE, rows)
