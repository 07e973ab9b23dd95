"""The noise that "noise" and "utility" measure is that of real ledgers, and wrong noise would be seen."""

from __future__ import annotations

import json
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from statistics import NormalDist
from typing import Any

import pytest
from scipy import stats

from calibrated import check_probability
from evaluation import ledgers
from evaluation.context import ExperimentContext, LedgerKind, Settings
from evaluation.ledgers import invented
from evaluation.noise import experiment as noise
from evaluation.noise import levels as noise_levels
from evaluation.noise import measuring, utility
from evaluation.noise.levels import DELTA, WITHIN_ALPHA, deviation_band, levels
from evaluation.noise.measuring import measure
from evaluation.workload import QUERIES
from noiseledger.core.privacy import classic_precision_for, delta_for, precision_for
from noiseledger.ledger import NaiveLedger

_QUARTILE = NormalDist().inv_cdf(0.75)
_LEVELS = 16


def _local(folder: Path, ledgers: int = 3) -> ExperimentContext:
    return ExperimentContext(folder, Settings(ledger=LedgerKind.LOCAL, quick=True, repetitions=ledgers))


def _check_noise(steps: Sequence[float]) -> None:
    """Too much noise empties the middle, and too little fills it."""
    check_probability(sum(abs(step) <= _QUARTILE for step in steps), len(steps), 0.5)
    check_probability(sum(abs(step) <= 2 for step in steps), len(steps), WITHIN_ALPHA)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Measure a few local ledgers once."""
    folder = tmp_path_factory.mktemp("noise")
    measure(_local(folder, 12))
    return folder


def test_levels_rise_and_sensitivities_follow_from_the_catalogue() -> None:
    precisions = [level.precision for level in levels()]
    assert len(precisions) == _LEVELS
    assert all(low < high for low, high in pairwise(precisions))
    assert [float(invented().sensitivity(name)) for name in QUERIES] == [202, 404, 0.0002, 0.0002, 0.0002]


def test_every_answer_but_the_first_reuses_and_has_the_noise_that_was_asked_for(folder: Path) -> None:
    found = measure(_local(folder, 12))
    assert found.cases == {"1": 12 * 5, "2B": 12 * 5 * (_LEVELS - 1)}
    _check_noise(found.steps)
    for level in found.noises:
        assert len(level.errors) == 12 * 5
        check_probability(sum(abs(error) <= _QUARTILE * level.level.deviation for error in level.errors), 60, 0.5)
    assert "NOT" not in found.verdict()


@pytest.mark.parametrize("factor", [0.5, 2.0])
def test_wrong_noise_is_found_out(folder: Path, factor: float) -> None:
    found = measure(_local(folder, 12))
    wrong = noise_levels.Measurement([], [factor * step for step in found.steps], found.cases, 12, "local")
    assert "NOT" in wrong.verdict()
    with pytest.raises(AssertionError):
        _check_noise(wrong.steps)


def test_answers_that_do_not_reuse_are_found_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ledgers, "LocalLedger", NaiveLedger)
    monkeypatch.setattr(measuring, "_budget", lambda: 500)
    found = measure(_local(tmp_path))
    assert found.cases == {"1": 3 * 5 * _LEVELS}
    assert "NOT" in found.verdict()


def test_on_a_chain_it_is_the_same_and_utility_is_free_after_noise(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with ExperimentContext(tmp_path, Settings(quick=True, repetitions=1)) as context:
        first = noise.run(context)
        monkeypatch.setattr(measuring, "_one_ledger", _refuse)
        second = utility.run(context)
    assert first.numbers["cases"] == {"1": 5, "2B": 5 * (_LEVELS - 1)}
    assert first.numbers["measured_over_asked"] == second.numbers["measured_over_asked"]
    _check_noise(measure(context).steps)


def _refuse(_: object) -> None:
    raise AssertionError("this was measured already")


def test_an_interrupted_run_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[int] = []

    def one_ledger(_: object) -> dict[str, Any]:
        asked.append(1)
        if len(asked) == 15:
            raise KeyboardInterrupt
        return {"errors": [[1.0] * 5] * _LEVELS, "cases": {"1": 5}}

    monkeypatch.setattr(measuring, "_one_ledger", one_ledger)
    with pytest.raises(KeyboardInterrupt):
        measure(_local(tmp_path, 25))
    assert measure(_local(tmp_path, 25)).ledgers == 25
    # The first ten were done; the ten that were interrupted are done again, and the last five.
    assert len(asked) == 15 + 10 + 5


def test_another_seed_measures_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    measure(_local(tmp_path, 1))
    monkeypatch.setattr(measuring, "_one_ledger", _refuse)
    measure(_local(tmp_path, 1))
    with pytest.raises(AssertionError, match="already"):
        measure(ExperimentContext(tmp_path, Settings(ledger=LedgerKind.LOCAL, repetitions=1, seed=2)))


def test_no_true_answer_is_kept(folder: Path) -> None:
    kept = [json.loads(file.read_text()) for file in (folder / "pieces").iterdir()]
    errors = [error for piece in kept for ledger in piece["value"] for level in ledger["errors"] for error in level]
    # A true answer is hundreds or thousands of its sensitivity; noise is at most five of them, deviating.
    assert len(errors) == 12 * 5 * _LEVELS
    assert max(map(abs, errors)) < 50


def test_where_the_conversions_cross() -> None:
    epsilon = noise_levels.crossing()
    assert classic_precision_for(epsilon - 0.01, DELTA) < precision_for(epsilon - 0.01, DELTA)
    assert classic_precision_for(epsilon + 0.01, DELTA) > precision_for(epsilon + 0.01, DELTA)
    assert delta_for(classic_precision_for(epsilon, DELTA), epsilon) == pytest.approx(float(DELTA), rel=1e-4)
    assert f"cross at epsilon {epsilon:.2f}" in noise.cross()


def test_what_chance_may_put_outside_a_band_is_explained() -> None:
    steps = [1.1] * 1000
    found = noise_levels.Measurement([], steps, {}, 1, "local")
    assert "NOT" not in found.verdict()
    assert "one correct run in twenty" in found.verdict()


@pytest.mark.parametrize("count", [15, 100, 16_000])
def test_band_is_that_of_chi_square(count: int) -> None:
    low, high = (3 * (count / stats.chi2.ppf(level, count)) ** 0.5 for level in (0.975, 0.025))
    assert deviation_band(3, count) == pytest.approx((low, high), rel=3e-3)


def test_noise_and_utility_say_what_they_found(folder: Path, tmp_path: Path) -> None:
    context = _local(folder, 12)
    for experiment in (noise, utility):
        outcome = experiment.run(context)
        outcome.save(tmp_path)
        assert json.loads((tmp_path / f"{outcome.name}.json").read_text())["answers"] == 12 * 5 * _LEVELS
        assert all((tmp_path / f"{figure.name}.svg").stat().st_size for figure in outcome.figures)
        assert any("23.0% less at epsilon 1" in sentence for sentence in outcome.sentences)
    lines = (tmp_path / "noise.csv").read_text().splitlines()
    assert any(line.startswith("Mean personal income,exact conversion,exact in theory,1.0,753.") for line in lines)
