"""Reuse across questions on workloads: what they ask, what schemes pay, and that the published numbers come again."""

from __future__ import annotations

import json
from math import prod
from pathlib import Path

import pytest

from command import Runner, bare_environment
from evaluation import command
from evaluation.overlap import experiment, schemes
from evaluation.overlap.schemes import spend
from evaluation.overlap.workloads import COLUMNS, SIZES, Question, Request, Workload, cells_128, marginals, ranges

DOCS = Path(__file__).parents[2] / "docs" / "explanation"
PUBLISHED = {
    each["name"]: each
    for each in json.loads((DOCS / "evaluation" / "overlap.json").read_text(encoding="utf-8"))["workloads"]
}


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Runner:
    bare_environment(monkeypatch, tmp_path)
    return Runner(monkeypatch, capsys, command.main)


def few(*requests: tuple[tuple[tuple[int, ...], ...], float]) -> Workload:
    return Workload("few", (3,), (0, 1, 1), [Request(Question(0, rows), precision) for rows, precision in requests])


def test_a_small_workload_by_hand() -> None:
    spending = spend(few((((0,),), 1), (((1,),), 1), (((0, 1),), 1), (((0,),), 1), (((0,),), 2)))
    # The sum of two answers has variance 2, so half of the price is missing. With it, the variance of the first is
    # 1 - 1/(2 + 2) = 3/4, so 2 - 4/3 is missing at the end.
    assert spending.curves["naive"] == [1, 2, 3, 4, 6]
    assert spending.curves["identical"] == [1, 2, 3, 3, 4]
    assert spending.curves["ours"] == pytest.approx([1, 2, 2.5, 2.5, 2.5 + 2 / 3])
    assert spending.curves["ours_zones"] == pytest.approx([1, 1, 1.5, 1.5, 1.5 + 2 / 3])
    assert spending.curves["histogram"] == [1, 1, 2, 2, 2]
    assert spending.purchases == 4


def test_a_zone_is_charged_once_however_many_of_its_cells_are_counted() -> None:
    assert spend(few((((1,), (2,)), 1))).last["ours_zones"] == 1
    other = Workload("parts", (1, 1), (0,), [Request(Question(part, ((0,),)), 1) for part in (0, 1)])
    assert spend(other).last == {"naive": 2, "identical": 2, "ours": 2, "ours_zones": 2, "histogram": 2}


def test_a_scheme_that_spends_more_than_reuse_of_identical_questions_stops_the_run(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(schemes._Ours, "buy", lambda _, request: 1.01 * request.precision)
    with pytest.raises(AssertionError, match="request 1 of few"):
        spend(few((((0,),), 1)))


def test_the_questions_of_128_cells_are_what_the_design_says() -> None:
    workload = cells_128("128", 3000, 1, 0.0)
    assert prod(2**size - 1 for size in SIZES) == 34_425
    assert {len(request.question.rows) for request in workload.requests} == {1}
    sizes = [len(request.question.reached) for request in workload.requests]
    assert 1 <= min(sizes) <= max(sizes) <= 128
    # On average two thirds of two values, twice, then 32/15 of four and 1024/255 of eight.
    assert sum(sizes) / len(sizes) == pytest.approx(4 / 3 * 4 / 3 * 32 / 15 * 1024 / 255, rel=0.1)
    again = [request.question.rows for request in cells_128("128", 3000, 1, 0.0).requests]
    assert again == [request.question.rows for request in workload.requests]
    popular = cells_128("Zipf", 3000, 1, 1.0)
    assert len({r.question for r in popular.requests}) < len({r.question for r in workload.requests})


def test_the_marginals_are_all_tables_of_one_two_and_three_columns() -> None:
    workload = marginals(1)
    assert len(workload.requests) == 5 + 10 + 10
    for request in workload.requests:
        cells = sorted(cell for row in request.question.rows for cell in row)
        assert cells == list(range(prod(COLUMNS)))
        assert len({len(row) for row in request.question.rows}) == 1
    assert len({request.question for request in workload.requests}) == 25
    assert {len(r.question.rows) for r in workload.requests} >= {*COLUMNS, 4 * 5 * 6}


def test_ranges_rise_slowly_in_accuracy_and_lie_in_their_column() -> None:
    asked = ranges(400, 1).requests
    assert [request.precision for request in asked] == sorted(request.precision for request in asked)
    assert asked[0].precision == 1
    assert asked[-1].precision == pytest.approx(2, rel=0.01)
    assert {request.question.part for request in asked} == {0, 1, 2, 3}
    assert all(0 <= request.question.reached[0] <= request.question.reached[-1] < 100 for request in asked)


def test_the_quick_run_prints_each_workload_without_a_folder(run: Runner) -> None:
    done = run("overlap", "--quick", "--json")
    assert done.code == 0, done.err
    facts = done.json
    assert facts["command"] == "python -m evaluation overlap --quick"
    assert [each["name"] for each in facts["workloads"]] == list(PUBLISHED)
    for each in facts["workloads"]:
        spent = each["precision"]
        assert set(spent) == {"naive", "identical", "ours", "ours_zones", "histogram"}
        assert 0 < spent["ours_zones"] <= spent["ours"] < spent["identical"] <= spent["naive"]
    assert facts["workloads"][0]["requests"] == 1_500


def test_published_numbers_come_again() -> None:
    """The small workloads in full, and the large ones as they were published."""
    for workload in (ranges(4_000, 1), marginals(1)):
        last = spend(workload).last
        assert last == {
            scheme: pytest.approx(value, rel=1e-6) for scheme, value in PUBLISHED[workload.name]["precision"].items()
        }
    for name in ("128 cells, uniform", "128 cells, Zipf 1"):
        facts, spent = PUBLISHED[name], PUBLISHED[name]["precision"]
        assert facts["requests"] == 70_000
        assert spent["identical"] >= 50 * spent["ours"]
        assert spent["ours_zones"] <= spent["histogram"] / 2


@pytest.mark.deep
def test_published_numbers_of_the_large_workloads_come_again() -> None:
    for name, (_, requests) in experiment.REQUESTS.items():
        last = spend(experiment._workload({"name": name, "requests": requests, "seed": 1})).last
        assert last == {
            scheme: pytest.approx(value, rel=1e-6) for scheme, value in PUBLISHED[name]["precision"].items()
        }


def test_the_page_has_the_published_numbers() -> None:
    page = (DOCS / "answers-from-answers.md").read_text(encoding="utf-8")
    table = experiment._table(list(PUBLISHED.values()))
    assert "| " + " | ".join(column.removeprefix(">") for column in table.columns) + " |" in page
    for row in table.rows:
        assert "| " + " | ".join(row) + " |" in page


def test_prices_are_those_of_the_certified_estimate() -> None:
    """The fast variance, which prices come from, is that of the weights of the best estimate."""
    workload = cells_128("128", 400, 5, 0.0)
    ours = schemes._Ours(workload)
    for request in workload.requests:
        ours.buy(request)
    (record,) = ours._records
    assert record.rank == 128
    for request in workload.requests[::20]:
        (row,) = request.question.row
        assert record.variance(row) == pytest.approx(record.estimate(row).variance, rel=1e-9)
        assert record.variance(row) <= 1 + 1e-9
