"""Answers from answers, against a computation of its own: dense, in exact fractions, with nothing of the package in it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from itertools import permutations, product
from math import isclose

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from depth import examples
from noiseledger.core.combination.cells import cells_of
from noiseledger.core.combination.linear import LinearRecord, Row
from noiseledger.core.combination.price import price
from noiseledger.core.combination.record import PublicAnswers
from noiseledger.core.filters.condition import Row as Record
from noiseledger.core.group_product import Groups, Product
from noiseledger.core.groups import Bins, Keys
from noiseledger.core.query import Column, Query
from noiseledger.core.sensitivity import Population, sensitivity
from noiseledger.data.table import totals
from noiseledger.errors import NotDetermined

NINE_DIGITS = 1e-9
Vector = list[Fraction]


def solve(matrix: Sequence[Sequence[Fraction]], right: Sequence[Fraction]) -> Vector | None:
    """Return some solution of a linear system, in exact arithmetic, or None if there is none."""
    rows = [[*line, value] for line, value in zip(matrix, right, strict=True)]
    width, pivots = len(rows[0]) - 1, list[int]()
    for column in range(width):
        top = len(pivots)
        found = next((index for index in range(top, len(rows)) if rows[index][column]), None)
        if found is None:
            continue
        rows[top], rows[found] = rows[found], rows[top]
        rows[top] = [value / rows[top][column] for value in rows[top]]
        for index, row in enumerate(rows):
            if index != top and row[column]:
                rows[index] = [a - row[column] * b for a, b in zip(row, rows[top], strict=True)]
        pivots.append(column)
    if any(row[-1] for row in rows[len(pivots) :]):
        return None
    solution = [Fraction(0)] * width
    for row, column in zip(rows, pivots, strict=False):
        solution[column] = row[-1]
    return solution


def dense(
    measured: Sequence[tuple[Vector, Fraction, Fraction]], wanted: Vector, total: Fraction | None = None
) -> tuple[Fraction, Fraction] | None:
    """Return value and variance of the best linear unbiased estimate, with Lagrange's multiplier for a known total."""
    size = len(wanted)
    matrix = [[sum((a[i] * a[j] / s for a, _, s in measured), Fraction(0)) for j in range(size)] for i in range(size)]
    right = [sum((a[i] * x / s for a, x, s in measured), Fraction(0)) for i in range(size)]
    goal = list(wanted)
    if total is not None:
        matrix = [[*row, Fraction(1)] for row in matrix] + [[Fraction(1)] * size + [Fraction(0)]]
        right, goal = [*right, total], [*goal, Fraction(0)]
    point, influence = solve(matrix, right), solve(matrix, goal)
    if influence is None:
        return None
    assert point is not None
    return _product(wanted, point), _product(wanted, influence)


def _product(left: Vector, right: Vector) -> Fraction:
    """Multiply two vectors; without the multiplier at the end of a solution."""
    return sum((a * b for a, b in zip(left, right, strict=False)), Fraction(0))


numbers = st.fractions(Fraction(-1000), Fraction(1000), max_denominator=64)
variances = st.tuples(st.fractions(Fraction(1, 9), Fraction(9), max_denominator=16), st.integers(-4, 4)).map(
    lambda p: p[0] * Fraction(10) ** p[1]
)


@st.composite
def measurements(draw: st.DrawFn) -> tuple[list[tuple[Vector, Fraction, Fraction]], Vector]:
    size = draw(st.integers(1, 6))
    row = st.lists(st.sampled_from([0, 0, 1, 1, -1]), min_size=size, max_size=size).map(
        lambda p: list(map(Fraction, p))
    )
    measured = draw(st.lists(st.tuples(row, numbers, variances), max_size=10))
    return measured, draw(row)


def row_of(vector: Sequence[Fraction]) -> Row:
    cells = tuple(cell for cell, value in enumerate(vector) if value)
    return Row(cells, tuple(float(vector[cell]) for cell in cells))


