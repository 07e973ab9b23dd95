"""Answers from answers: what is refused, what is left out, and cases small enough to compute by hand."""

from __future__ import annotations

import importlib
import pickle
import sys
from fractions import Fraction
from math import inf

import pytest

from noiseledger.core import combination
from noiseledger.core.combination.cells import cells_of
from noiseledger.core.combination.linear import LinearRecord, Row
from noiseledger.core.combination.price import price
from noiseledger.core.combination.record import PublicAnswers
from noiseledger.core.groups import Bins, Keys
from noiseledger.core.query import Column, Query
from noiseledger.core.sensitivity import Population
from noiseledger.errors import InvalidInput, MissingExtra, NotDetermined, SensitivityUnknown, TooManyCells

AGES, SEXES = Bins.of("age", [0, 30, 60]), Keys.of("sex", ["f", "m"])
INCOME = Column.of("income", 0, 100, missing=0)
YOUNG, OLD = Query.count("age < 30"), Query.count("age >= 30 OR age IS NULL")
ADDING, REPLACING = Population.add_remove(), Population.replace(100)


def test_the_number_of_all_records_is_a_measurement_without_error_under_replace() -> None:
    public = PublicAnswers([YOUNG, OLD, Query.count()], REPLACING)
    public.add(YOUNG, Fraction(1, 4), [30])
    (old,), (everyone,) = public.estimate(OLD), public.estimate(Query.count())
    assert (old.value, old.variance) == pytest.approx((70, 4))
    assert [(weight.query, weight.weight) for weight in old.weights] == [(YOUNG, pytest.approx(-1))]
    assert old.constant == pytest.approx(100)
    assert (everyone.value, everyone.variance, everyone.weights) == (100, 0, ())
    assert public.price(Query.count(), 1) == 0
    # Two answers about one unknown number.
    public.add(OLD, Fraction(1, 4), [80])
    (young,) = public.estimate(YOUNG)
    assert (young.value, young.variance) == pytest.approx((25, 2))


def test_under_add_remove_nothing_is_known_of_the_number_of_records() -> None:
    public = PublicAnswers([YOUNG, OLD], ADDING)
    public.add(YOUNG, Fraction(1, 4), [30])
    with pytest.raises(NotDetermined, match=r"answer to count of rows where .*: buy an answer"):
        public.estimate(OLD)
    assert public.variances(OLD) == (inf,)


def test_shares_and_means_are_counts_and_sums_divided_by_the_number_of_rows() -> None:
    share, mean = Query.share("age < 30"), Query.mean(INCOME)
    total = Query.sum(INCOME)
    public = PublicAnswers([YOUNG, share, mean, total], REPLACING)
    public.add(share, Fraction(1), [0.3])
    public.add(mean, Fraction(1), [40])
    (count,), (summed,) = public.estimate(YOUNG), public.estimate(total)
    assert (count.value, count.deviation) == pytest.approx((30, 1))
    assert (summed.value, summed.deviation) == pytest.approx((4000, 100))
    assert summed.weights[0].weight == pytest.approx(100)
    # Counts and sums have independent noise, and tell nothing about each other.
    assert public.covariance([YOUNG, total, share]).round(9).tolist() == [
        [1, 0, 0.01],
        [0, 10_000, 0],
        [0.01, 0, 0.0001],
    ]


def test_sums_with_other_bounds_are_other_questions() -> None:
    wider = Query.sum(Column.of("income", 0, 200, missing=0))
    public = PublicAnswers([Query.sum(INCOME), wider], ADDING)
    public.add(Query.sum(INCOME), Fraction(1), [4000])
    assert public.variances(wider) == (inf,)


def test_a_table_determines_its_margins_and_a_margin_makes_the_table_better() -> None:
    table, ages = Query.count(by=[AGES, SEXES]), Query.count("sex IN ('f', 'm')", AGES)
    public = PublicAnswers([table, ages], ADDING)
    public.add(table, Fraction(1), [1, 2, 3, 4])
    assert [each.value for each in public.estimate(ages)] == pytest.approx([3, 7])
    assert public.variances(ages) == pytest.approx((2, 2))
    assert public.price(ages, 1) == Fraction(1, 2)
    public.add(ages, Fraction(1, 2), [3, 7])
    assert public.variances(ages) == pytest.approx((1, 1))
    assert public.variances(table) == pytest.approx((3 / 4,) * 4)


def test_what_cannot_be_a_sum_over_cells_is_refused() -> None:
    part = Query(Query.mean(INCOME).measure, INCOME, YOUNG.where)
    public = PublicAnswers([part, Query.share("age < 30")], REPLACING)
    with pytest.raises(SensitivityUnknown, match="mean over a part"):
        public.estimate(part)
    with pytest.raises(SensitivityUnknown, match="number of rows, which is private"):
        PublicAnswers([Query.share("age < 30")], ADDING).estimate(Query.share("age < 30"))


