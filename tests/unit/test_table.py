from __future__ import annotations

import hashlib
from fractions import Fraction
from importlib import resources
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from noiseledger.core.groups import Keys
from noiseledger.core.query import Column, Query
from noiseledger.data import Table
from noiseledger.data.source import check_query
from noiseledger.errors import DataMismatch, DataUnavailable

INCOME = Column.of("income", -10_000, 1_000_000, missing=0)


def test_the_census_sample_is_the_one_we_describe() -> None:
    """Its provenance is in src/noiseledger/data/README.md."""
    content = (resources.files("noiseledger.data") / "acs12.csv").read_bytes()
    assert hashlib.sha256(content).hexdigest() == "dfb0b12b8763236149ec17ca7529fd6c9edea461d1ae43bac194212c932ef518"


def test_the_census_sample_agrees_with_an_independent_computation() -> None:
    with (resources.files("noiseledger.data") / "acs12.csv").open() as stream:
        raw = np.genfromtxt(stream, delimiter=",", names=True, dtype=None, encoding="utf-8")
    sample = Table.census_sample()
    assert sample.rows == len(raw) == 2000
    income = np.where(raw["income"] < 0, 0, raw["income"])  # numpy reads a missing integer as -1
    assert list(sample.totals(Query.mean(INCOME))) == [income.sum()]
    assert list(sample.totals(Query.share("age > 60"))) == [(raw["age"] > 60).sum()]
    assert list(sample.totals(Query.share("citizen = 'yes'"))) == [(raw["citizen"] == "yes").sum()]
    assert list(sample.totals(Query.share("race = 'white' AND age <= 20"))) == [
        ((raw["race"] == "white") & (raw["age"] <= 20)).sum()
    ]
    bins = np.histogram(raw["age"], bins=[0, 20, 40, 60, 80, 1000])[0]
    assert list(sample.totals(Query.histogram("age", [0, 20, 40, 60, 80, 1000]))) == list(bins)
    races = Keys.of("race", ["white", "black", "asian"])
    expected = [income[raw["race"] == race].sum() for race in races.labels]
    assert list(sample.totals(Query.sum(INCOME, by=races))) == expected


def test_values_are_clamped_rounded_and_summed_as_integers() -> None:
    table = Table(({"x": x} for x in (-5, 0.26, 1000.0, None, float("nan"), Fraction(1, 3))), {"x": "number"})
    assert table.totals(Query.sum(Column.of("x", 0, 10, grid="0.5", missing=2))) == [0 + 1 + 20 + 4 + 4 + 1]


def test_missing_values_match_no_filter_and_no_group() -> None:
    table = Table([{"g": "a", "n": 1}, {"g": None, "n": None}, {"g": "b", "n": 2}], {"g": "text", "n": "number"})
    assert table.totals(Query.count("n < 99")) == [2]
    assert table.totals(Query.count("n IS NULL")) == [1]
    assert table.totals(Query.counts_by("g", ["a", "b"])) == [1, 1]
    assert table.totals(Query.histogram("n", [0, 2, 3])) == [1, 1]


def test_true_is_not_one() -> None:
    table = Table([{"g": True}, {"g": False}, {"g": True}], {"g": "flag"})
    assert table.totals(Query.counts_by("g", [False, True])) == [1, 2]
    assert table.totals(Query.counts_by("g", [0, 1])) == [0, 0]
    assert table.totals(Query.histogram("g", [0, 1, 2])) == [0, 0]
    numbers = Table([{"g": 1}, {"g": 0}], {"g": "number"})
    assert numbers.totals(Query.counts_by("g", [False, True])) == [0, 0]
    assert numbers.totals(Query.counts_by("g", [0, 1])) == [1, 1]


def test_csv_fields_are_numbers_text_or_missing(tmp_path: Path) -> None:
    file = tmp_path / "people.csv"
    file.write_text("name,x,zip\nAda,1.5,01067\n,nan,\nnan,1e2,89073\n", encoding="utf-8")
    table = Table.read_csv(file, {"name": "text", "x": "number", "zip": "text"})
    assert table.rows == 3
    assert table.totals(Query.sum(Column.of("x", 0, 1000, grid="0.5", missing=0))) == [3 + 0 + 200]
    # In a column of text, every field is text.
    assert table.totals(Query.count("name IS NULL")) == [1]
    assert table.totals(Query.counts_by("zip", ["01067", "89073"])) == [1, 1]


@pytest.mark.parametrize(
    ("query", "message"),
    [
        (Query.sum(Column.of("absent", 0, 1, missing=0)), "no declared column absent"),
        (Query.count("absent = 1"), "no declared column absent"),
        (Query.counts_by("absent", ["a", "b"]), "no declared column absent"),
        (Query.sum(Column.of("x", 0, 1)), "no value for missing ones"),
        (Query.sum(Column.of("t", 0, 1, missing=0)), "declared as text, but the query uses it as number"),
        (Query.count("t = 5"), "declared as text"),
        (Query.count("d = '2024-02-29'"), "write dates as DATE"),
    ],
)
def test_what_the_data_cannot_answer_is_found_before_anyone_asks(query: Query, message: str) -> None:
    table = Table([{"x": 424242, "t": "a secret"}, {"x": None, "t": "b"}], {"x": "number", "t": "text", "d": "date"})
    with pytest.raises(DataMismatch, match=message) as caught:
        check_query(query, table.kinds)
    assert "424242" not in str(caught.value)
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize(
    "query", [Query.count("x = 1"), Query.sum(Column.of("x", 0, 1)), Query.histogram("x", [0, 1, 2])]
)
def test_an_empty_table_answers_zero(query: Query) -> None:
    empty = Table(list[dict[str, Any]](), {"x": "number"})
    assert list(empty.totals(query)) == [0] * query.dimension


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ("a,a\n1,2\n", "line 1: the columns 1 and 2 have the same name"),
        ("a,b\n1,2\n1\n", "line 3: expected 2 fields"),
        ("a,b\n1,2,3\n", "line 2: expected 2 fields"),
        ('a,b\n1,"2\n3,4"\n', "line 2: a quote is not closed"),
        ("", "is empty"),
    ],
)
def test_a_csv_file_that_leaves_something_to_guess_is_refused(text: str, hint: str, tmp_path: Path) -> None:
    (tmp_path / "odd.csv").write_text(text)
    with pytest.raises(DataUnavailable, match=hint):
        Table.read_csv(tmp_path / "odd.csv", {"a": "number"})