def record_of(measured: Sequence[tuple[Vector, Fraction, Fraction]], size: int) -> LinearRecord:
    record = LinearRecord(size)
    for row, answer, variance in measured:
        assert record.learn(row_of(row), float(answer), float(variance))
    return record


@settings(max_examples=examples(300))
@given(measurements())
def test_value_and_error_agree_with_exact_arithmetic_to_nine_digits(
    case: tuple[list[tuple[Vector, Fraction, Fraction]], Vector],
) -> None:
    measured, wanted = case
    record, expected = record_of(measured, len(wanted)), dense(measured, wanted)
    if expected is None:
        assert record.variance(row_of(wanted)) == float("inf")
        with pytest.raises(NotDetermined):
            record.estimate(row_of(wanted))
        return
    value, variance = map(float, expected)
    found = record.estimate(row_of(wanted))
    # Answers of opposite signs may cancel, so a value is compared with the answers that it is made from.
    size = sum(abs(float(x)) for _, x, _ in measured)
    assert isclose(found.value, value, rel_tol=NINE_DIGITS, abs_tol=NINE_DIGITS * size)
    assert isclose(found.variance, variance, rel_tol=NINE_DIGITS)
    assert isclose(record.variance(row_of(wanted)), variance, rel_tol=NINE_DIGITS, abs_tol=0)
    assert found.mismatch < NINE_DIGITS


#: All records that the queries below can tell apart.
VALUES: Mapping[str, list[Fraction | str | None]] = {
    "age": [*map(Fraction, ("-1", "5", "18", "20", "30", "45", "50", "60", "61")), None],
    "region": ["north", "south", "west", "east", None],
}
RECORDS: list[Record] = [
    {"age": age, "region": region, "income": Fraction(7)} for age, region in product(VALUES["age"], VALUES["region"])
]
INCOME = Column.of("income", 0, 10, missing=0)
FILTERS = [
    *("age < 30", "age >= 30", "age > 60", "age BETWEEN 18 AND 45", "region = 'north'", "region <> 'north'"),
    *("age >= 18 AND region IN ('north', 'south')", "age IS NULL", "NOT (age < 30 OR region = 'south')"),
]
GROUPS: list[Groups] = [
    Bins.of("age", [0, 30, 60]),
    Bins.of("age", [0, 18, 30, 45]),
    Keys.of("region", ["north", "south"]),
    Product((Bins.of("age", [0, 30, 60]), Keys.of("region", ["south", "west"]))),
]
COUNTS = [
    *(Query.count(where) for where in FILTERS),
    *(Query.count(by=by) for by in GROUPS),
    Query.count("region = 'north'", GROUPS[1]),
]
SHARES = [Query.share("age < 30"), Query.share("region = 'north'"), Query.share(by=GROUPS[2])]
SUMS = [Query.sum(INCOME, "age < 30"), Query.sum(INCOME, "age >= 30"), Query.sum(INCOME, by=GROUPS[0])]
POPULATIONS = [Population.add_remove(), Population.replace(1000)]


@settings(max_examples=examples(100))
@given(st.lists(st.sampled_from(COUNTS), min_size=1, max_size=6, unique=True))
def test_cells_are_exactly_what_the_questions_distinguish(queries: list[Query]) -> None:
    cells = cells_of(queries)[None]
    known = {tuple(cells.labels(query)[cell] for query in queries) for cell in range(cells.count)}
    counted = [[totals(query, [record]) for query in queries] for record in RECORDS]
    assert known == {tuple(each.index(1) if any(each) else None for each in one) for one in counted}
    assert len(known) == cells.count


#: Whole units, as ledgers sell them.
precisions = st.integers(1, 1000).map(lambda hundredths: Fraction(hundredths, 100))


@st.composite
def ledgers(draw: st.DrawFn) -> tuple[Population, list[tuple[Query, Fraction, list[Fraction]]], Query]:
    population = draw(st.sampled_from(POPULATIONS))
    listed = COUNTS if population.rows is None else [*COUNTS, *SHARES]
    asked = draw(st.lists(st.sampled_from(listed), min_size=1, max_size=5, unique=True))
    answered = [
        (query, draw(precisions), draw(st.lists(numbers, min_size=query.dimension, max_size=query.dimension)))
        for query in asked
    ]
    return population, answered, draw(st.sampled_from(listed))


