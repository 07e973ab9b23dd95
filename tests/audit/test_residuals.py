"""The tests of residuals: their distributions match scipy's, and honest residuals pass in any order at the stated rate.

Each statistical check here has a false-alarm rate of 1e-9, see calibrated.py.
"""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable
from time import process_time

import numpy as np
import numpy.typing as npt
import pytest
from scipy import stats

from calibrated import FALSE_ALARM
from noiseledger.auditing import cross_correlation, p_values
from noiseledger.auditing.autocorrelation import autocorrelation_test, ragged_autocorrelation_test
from noiseledger.auditing.cross_correlation import CrossCorrelationTest
from noiseledger.auditing.linear_dependence import linear_dependence_test, list_sum_test
from noiseledger.auditing.local_variance import block_test
from noiseledger.auditing.nearest_neighbours import nearest_neighbour_test
from noiseledger.auditing.order_statistics import order_statistics_test
from noiseledger.auditing.residuals import Residuals
from noiseledger.auditing.underdispersion import underdispersion_test

Floats = npt.NDArray[np.float64]


def ledger(queries: int, groups: int, reveals: int, rng: np.random.Generator) -> Residuals:
    noise = Residuals()
    for _ in range(reveals):
        for query in range(queries):
            stretch = int(rng.integers(1, 100))
            noise.add(f"q{query}", stretch, rng.random(groups).tolist(), rng.standard_normal(groups).tolist())
    return noise


TESTS: dict[str, Callable[[Residuals], float]] = {
    "large_values": Residuals.large_values,
    "tiny_values": Residuals.tiny_values,
    "shape": Residuals.shape,
    "local_variance": Residuals.local_variance,
    "autocorrelation": Residuals.autocorrelation,
    "cross_correlation": Residuals.cross_correlation,
    "linear_dependence": Residuals.linear_dependence,
}


@pytest.mark.parametrize(
    ("shape", "ledgers"), [((3, 2, 4), 400), ((2, 20, 3), 200), ((5, 4, 20), 100), ((1, 1, 200), 100)]
)
def test_p_values_of_honest_ledgers_are_not_too_small(shape: tuple[int, int, int], ledgers: int) -> None:
    rng = np.random.default_rng()
    found = [[test(noise) for test in TESTS.values()] for noise in (ledger(*shape, rng) for _ in range(ledgers))]
    for name, values in zip(TESTS, zip(*found, strict=True), strict=True):
        for level in (0.3, 0.1, 0.01):
            below = sum(p_value <= level for p_value in values)
            assert stats.binomtest(below, ledgers, level, alternative="greater").pvalue > FALSE_ALARM, name


def test_the_bound_on_a_cosine_holds_and_is_tight() -> None:
    for length in (6, 20, 300):
        for level in (1e-3, 1e-9, 1e-15):
            cosine = float(stats.beta.isf(level, 0.5, (length - 1) / 2))
            bound = float(np.exp(cross_correlation._log_p_value(cosine, length)))
            assert level * (1 - 1e-6) <= bound <= 1.5 * level


def test_order_statistics_have_the_right_distribution() -> None:
    rng = np.random.default_rng()
    found = [order_statistics_test(rng.random(50), lambda chance: chance) for _ in range(1000)]
    below = sum(p_value <= 0.1 for p_value in found)
    assert stats.binomtest(below, 1000, 0.1, alternative="greater").pvalue > FALSE_ALARM
    assert stats.binomtest(below, 1000, 0.03, alternative="less").pvalue > FALSE_ALARM  # nor far too large
    # Of ten thousand numbers none is beyond three standard deviations; 27 are expected.
    cut = np.linspace(0, 1, 10_001)[1:] * p_values.normal_within(3)
    assert order_statistics_test(1 - cut, lambda chance: chance) < 1e-9


@pytest.mark.parametrize("lag", [1, 2, 7, 100, 777])
@pytest.mark.parametrize("rho", [0.8, -0.8])
def test_autocorrelation_is_detected_at_any_lag(lag: int, rho: float) -> None:
    noise = np.random.default_rng(lag).standard_normal(1200)
    assert autocorrelation_test([noise]) > 1e-6
    for place in range(lag, len(noise)):
        noise[place] = rho * noise[place - lag] + 0.6 * noise[place]
    assert autocorrelation_test([noise]) < 1e-8


def test_autocorrelation_is_pooled_over_short_lists() -> None:
    rng = np.random.default_rng(3)
    lists = [rng.standard_normal(8) for _ in range(100)]
    assert autocorrelation_test(lists) > 1e-6
    for noise in lists:
        noise[5:] = -0.9 * noise[:3] + 0.43 * noise[5:]
    assert autocorrelation_test(lists) < 1e-8


def test_rows_of_different_lengths_are_compared_column_by_column() -> None:
    rng = np.random.default_rng(4)
    rows = [rng.standard_normal(3 + number % 5) for number in range(300)]
    assert ragged_autocorrelation_test(rows) > 1e-6
    for number in range(13, len(rows)):
        before, size = rows[number - 13], min(len(rows[number]), len(rows[number - 13]))
        rows[number][:size] = 0.8 * before[:size] + 0.6 * rows[number][:size]
    assert ragged_autocorrelation_test(rows) < 1e-8


