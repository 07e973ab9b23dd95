from __future__ import annotations

import re
from fractions import Fraction

import pytest

from noiseledger.core.answer import Answer
from noiseledger.core.budget import Budget
from noiseledger.core.groups import Bins, Keys
from noiseledger.core.path import PATH_UNITS, Case, Price, Reveal
from noiseledger.core.query import Query
from noiseledger.errors import BudgetExceeded


def answer(query: Query, *values: int, case: Case = Case.EXTEND) -> Answer:
    cost = Fraction(1, 8) if case.touches_data else Fraction(0)
    reveal = Reveal(Price(Fraction(1, 4), case, cost, ()), tuple(v * PATH_UNITS // 4 for v in values))
    return Answer(query, Fraction(10), reveal, 5, (3,), Budget.of(8, 1e-4).charge(Fraction(1)))


def test_an_answer_shows_value_error_bar_case_cost_and_what_is_left() -> None:
    text = str(answer(Query.count("age > 60"), 123))
    assert text == (
        "count of rows where age > 60\n"
        "  1,230.00 ± 39.2\n"
        "  ± is 95% | case 2B | cost 0.125 | left: precision 2.391, epsilon 6.44"
    )
    assert "free" in str(answer(Query.count("age > 60"), 123, case=Case.KNOWN))


def test_an_answer_explains_itself_in_words() -> None:
    assert answer(Query.count("age > 60"), 123).explain() == (
        "The answer to 'count of rows where age > 60' is 1,230.00. With confidence 0.95, the exact answer on the clamped data "
        "lies within 39.2 of it. This error bar is the noise added for privacy, of standard deviation 20.0; it does not "
        "include sampling error. An earlier answer was made more accurate by one fresh look at the data (case 2B). It cost "
        "0.125 of the privacy budget; 2.391 of 3.391 is left."
    )
    two = answer(Query.counts_by("g", ["a", "b"]), 1, 2, case=Case.KNOWN).explain("0.5")
    assert "is 2 numbers. With confidence 0.5, " in two
    assert "of each of them" in two
    assert "It cost no privacy" in two
    assert all(answer(Query.count("a = 1"), 3, case=case).explain() for case in Case)


def test_vectors_show_their_labels_and_long_ones_are_cut() -> None:
    assert "  a: 10.0000 ± 39.2\n  b: 20.0000 ± 39.2\n" in str(answer(Query.counts_by("g", ["a", "b"]), 1, 2))
    long = str(answer(Query.counts_by("g", range(1000)), *range(1000)))
    assert "... and 988 more" in long
    assert long.count("\n") == 14


def test_groups_by_several_columns_are_columns_of_the_rows() -> None:
    sexes, towns = Keys.of("sex", ["f", "m"]), Keys.of("case", ["x", "y"])
    rows = answer(Query.count(by=[sexes, Bins.of("age", [0, 40, 80])]), 1, 2, 3, 4).rows()
    assert [(row["age"], row["sex"], row["group"], row["value"]) for row in rows[1:3]] == [
        ("[0, 40)", "m", "[0, 40) / m", 20.0),
        ("[40, 80)", "f", "[40, 80) / f", 30.0),
    ]
    # A column that is called like another part of the row does not replace it.
    row = answer(Query.count(by=[sexes, towns]), 1, 2, 3, 4).rows()[0]
    assert (row["by case"], row["by sex"], row["case"]) == ("x", "f", "2B")
    assert "by" not in " ".join(answer(Query.count(by=sexes), 1, 2).rows()[0])


def test_jupyter_gets_a_table_and_hostile_text_stays_text() -> None:
    html = answer(Query.counts_by("g", ["<script>", "b"], where="x = '<img>'"), 1, 2)._repr_html_()
    assert "<table>" in html
    assert "&lt;script&gt;" in html
    assert not re.search(r"<(script|img)", html)


def test_one_value_is_asked_of_one_coordinate_only() -> None:
    assert answer(Query.count("a = 1"), 3).value == 30
    with pytest.raises(ValueError, match="too many values"):
        _ = answer(Query.counts_by("g", ["a", "b"]), 1, 2).value


def test_a_budget_speaks_both_languages() -> None:
    budget = Budget.of(8, 1e-4)
    assert str(budget).startswith("budget: epsilon 8 at delta 0.0001 = precision 3.39063; spent 0 (epsilon 0); left")
    assert budget.epsilon_remaining == pytest.approx(8)
    half = budget.charge(budget.total / 2)
    assert half.epsilon_spent == half.epsilon_remaining < 8


def test_a_refusal_travels_between_processes_with_its_amounts() -> None:
    import pickle

    error = pickle.loads(pickle.dumps(BudgetExceeded(Fraction(3), Fraction(1))))
    assert (error.requested, error.remaining, error.missing) == (3, 1, 2)
    assert str(error).endswith("ask for less accuracy.")