def matrix_of(query: Query, queries: Sequence[Query]) -> list[Vector]:
    """Return a query's rows over all distinguishable records, found by the reference implementation alone."""
    return [[Fraction(totals(query, [record])[k]) for record in RECORDS] for k in range(query.dimension)]


def merged(rows: Sequence[Vector]) -> list[Vector]:
    """Merge the records that all rows treat alike: the answer is the same, and the exact solution is found sooner."""
    return [list(row) for row in zip(*dict.fromkeys(zip(*rows, strict=True)), strict=True)]


@settings(max_examples=examples(40))
@given(ledgers())
def test_estimates_of_questions_agree_with_an_independent_computation(
    ledger: tuple[Population, list[tuple[Query, Fraction, list[Fraction]]], Query],
) -> None:
    population, answered, wanted = ledger
    queries = [*(query for query, _, _ in answered), wanted]
    public = PublicAnswers(queries, population)
    for query, precision, values in answered:
        public.add(query, precision, values)
    assert public.left_out == ()
    rows = merged([row for query in queries for row in matrix_of(query, queries)])
    measured, place = [], 0
    for query, precision, values in answered:
        unit = Fraction(1, population.rows or 1) if query.measure.divides else Fraction(1)
        for value in values:
            spread = (sensitivity(query, population) / unit) ** 2 / precision
            measured.append((rows[place], value / unit, spread))
            place += 1
    total = None if population.rows is None else Fraction(population.rows)
    expected = [dense(measured, row, total) for row in rows[place:]]
    if None in expected:
        with pytest.raises(NotDetermined, match="do not determine"):
            public.estimate(wanted)
        assert float("inf") in public.variances(wanted)
        return
    scale = 1 / population.rows if population.rows and wanted.measure.divides else 1.0
    largest = (sum(abs(float(x)) for _, x, _ in measured) + (population.rows or 0)) * scale
    given_answers = {query: values for query, _, values in answered}
    for found, exactly in zip(public.estimate(wanted), expected, strict=True):
        assert exactly is not None
        best, variance = float(exactly[0]) * scale, float(exactly[1]) * scale**2
        assert isclose(found.value, best, rel_tol=NINE_DIGITS, abs_tol=NINE_DIGITS * largest)
        assert isclose(found.variance, variance, rel_tol=NINE_DIGITS, abs_tol=1e-20)
        # The weights explain the value: anyone can add the answers up again.
        again = found.constant + sum(w.weight * float(given_answers[w.query][w.coordinate]) for w in found.weights)
        assert isclose(again, found.value, rel_tol=NINE_DIGITS, abs_tol=NINE_DIGITS * largest)
    spreads = [estimate.variance for estimate in public.estimate(wanted)]
    assert public.covariance([wanted]).diagonal().tolist() == pytest.approx(spreads, rel=NINE_DIGITS)


def values_of(public: PublicAnswers, query: Query) -> list[float]:
    return [number for found in public.estimate(query) for number in (found.value, found.variance)]


@settings(max_examples=examples(50))
@given(ledgers())
def test_the_order_of_answers_and_their_steps_do_not_matter(
    ledger: tuple[Population, list[tuple[Query, Fraction, list[Fraction]]], Query],
) -> None:
    population, answered, _ = ledger
    queries = [query for query, _, _ in answered]
    earlier = [(query, precision / 3, [value + 5 for value in values]) for query, precision, values in answered]
    orders = [answered, answered[::-1], [*earlier, *answered], [*answered, *earlier]]
    found = []
    for order in orders:
        public = PublicAnswers(queries, population)
        for query, precision, values in order:
            public.add(query, precision, values)
        found.append([values_of(public, query) for query in queries])
    for other in found[1:]:
        for one, again in zip(found[0], other, strict=True):
            assert one == pytest.approx(again, rel=1e-9, abs=1e-8)