@pytest.mark.parametrize("shift", [0, 5, -11])
@pytest.mark.parametrize("sign", [1, -1])
def test_two_correlated_lists_among_many_are_detected_at_any_shift(shift: int, sign: int) -> None:
    lists = list(np.random.default_rng(5).standard_normal((40, 40)))
    assert CrossCorrelationTest(lists).p_value() > 1e-6
    lists[31] = sign * np.roll(lists[8], shift) * 0.995 + 0.1 * lists[31]
    assert CrossCorrelationTest(lists).p_value() < 1e-8


def test_lists_of_different_lengths_are_compared_up_to_the_shorter_one() -> None:
    rng = np.random.default_rng(6)
    lists = [rng.standard_normal(50 + number) for number in range(60)]
    assert CrossCorrelationTest(lists).p_value() > 1e-6
    lists[50][:50] = -lists[3][:50] + 0.1 * lists[50][:50]
    assert CrossCorrelationTest(lists).p_value() < 1e-8


def test_too_many_pairs_are_compared_unshifted_and_reported_as_incomplete(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cross_correlation, "_SHIFTED", 1000)
    lists = list(np.random.default_rng(7).standard_normal((30, 40)))
    lists[20] = -lists[4] + 0.1 * lists[20]
    few = CrossCorrelationTest(lists)
    assert not few.is_complete
    assert few.p_value() < 1e-8
    assert CrossCorrelationTest(lists[:1]).is_complete


def test_more_pairs_than_can_be_compared_are_not(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cross_correlation, "_ALIGNED", 1000)
    lists = list(np.random.default_rng(7).standard_normal((30, 40)))
    lists[20] = -lists[4] + 0.1 * lists[20]
    assert CrossCorrelationTest(lists).p_value() == 1


def test_linear_dependence_is_detected_that_no_pair_shows() -> None:
    rng = np.random.default_rng(8)
    lists = list(rng.standard_normal((6, 40)))
    assert linear_dependence_test(lists) > 1e-6
    lists[5] = sum((noise for noise in lists[:5]), np.zeros(40)) / np.sqrt(5) * 0.995 + 0.1 * lists[5]
    assert linear_dependence_test(lists) < 1e-8


def test_sums_without_noise_are_detected() -> None:
    rows = list(np.random.default_rng(9).standard_normal((30, 7)))
    assert list_sum_test(rows) > 1e-6
    assert list_sum_test([row - 0.9 * row.mean() for row in rows]) < 1e-8


@pytest.mark.parametrize("start", [0, 300, 901])
def test_a_period_of_weak_noise_is_detected_anywhere(start: int) -> None:
    noise = np.random.default_rng(10).standard_normal(1000)
    assert block_test(noise) > 1e-6
    noise[start : start + 60] *= 0.1
    assert block_test(noise) < 1e-8


def test_near_copies_of_any_earlier_vector_are_detected() -> None:
    rng = np.random.default_rng(11)
    vectors = list(rng.standard_normal((200, 4)))
    assert nearest_neighbour_test(vectors) > 1e-6
    for number in range(50, 200, 2):
        vectors[number] = rng.choice([-1, 1]) * vectors[int(rng.integers(number))] * 0.995 + 0.1 * vectors[number]
    assert nearest_neighbour_test(vectors) < 1e-8


def test_stratified_numbers_are_detected_and_independent_ones_pass() -> None:
    rng = np.random.default_rng(12)
    assert underdispersion_test(rng.random(5000)) > 1e-6
    assert underdispersion_test((np.arange(5000) + rng.random(5000)) / 5000) < 1e-8
    assert underdispersion_test(rng.random(10)) == 1


def test_large_tables_are_tested_in_bounded_time_and_memory() -> None:
    """A table of 10,000 groups: there are fifty million pairs of them, which fit into no memory at once."""
    rng, noise = np.random.default_rng(3), Residuals()
    for _ in range(6):
        noise.add("table", 7, rng.random(10_000).tolist(), rng.standard_normal(10_000).tolist())
    tracemalloc.start()
    try:
        start = process_time()
        assert min(test(noise) for test in TESTS.values()) > 1e-7
        assert process_time() - start < 60  # two seconds, without counting memory
        assert tracemalloc.get_traced_memory()[1] < 150 * 2**20
    finally:
        tracemalloc.stop()
    assert not noise.is_complete


def test_a_large_table_with_noise_that_is_used_twice_is_caught() -> None:
    """The shifts of so many lists are not compared, but the lists are."""
    rng, noise = np.random.default_rng(3), Residuals()
    for _ in range(6):
        drawn = rng.standard_normal(10_000)
        drawn[7_000] = drawn[3]
        noise.add("table", 7, rng.random(10_000).tolist(), drawn.tolist())
    assert noise.cross_correlation() < 1e-9