def test_a_query_must_be_in_the_list() -> None:
    public = PublicAnswers([YOUNG], ADDING)
    for other in (OLD, Query.sum(INCOME)):
        with pytest.raises(InvalidInput, match=r"without the query|not in the list"):
            public.estimate(other)


@pytest.mark.parametrize("values", [[], [1, 2], [float("nan")], [inf]])
def test_answers_must_be_finite_numbers_one_for_each_group(values: list[float]) -> None:
    public = PublicAnswers([YOUNG], ADDING)
    with pytest.raises(InvalidInput, match="has 1 finite numbers"):
        public.add(YOUNG, Fraction(1), values)
    with pytest.raises(InvalidInput, match="above 0"):
        public.add(YOUNG, Fraction(0), [1])


def test_two_answers_at_one_precision_contradict_each_other() -> None:
    public = PublicAnswers([YOUNG], ADDING)
    for _ in range(2):
        public.add(YOUNG, Fraction(1), [30])
    with pytest.raises(InvalidInput, match="two different answers"):
        public.add(YOUNG, Fraction(1), [31])
    assert public.estimate(YOUNG)[0].value == pytest.approx(30)


def test_an_answer_that_was_refined_has_one_weight() -> None:
    public = PublicAnswers([YOUNG, OLD], REPLACING)
    public.add(YOUNG, Fraction(1, 4), [30])
    public.add(YOUNG, Fraction(1), [33])
    (old,) = public.estimate(OLD)
    assert (old.value, old.variance, old.constant) == pytest.approx((67, 1, 100))
    assert [(weight.query, weight.coordinate) for weight in old.weights] == [(YOUNG, 0)]
    assert old.weights[0].weight == pytest.approx(-1)


def test_too_many_cells() -> None:
    queries = [Query.count(by=Bins.of(column, range(12))) for column in "abc"]
    assert cells_of(queries, 12**3)[None].count == 12**3
    with pytest.raises(TooManyCells, match=r"more than 1,727 cells.*combine fewer queries") as caught:
        cells_of(queries, 12**3 - 1)
    assert pickle.loads(pickle.dumps(caught.value)).limit == 12**3 - 1


def test_too_many_columns_are_too_many_cells() -> None:
    with pytest.raises(TooManyCells):
        cells_of([Query.count(f"c{number} = 1") for number in range(41)])


def test_only_what_a_record_can_be_counts() -> None:
    cells = cells_of([Query.count("age < 10"), Query.count("age < 20"), Query.count("age < 30")])[None]
    assert cells.count == 4  # and not eight


def test_whether_a_row_is_new_is_never_guessed() -> None:
    record = LinearRecord(2)
    assert record.learn(Row.total([0]), 1.0, 1.0)
    assert not record.learn(Row((0, 1), (1.0, 1e-8)), 5.0, 1.0)
    assert (record.rank, record.count) == (1, 1)
    assert record.learn(Row((0, 1), (1.0, 1e-12)), 3.0, 1.0)
    assert (record.rank, record.variance(Row.total([0]))) == (1, pytest.approx(0.5))
    assert record.learn(Row((), ()), 0.0, 1.0)
    assert record.count == 2


@pytest.mark.parametrize(("answer", "variance"), [(1.0, 0.0), (1.0, -1.0), (inf, 1.0), (1.0, inf)])
def test_a_measurement_without_an_error_is_refused(answer: float, variance: float) -> None:
    with pytest.raises(InvalidInput, match="above 0"):
        LinearRecord(1).learn(Row.total([0]), answer, variance)


def test_estimates_before_and_after_a_measurement_have_no_common_covariance() -> None:
    record = LinearRecord(1)
    record.learn(Row.total([0]), 1.0, 1.0)
    before = record.estimate(Row.total([0]))
    record.learn(Row.total([0]), 2.0, 1.0)
    with pytest.raises(InvalidInput, match="make all of them anew"):
        record.covariance([before, record.estimate(Row.total([0]))])


def test_a_price_needs_a_wanted_variance_and_a_known_one() -> None:
    for wanted in (0, -1):
        with pytest.raises(InvalidInput, match="wanted variance must be above 0"):
            price(Fraction(1), wanted, inf)
    with pytest.raises(InvalidInput, match="at least 0"):
        price(Fraction(1), 1, float("nan"))


def test_a_smallest_purchase_is_respected_and_what_is_free_stays_free() -> None:
    smallest = Fraction(1, 2)
    assert price(Fraction(1), 1, 1.001, smallest=smallest) == smallest
    assert price(Fraction(1), 1, 1.0, smallest=smallest) == 0
    assert price(Fraction(1), 1, inf, bought=Fraction(3, 4)) == Fraction(1, 4)
    assert price(Fraction(1), 1, 100.0, bought=Fraction(3, 4)) == Fraction(1, 4)
    # The path itself is far enough, even if its answer was left out of the estimate.
    assert price(Fraction(1), 1, inf, bought=Fraction(1), smallest=smallest) == 0


def test_without_numpy_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "numpy", None)
    with pytest.raises(MissingExtra, match=r"pip install 'noiseledger\[combine\]'"):
        importlib.reload(combination)
