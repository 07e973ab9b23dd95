"""Attack: an attacker who knows everyone else's record asks whether one person is in the data, through the whole system.

A small, fast version of ``make membership``: a ledger is many trials, one in each cell of a histogram, on a real chain with a
real worker. The weakened systems show that the attack would succeed if there were anything to find.
"""

from __future__ import annotations

import importlib.util
import json
import sys
from collections.abc import Iterator, Sequence
from fractions import Fraction
from functools import cache
from itertools import cycle
from math import inf, log
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
from scipy import stats

from attacks.weakened_systems import FLOATING_POINT, HALF_THE_NOISE, NOISE_OFF, THE_PAPERS_2C, WEAKENED
from evaluation.membership import trials as membership
from evaluation.membership.attacks import ATTACKS, Seen, Transcript, as_float, is_in_reach, pooled
from evaluation.membership.lab import Lab, Setting, open_lab
from evaluation.membership.statistics import CHOOSING, find_bound, least_probability, most_probability
from evaluation.membership.trials import DELTA, EPSILON, HONEST, PROMISED, Batch, System, Trials, run_batch
from noiseledger import Case, NoiseledgerError, epsilon_for
from noiseledger.core.path import PATH_UNITS
from noiseledger.custodian.journal import Journal

CELLS = 250
#: Ledgers on each dataset: enough for the bound of a weakened system to lie five deviations above the promise.
PAIRS = {NOISE_OFF: 1, FLOATING_POINT: 2, HALF_THE_NOISE: 8, THE_PAPERS_2C: 8}
#: Both rates must be off by 3.9 deviations, in opposite directions, to accuse an honest system: once in 10^8 runs.
SURE = 0.9999


@cache
def attack(system: System) -> Trials:
    return run_batch(Batch(system, PAIRS.get(system, 8), CELLS))


@pytest.mark.parametrize("system", HONEST, ids=lambda system: system.name)
def test_the_system_keeps_its_promise(system: System) -> None:
    trials = attack(system)
    assert trials.finding(SURE).bound < EPSILON
    # The attack does see something, as it should: noise as promised is not noise without end. A gap of 0.56 is expected, with
    # a deviation of 0.024.
    assert mean_gap(trials, "likelihood") > 0.3


@pytest.mark.parametrize("system", WEAKENED, ids=lambda system: system.name)
def test_a_weakened_system_breaks_it(system: System) -> None:
    found = attack(system).finding()
    assert EPSILON < found.bound < system.epsilon_in_theory


def test_each_weakening_is_found_by_its_own_attack() -> None:
    floats, paper = attack(FLOATING_POINT), attack(THE_PAPERS_2C)
    assert inf not in floats.dataset["last bits"], "everything is in reach of a truth of 0"
    assert -inf in floats.dataset["last bits"]
    assert -inf not in floats.neighbour["last bits"], "so whoever sees such a number knows that the truth is 0"
    spread = {name: np.std(np.array(paper.dataset[name]) / mean_gap(paper, name)) for name in ("likelihood", "pooling")}
    assert spread["pooling"] < 0.8 * spread["likelihood"]


def mean_gap(trials: Trials, name: str) -> float:
    return float(np.mean(trials.neighbour[name]) - np.mean(trials.dataset[name]))


def test_one_ledger_can_be_one_trial() -> None:
    trials = run_batch(Batch(NOISE_OFF, 20))
    assert len(trials) == 20
    assert EPSILON < trials.finding().bound < inf


@pytest.fixture(scope="module")
def lab() -> Iterator[Lab]:
    with open_lab() as opened:
        yield opened


@pytest.mark.parametrize("cells", [1, 2])
def test_a_life_spends_all_of_the_budget_through_all_cases(lab: Lab, cells: int) -> None:
    with lab.ledger(Setting(EPSILON, DELTA, cells), Journal, neighbour=True) as ledger:
        membership.spend_in_public(ledger)
        assert ledger.cases == [Case.NEW, Case.EXTEND, Case.NEW, Case.BRIDGE, Case.KNOWN]
        assert ledger.spent == ledger.budget == PROMISED
        first, second = ledger.transcript().queries
    assert sum(cost for cost, _ in (*first.increments, *second.increments)) == PROMISED
    assert len(first.answers) == 3, "the two that were bought, and the one between"
    assert {len(point) for point in first.answers.values()} == {cells}


def test_without_noise_the_two_datasets_are_one_sensitivity_apart_in_every_answer(lab: Lab) -> None:
    for neighbour in (False, True):
        with lab.ledger(Setting(EPSILON, DELTA, 2), NOISE_OFF.journal, neighbour=neighbour) as ledger:
            membership.spend_in_public(ledger)
            transcript = ledger.transcript()
        for seen in transcript.queries:
            for cost, increment in seen.increments:
                assert increment == (round(cost * PATH_UNITS) * neighbour,) * 2