@settings(max_examples=examples(50))
@given(
    st.sampled_from(POPULATIONS),
    st.lists(numbers, min_size=6, max_size=6),
    st.lists(precisions, min_size=3, max_size=3),
)
def test_parts_add_up_to_the_whole(
    population: Population, answers: list[Fraction], given_precisions: list[Fraction]
) -> None:
    parts, low, everyone = GROUPS[0], Query.count("age >= 0 AND age < 30"), Query.count("age >= 0 AND age < 60")
    histogram = Query.count(by=parts)
    public = PublicAnswers([histogram, low, everyone], population)
    public.add(histogram, given_precisions[0], answers[:2])
    public.add(low, given_precisions[1], answers[2:3])
    public.add(everyone, given_precisions[2], answers[3:4])
    first, second = public.estimate(histogram)
    (whole,) = public.estimate(everyone)
    assert first.value + second.value == pytest.approx(whole.value, rel=NINE_DIGITS, abs=1e-7)
    assert first == public.estimate(low)[0]
    matrix = public.covariance([histogram, everyone])
    assert matrix[:2, :2].sum() == pytest.approx(whole.variance, rel=NINE_DIGITS)
    assert matrix[:2, 2].sum() == pytest.approx(whole.variance, rel=NINE_DIGITS)


@settings(max_examples=examples(60))
@given(
    st.sampled_from(POPULATIONS),
    st.lists(st.tuples(st.sampled_from([*COUNTS, *SUMS]), precisions), min_size=1, max_size=12),
    st.sampled_from([Fraction(0), Fraction(1, 10)]),
)
def test_never_dearer_than_reuse_of_identical_questions(
    population: Population, requests: list[tuple[Query, Fraction]], smallest: Fraction
) -> None:
    """At every request, and for each query, whatever is asked in whatever order."""
    public = PublicAnswers([query for query, _ in requests], population)
    bought: dict[Query, Fraction] = {}
    identical: dict[Query, Fraction] = {}
    for query, precision in requests:
        distance = sensitivity(query, population)
        before = identical.get(query, Fraction(0))
        if precision > before:
            identical[query] = max(precision, before + smallest)
        cost = public.price(query, distance**2 / precision, smallest)
        known = bought.get(query, Fraction(0))
        assert cost == 0 or cost >= smallest
        assert cost <= max(precision, smallest)  # never more than alone, as if nothing were known
        if cost:
            bought[query] = known + cost
            public.add(query, bought[query], [0] * query.dimension)
        assert max(public.variances(query)) <= float(distance**2 / precision) * (1 + NINE_DIGITS)
        if not smallest:
            assert bought.get(query, 0) <= identical[query] * (1 + Fraction(1, 10**20))
            assert sum(bought.values()) <= sum(identical.values()) * (1 + Fraction(1, 10**20))


@given(st.fractions(Fraction(1, 50), Fraction(50), max_denominator=50), st.floats(1e-6, 1e6), precisions)
def test_a_price_is_what_is_missing(wanted: Fraction, variance: float, distance: Fraction) -> None:
    assume(variance > wanted * (1 + Fraction(1, 10**6)))
    cost = price(distance, wanted, variance)
    after = 1 / (1 / Fraction(variance) + cost / distance**2)
    assert after <= wanted
    assert cost <= price(distance, wanted, float("inf"))
    assert isclose(after, wanted, rel_tol=1e-15)


def test_all_orders_of_three_measurements_give_one_estimate() -> None:
    measured = [([1, 0], 10, Fraction(1)), ([1, 1], 31, Fraction(1, 10**5)), ([0, 1], 20, Fraction(10**5))]
    exact = [(list(map(Fraction, row)), Fraction(answer), variance) for row, answer, variance in measured]
    found = [record_of(order, 2).estimate(Row.total([1])) for order in permutations(exact)]
    expected = dense(exact, [Fraction(0), Fraction(1)])
    assert expected is not None
    for each in found:
        assert (each.value, each.variance) == pytest.approx(tuple(map(float, expected)), rel=1e-12)
