"""What the cost and error experiments claim, on real ledgers."""

from __future__ import annotations

from pathlib import Path

import pytest

from evaluation import cost, error
from evaluation.context import ExperimentContext, LedgerKind, Settings
from evaluation.ledgers import naive_ledger
from evaluation.outcome import Outcome

LOCAL = Settings(ledger=LedgerKind.LOCAL, requests=150, repetitions=40)


@pytest.fixture(scope="module")
def paid(tmp_path_factory: pytest.TempPathFactory) -> Outcome:
    with ExperimentContext(tmp_path_factory.mktemp("cost"), LOCAL) as context:
        return cost.run(context)


def test_the_saving_at_150_requests(paid: Outcome) -> None:
    saving = paid.numbers["saving_epsilon"]
    assert 0.69 <= saving["median"] <= 0.72
    assert 0.67 < saving["p5"] < saving["median"] < saving["p95"] < 0.74


def test_ours_is_the_bound_to_the_last_digit(paid: Outcome) -> None:
    assert paid.numbers["ours_equals_bound"] is True
    assert paid.numbers["ours_over_bound"] == 1


def test_counted_exactly_less_is_spent_than_the_paper_says(paid: Outcome) -> None:
    epsilon = {scheme: spread["median"] for scheme, spread in paid.numbers["epsilon"].items()}
    assert epsilon["ours"] < epsilon["paper"] < epsilon["naive"]


def test_the_chain_and_the_file_say_the_same(tmp_path: Path) -> None:
    numbers = []
    for kind in LedgerKind:
        with ExperimentContext(tmp_path, Settings(ledger=kind, requests=25, repetitions=1)) as context:
            numbers.append(cost.run(context).numbers)
    assert numbers[0] == numbers[1]


def test_a_ledger_that_spends_too_much_is_found_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cost, "ledger_of", lambda _: naive_ledger())
    with ExperimentContext(tmp_path, Settings(ledger=LedgerKind.LOCAL, requests=40, repetitions=1)) as context:
        outcome = cost.run(context)
    assert outcome.numbers["ours_equals_bound"] is False
    assert outcome.numbers["ours_over_bound"] > 1
    assert "times the lower bound" in outcome.sentences[2]


def test_the_best_public_answer_is_the_better_one(tmp_path: Path) -> None:
    """Over 100 repetitions the ratios of means to naive scatter by 0.03: these bounds are more than 6 of that away."""
    with ExperimentContext(tmp_path, Settings(ledger=LedgerKind.LOCAL, requests=150, repetitions=100)) as context:
        numbers = error.run(context).numbers
    assert numbers["best_public_is_lower"]
    assert 0.75 < numbers["mean_over_naive"]["ours"] < 1.25
    assert numbers["mean_over_naive"]["ours, best public"] < 0.65