def test_what_the_chain_forgot_is_in_no_transcript(lab: Lab) -> None:
    with lab.ledger(Setting(membership.THIRD_PARTY_EPSILON, DELTA), Journal, neighbour=False) as ledger:
        membership.spend_with_hidden_best(ledger)
        assert ledger.spent == PROMISED < ledger.budget
        bought, untouched = ledger.transcript().queries
    assert list(bought.answers) == list(membership.POOL)
    assert not untouched.increments


def test_nor_is_what_was_drawn_from_it(lab: Lab) -> None:
    with lab.ledger(Setting(EPSILON, DELTA), Journal, neighbour=False) as ledger:
        with ledger.reverted():
            membership.spend_in_public(ledger)
        assert ledger.spent == 0
        assert not any(seen.answers or seen.increments for seen in ledger.transcript().queries)


def test_a_promise_is_only_compared_with_what_was_paid_for(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(membership, "PROMISED", PROMISED / 2)
    with pytest.raises(NoiseledgerError, match="spent, expected"):
        run_batch(Batch(HONEST[0], 1))


@pytest.mark.parametrize(("hits", "trials"), [(0, 7), (1, 7), (7, 7), (3, 50), (500, 1000), (999, 1000), (40, 2000)])
@pytest.mark.parametrize("failure", [0.025, 1e-6])
def test_bounds_of_rates_are_exact(hits: int, trials: int, failure: float) -> None:
    low = stats.beta.ppf(failure, hits, trials - hits + 1) if hits else 0
    high = stats.beta.isf(failure, hits + 1, trials - hits) if hits < trials else 1
    assert least_probability(hits, trials, failure) == pytest.approx(low, abs=1e-9)
    assert most_probability(hits, trials, failure) == pytest.approx(high, abs=1e-9)


def scores(choosing: Sequence[float], judging: Sequence[float]) -> dict[str, Sequence[float]]:
    """Put scores where trials are for choosing, and where they are for judging; each list is repeated 60 times."""
    for_choosing, for_judging = cycle(choosing), cycle(judging)
    trials = 60 * len(choosing) * CHOOSING
    return {"attack": [next(for_judging if number % CHOOSING else for_choosing) for number in range(trials)]}


def test_what_was_chosen_on_some_trials_is_judged_on_the_others() -> None:
    lucky = find_bound(scores([0], [0, 1]), scores([1], [0, 1]), delta=0.0)
    assert (lucky.true_positives, lucky.false_positives, lucky.trials) == (90, 90, 180)
    assert lucky.bound == 0


@pytest.mark.parametrize("delta", [0.0, 0.05])
def test_a_bound_is_the_logarithm_of_the_worst_case(delta: float) -> None:
    found = find_bound(scores([0, 0, 0], [0]), scores([1, 1, 0], [1, 1, 0]), delta)
    assert found.event.above
    assert (found.true_positives, found.false_positives, found.trials) == (360, 0, 540)
    low, high = stats.beta.ppf(0.025, 360, 181), stats.beta.ppf(0.975, 1, 540)
    assert found.bound == pytest.approx(log((low - delta) / high))


def test_evidence_for_the_dataset_counts_as_much_as_evidence_for_its_neighbour() -> None:
    nothing = scores([0, 0, 0], [0])
    found = find_bound(scores([-inf, 0, 0], [-inf, 0, 0]), nothing, delta=0.0)
    mirrored = find_bound(nothing, scores([inf, 0, 0], [inf, 0, 0]), delta=0.0)
    assert mirrored.event.above
    assert not found.event.above
    assert found.bound == mirrored.bound > 1


def gaussian_bound(mu: float, trials: int, generator: np.random.Generator) -> float:
    dataset, neighbour = ({"attack": generator.normal(mean, size=trials).tolist()} for mean in (0, mu))
    return find_bound(dataset, neighbour, DELTA).bound


def test_a_bound_is_rarely_above_the_truth_and_near_it_with_many_trials() -> None:
    generator, mu = np.random.default_rng(1), float(PROMISED) ** 0.5
    few = [gaussian_bound(mu, 200, generator) for _ in range(100)]
    assert sum(bound > EPSILON for bound in few) <= 3, "at 95% confidence, and with two rates that must both be off"
    assert 0.75 < gaussian_bound(mu, 20_000, generator) < EPSILON


def transcript(*increments: tuple[Fraction, int], budget: Fraction = PROMISED) -> Transcript:
    """Return what is seen of one query whose path has these increments."""
    end, total, answers = Fraction(0), 0, {}
    for cost, increment in increments:
        end, total = end + cost, total + increment
        answers[end] = (total,)
    return Transcript(budget, (Seen(tuple((cost, (new,)) for cost, new in increments), answers),))


def test_evidence_is_the_logarithm_of_the_likelihood_ratio() -> None:
    pieces = [(Fraction(1, 4), PATH_UNITS // 3), (Fraction(1, 8), -PATH_UNITS // 7)]
    expected = sum(
        stats.norm.logpdf(new / PATH_UNITS, float(cost), float(cost) ** 0.5)
        - stats.norm.logpdf(new / PATH_UNITS, 0, float(cost) ** 0.5)
        for cost, new in pieces
    )
    assert transcript(*pieces).evidence("likelihood") == pytest.approx(expected)


def test_pooling_gets_the_1_70_of_the_papers_scheme() -> None:
    _, precision = pooled({Fraction(4, 25): 0.0, Fraction(1, 4): 0.0}, Fraction(1))
    assert precision**-0.5 == pytest.approx((32 / 11) ** 0.5)
    seen = transcript((Fraction(4, 25), PATH_UNITS), (Fraction(9, 100), 2 * PATH_UNITS), budget=Fraction(1))
    # Answers 1 / (4/25) and 3 / (1/4), with the weights 4/11 and 7/11 of the mathematics.
    estimate = 4 / 11 * 25 / 4 + 7 / 11 * 12
    assert seen.evidence("pooling") == pytest.approx((estimate - 0.5) * 11 / 32)


def test_a_number_with_a_bit_too_many_is_out_of_reach_of_1() -> None:
    fine, coarse = 0.25 + 2.0**-54, 0.25 + 2.0**-53
    assert [is_in_reach(fine, 0), is_in_reach(fine, 1)] == [True, False]
    assert [is_in_reach(coarse, 0), is_in_reach(coarse, 1)] == [True, True]
    published = round(Fraction(fine) * PATH_UNITS)
    assert as_float(published) == fine
    assert as_float(published + 1) is None
    assert transcript((Fraction(1), published)).evidence("last bits") == -inf
    # A number this small could be another one's image, and then be in reach.
    tiny = transcript((Fraction(1), 1000001))
    assert tiny.evidence("last bits") == tiny.evidence("likelihood")
    unknown = transcript((Fraction(1), published + 1))
    assert unknown.evidence("last bits") == unknown.evidence("likelihood")


def test_in_theory_every_weakening_is_worth_more_than_the_promise() -> None:
    assert [system.epsilon_in_theory for system in HONEST] == [pytest.approx(EPSILON)] * 2
    assert HALF_THE_NOISE.epsilon_in_theory == pytest.approx(epsilon_for(4 * PROMISED, DELTA))
    assert all(system.epsilon_in_theory > 2 for system in WEAKENED)


@pytest.fixture(scope="module")
def script() -> ModuleType:
    file = Path(__file__).parents[2] / "scripts" / "membership.py"
    spec = importlib.util.spec_from_file_location("membership_script", file)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def told_apart(rate: float) -> Trials:
    """Make up trials in which the attacker is certain this often."""
    certain = [number % 100 < 100 * rate for number in range(0, 40_000, 7)]
    return Trials(
        {name: [0.0] * len(certain) for name in ATTACKS}, {name: [float(hit) for hit in certain] for name in ATTACKS}
    )


@pytest.mark.parametrize(
    ("honest", "weakened", "code"), [(0, 0.5, 0), (0.5, 0.5, 1), (0, 0, 1)], ids=["all well", "broken", "blind"]
)
def test_the_exit_code_says_whether_all_is_as_it_must_be(
    script: ModuleType,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    honest: float,
    weakened: float,
    code: int,
) -> None:
    def made_up(work: Sequence[Batch], processes: int) -> Iterator[tuple[Batch, Trials]]:
        for batch in work:
            yield batch, told_apart(honest if batch.system.keeps_its_promise else weakened)

    monkeypatch.setattr(script, "run_all", made_up)
    assert script.main(["--trials", "25", "--json"]) == code
    rows = json.loads(capsys.readouterr().out)
    assert [row["system"] for row in rows] == [system.name for system in (*HONEST, *WEAKENED)]
    assert all(row["expected"] for row in rows) == (code == 0)
    assert script.main(["--trials", "25"]) == code
    printed = capsys.readouterr().out
    assert ("(!)" in printed) == (code == 1)
    assert f"{rows[-1]['epsilon_lower_bound']:.3f}" in printed
