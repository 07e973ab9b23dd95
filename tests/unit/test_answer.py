from __future__ import annotations

import re
from dataclasses import replace
from fractions import Fraction

import pytest

from noiseledger.core.answer import Answer
from noiseledger.core.budget import Budget
from noiseledger.core.groups import Bins, Keys
from noiseledger.core.path import PATH_UNITS, Case, Price, Reveal
from noiseledger.core.query import Query
from noiseledger.core.sensitivity import Population
from noiseledger.errors import BudgetExceeded, InvalidInput


def answer(query: Query, *values: int, case: Case = Case.EXTEND) -> Answer:
    cost = Fraction(1, 8) if case.touches_data else Fraction(0)
    reveal = Reveal(Price(Fraction(1, 4), case, cost, ()), tuple(v * PATH_UNITS // 4 for v in values))
    return Answer(query, Fraction(10), reveal, 5, (3,), Budget.of(8, 1e-4).charge(Fraction(1)))


def test_an_answer_shows_value_error_bar_case_cost_and_what_is_left() -> None:
    text = str(answer(Query.count("age > 60"), 123))
    assert text == (
        "count of rows where age > 60\n"
        "  1,230 ± 39\n"
        "  ± (95%): noise added for privacy; sampling error is not included\n"
        "  case 2B | uses 3.69% of the privacy budget | used in all: 29.49%, left: 70.51%"
    )
    assert "free" in str(answer(Query.count("age > 60"), 123, case=Case.KNOWN))


def test_an_answer_explains_itself_in_words() -> None:
    assert answer(Query.count("age > 60"), 123).explain() == (
        "The answer to 'count of rows where age > 60' is 1,230. With 95% confidence, the value in the data lies between 1,190 "
        "and 1,270. This error bar is the noise added for privacy, of standard deviation 20.0; sampling error is not "
        "included. An earlier answer was made more accurate by one fresh look at the data (case 2B). It used 3.69% of the "
        "privacy budget; 29.49% is used now and 70.51% is left."
    )
    two = answer(Query.counts_by("g", ["a", "b"]), 1, 2, case=Case.KNOWN).explain("0.5")
    assert "is 2 numbers. With 50% confidence for each of them, the value in the data lies within 13 of it." in two
    assert "It used no privacy" in two
    mean = answer(Query.mean("hours", lower=0, upper=80), 3).explain()
    assert "the value in the data (values outside 0 to 80 count as 0 or 80) lies between -10 and 70." in mean
    assert all(answer(Query.count("a = 1"), 3, case=case).explain() for case in Case)


def test_vectors_show_their_labels_and_long_ones_are_cut() -> None:
    assert "  a: 10 ± 39\n  b: 20 ± 39\n" in str(answer(Query.counts_by("g", ["a", "b"]), 1, 2))
    long = str(answer(Query.counts_by("g", range(1000)), *range(1000)))
    assert "... and 988 more" in long
    assert long.count("\n") == 15


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
    assert '<td title="published: 10.0">10 ± 39</td>' in html
    assert "&lt;script&gt;" in html
    assert not re.search(r"<(script|img)", html)


def test_what_is_shown_is_rounded_and_what_is_returned_is_not() -> None:
    few = answer(Query.count("age > 60"), -2)
    assert "\n  0 ± 39\n" in str(few)
    assert few.value == few.rows()[0]["value"] == -20
    assert few.interval() == pytest.approx((-59.2, 19.2), abs=0.01)


def test_sampling_error_is_added_on_request_and_refused_if_the_rows_are_private() -> None:
    public = replace(answer(Query.count("age > 60"), 12), population=Population.replace(1000))
    noise, both = public.interval(), public.interval(sampling=True)
    assert both[0] < noise[0] < noise[1] < both[1]
    assert public.half_widths(sampling=True) == (public.rows(sampling=True)[0]["half_width"],)
    for population in (Population.add_remove(), None):
        private = replace(public, population=population)
        assert private.half_widths() == public.half_widths()
        with pytest.raises(InvalidInput, match="number of rows, which is private"):
            private.interval(sampling=True)


def test_one_value_is_asked_of_one_coordinate_only() -> None:
    assert answer(Query.count("a = 1"), 3).value == 30
    with pytest.raises(ValueError, match="too many values"):
        _ = answer(Query.counts_by("g", ["a", "b"]), 1, 2).value


def test_a_budget_is_told_in_per_cent_with_epsilon_beside_it() -> None:
    budget = Budget.of(8, 1e-4)
    assert str(budget) == (
        "privacy budget: used 0% (precision 0), left 100% (precision 3.391); all of it is epsilon 8 at delta 0.0001, and all "
        "answers together use epsilon 0"
    )
    assert budget.epsilon_remaining == pytest.approx(8)
    half = budget.charge(budget.total / 2)
    assert half.epsilon_spent == half.epsilon_remaining < 8


def test_a_refusal_travels_between_processes_with_its_amounts() -> None:
    import pickle

    error = pickle.loads(pickle.dumps(BudgetExceeded(Fraction(3), Fraction(1))))
    assert (error.requested, error.remaining, error.missing) == (3, 1, 2)
    assert str(error).endswith("ask for less accuracy.")
