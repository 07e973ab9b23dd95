"""The noise tests: they accuse honest workers no more often than stated, and catch each kind of dishonest worker.

Each statistical check here has a false-alarm rate of 1e-9, see calibrated.py.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from math import isqrt, log10, sqrt

import numpy as np
import pytest
from scipy import stats

from audit.dishonest_workers import (
    Weakness,
    biased,
    coarse_noise,
    flattering,
    float_noise,
    half_the_noise,
    no_noise,
    noise_repeated_along_a_path,
    noise_reused_across_queries,
    same_noise_for_all_groups,
    scaled_noise,
)
from calibrated import FALSE_ALARM
from noiseledger.auditing import noise_tests, p_values
from noiseledger.auditing.duplicates import DuplicateTest
from noiseledger.auditing.last_digits import LastDigitTest
from noiseledger.auditing.noise_tests import ENOUGH_TO_TELL, NoiseTest, NoiseTestSuite
from noiseledger.core.noise import rounded_gaussian, rounded_gaussians
from noiseledger.core.path import PATH_UNITS
from noiseledger.core.privacy import UNITS

#: From one unit of precision, where rounding matters most, to more than any budget.
PRECISIONS = (1, 12_345, UNITS // 10**6, UNITS // 7, 3 * UNITS)
PLENTY = 300


def draw(sampler: Weakness, precision: int, truth: Sequence[Fraction]) -> list[int]:
    """Return what a worker publishes, computed from the definition and not with the code under test."""
    stretch = Fraction(precision, UNITS)
    return sampler([stretch * PATH_UNITS * value for value in truth], stretch * PATH_UNITS**2)


def truths(queries: int, dimension: int = 1) -> dict[str, list[Fraction]]:
    return {
        f"q{number}": [Fraction(random.randrange(10**5, 10**6), 777) for _ in range(dimension)]
        for number in range(queries)
    }


def simulate(
    sampler: Weakness = rounded_gaussians,
    steps: int = 1,
    queries: int = 1,
    dimension: int = 1,
    precisions: Sequence[int] = PRECISIONS,
    noise: NoiseTestSuite | None = None,
) -> NoiseTestSuite:
    """Let a worker reveal every query ``steps`` times, over stretches of various lengths."""
    noise = noise or NoiseTestSuite()
    known = truths(queries, dimension)
    for _ in range(steps):
        for query, truth in known.items():
            precision = random.choice(precisions)
            noise.add(query, precision, truth, draw(sampler, precision, truth))
    return noise


def failing(noise: NoiseTestSuite) -> set[NoiseTest]:
    return {outcome.test for outcome in noise.outcomes() if not outcome.holds}


# P-values.


@pytest.mark.parametrize("degrees", [1, 2, 7, 100, 10_000, 1_000_000])
def test_chi_square_tails_are_those_of_scipy(degrees: int) -> None:
    for level in (1e-200, 1e-20, 1e-6, 0.1, 0.5):
        low, high = float(stats.chi2.ppf(level, degrees)), float(stats.chi2.isf(level, degrees))
        if low > 1e-280:
            assert p_values.chi_square_tails(low, degrees)[0] == pytest.approx(level, rel=1e-6, abs=0)
        assert p_values.chi_square_tails(high, degrees)[1] == pytest.approx(level, rel=1e-6, abs=0)


@pytest.mark.parametrize("chance", [1 / 4096, 0.1, 0.5, 0.9])
def test_binomial_tails_are_those_of_scipy_or_larger(chance: float) -> None:
    for trials in (1, 2, 30, 1000, 10**6):
        deviation = sqrt(trials * chance * (1 - chance))
        for deviations in (-1, 0.3, 2.3, 6, 11, 40):
            successes = min(max(int(trials * chance + deviations * deviation), 0), trials)
            expected = max(float(stats.binom.sf(successes - 1, trials, chance)), p_values.SMALLEST)
            found = p_values.binomial_at_least(successes, trials, chance)
            assert found == (pytest.approx(expected, rel=1e-6, abs=0) if successes > trials * chance else 1)


# Honest workers.

#: The tests whose p-value is exactly uniform, and not just an upper bound.
UNIFORM = (NoiseTest.MEAN, NoiseTest.ANSWERS, NoiseTest.SIZE, NoiseTest.FORGOTTEN, NoiseTest.OUTLIERS)


@pytest.mark.parametrize(("increments", "workers"), [(1, 1500), (2, 1000), (5, 600), (30, 200)])
def test_p_values_of_honest_workers_are_uniform_or_larger(increments: int, workers: int) -> None:
    found: dict[NoiseTest, list[float]] = {test: [] for test in NoiseTest}
    for _ in range(workers):
        # For a stretch of a single unit, rounding moves numbers by 6e-5, so the p-value is too large and not uniform.
        for test, p_value in simulate(steps=increments, precisions=PRECISIONS[2:]).exact_p_values().items():
            found[test].append(p_value)
    for test in UNIFORM:
        assert stats.kstest(found[test], "uniform").pvalue > FALSE_ALARM, test
    check_not_too_small(found)


@pytest.mark.parametrize(("shape", "workers"), [((1, 3, 1), 800), ((3, 2, 4), 300), ((4, 10, 2), 100)])
def test_p_values_of_several_queries_and_groups_are_not_too_small(shape: tuple[int, int, int], workers: int) -> None:
    found: dict[NoiseTest, list[float]] = {test: [] for test in NoiseTest}
    for _ in range(workers):
        for test, p_value in simulate(rounded_gaussians, *shape).exact_p_values().items():
            found[test].append(p_value)
    check_not_too_small(found)


def check_not_too_small(found: Mapping[NoiseTest, Sequence[float]]) -> None:
    for test, values in found.items():
        for level in (0.1, 0.03, 0.01, 0.001):
            below = sum(p_value <= level for p_value in values)
            assert stats.binomtest(below, len(values), level, alternative="greater").pvalue > FALSE_ALARM, test


def test_all_tests_together_keep_the_false_alarm_rate(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(noise_tests, "FALSE_ALARM", 0.1)
    accused = sum(bool(failing(simulate(steps=4, queries=2))) for _ in range(400))
    assert stats.binomtest(accused, 400, 0.1, alternative="greater").pvalue > FALSE_ALARM
    # The level is not only kept but nearly used up; otherwise the tests would have little power.
    assert stats.binomtest(accused, 400, 0.02, alternative="less").pvalue > FALSE_ALARM


def test_cells_are_compared_exactly_with_few_counts_and_closely_with_many() -> None:
    rng = np.random.default_rng()
    for counts, slack in ((1, 0.0), (5, 0.0), (40, 0.0), (5000, 0.5)):
        found = [p_values.equal_cells(row) for row in rng.multinomial(counts, [1 / 16] * 16, 1500).tolist()]
        below = sum(p_value <= 0.1 for p_value in found)
        assert stats.binomtest(below, 1500, 0.1, alternative="greater").pvalue > FALSE_ALARM
        assert stats.binomtest(below, 1500, 0.1 * slack, alternative="less").pvalue > FALSE_ALARM


def test_digits_of_honest_noise_are_uniform_where_two_grids_meet() -> None:
    # Here a standard deviation is 4.5 * 10**17 path units, so decimal fractions are alternately 4 and 5 units apart.
    assert simulate(steps=10_000, precisions=[UNITS * 2025 // 10_000]).exact_p_values()[NoiseTest.GRID] > FALSE_ALARM


def test_digits_that_narrow_noise_cannot_randomise_are_not_tested() -> None:
    zero = LastDigitTest(2, 10)
    zero.add(0, 16_667)
    assert zero.p_value() > 1e-5  # the probability that it is zero
    narrow = LastDigitTest(2, 10)
    for number in rounded_gaussians([0] * 3000, 50**2):
        narrow.add(number, 50)
    assert narrow.p_value() > FALSE_ALARM


def test_the_stated_rate_is_one_in_a_million() -> None:
    assert noise_tests.FALSE_ALARM == 1e-6


# Dishonest workers.


@pytest.mark.parametrize("precision", PRECISIONS[2:])
def test_forgotten_noise_is_caught_with_one_increment(precision: int) -> None:
    assert NoiseTest.FORGOTTEN in failing(simulate(no_noise(), precisions=[precision]))


def test_forgotten_noise_is_caught_among_many_honest_increments() -> None:
    noise = simulate(steps=PLENTY)
    noise.add("forgotten", UNITS, [Fraction(1, 3)], [PATH_UNITS // 3])
    assert NoiseTest.FORGOTTEN in failing(noise)


@pytest.mark.parametrize(
    ("sampler", "test", "words"),
    [
        (half_the_noise(), NoiseTest.SIZE, "less noise"),
        (scaled_noise("2"), NoiseTest.SIZE, "more noise"),
        (biased(), NoiseTest.MEAN, "biased to one side"),
        (flattering(), NoiseTest.ANSWERS, "further from the true values"),
        (float_noise(), NoiseTest.GRID, "low-order digits"),
        (coarse_noise(), NoiseTest.GRID, "coarse grid"),
        (coarse_noise(), NoiseTest.REPEATS, "used more than once"),
        (noise_repeated_along_a_path(), NoiseTest.REPEATS, "used more than once"),
    ],
)
def test_weak_noise_is_caught(sampler: Weakness, test: NoiseTest, words: str) -> None:
    outcomes = {o.test: o for o in simulate(sampler, PLENTY, precisions=[UNITS // 7]).outcomes()}
    assert not outcomes[test].holds
    assert words in outcomes[test].sentence
    assert f"from {PLENTY} published numbers" in outcomes[test].sentence


def test_half_the_noise_is_caught_as_early_as_stated() -> None:
    def caught(increments: int) -> int:
        workers = (simulate(half_the_noise(), 1, queries=5) for _ in range(100))
        return sum(bool(failing(more(half_the_noise(), noise, increments - 5))) for noise in workers)

    assert 20 <= caught(48) <= 80
    assert caught(82) >= 85


def more(sampler: Weakness, noise: NoiseTestSuite, increments: int) -> NoiseTestSuite:
    """Let a worker reveal five queries further."""
    for number, truth in zip(range(increments), 100 * list(truths(5).values()), strict=False):
        noise.add(f"q{number % 5}", UNITS // 40, truth, draw(sampler, UNITS // 40, truth))
    return noise


def test_a_single_query_with_half_the_noise_is_named() -> None:
    noise = simulate(steps=PLENTY, queries=10)
    for _ in range(PLENTY):
        noise.add("the other", UNITS, [Fraction(5)], draw(half_the_noise(), UNITS, [Fraction(5)]))
    (wrong,) = (o.sentence for o in noise.outcomes() if o.test is NoiseTest.SIZE)
    assert "The answers to 'the other' have less noise" in wrong


def test_other_data_is_caught_in_the_answers() -> None:
    noise = NoiseTestSuite()
    for query, truth in truths(20).items():
        published = draw(rounded_gaussians, UNITS, [value + 5 for value in truth])
        noise.add(query, UNITS, truth, published)
    assert NoiseTest.ANSWERS in failing(noise)


def test_noise_that_cancels_itself_is_caught_in_the_answers() -> None:
    noise, truth = NoiseTestSuite(), [Fraction(7, 3)] * 40
    first = draw(rounded_gaussians, UNITS, truth)
    noise.add("q", UNITS, truth, first)
    # A tenth of it remains.
    mean = 2 * PATH_UNITS * Fraction(7, 3)
    noise.add(
        "q",
        UNITS,
        truth,
        [round(mean - a + (a - mean / 2) / 10) + rounded_gaussian(Fraction(0), Fraction(99**2)) for a in first],
    )
    wrong = {o.test: o.sentence for o in noise.outcomes() if not o.holds}
    assert "closer to the true values" in wrong[NoiseTest.ANSWERS]


@pytest.mark.parametrize(
    ("first", "second", "sign"), [(UNITS, UNITS, 1), (UNITS, UNITS, -1), (UNITS // 11, UNITS // 3, -1)]
)
def test_noise_that_is_used_twice_is_caught_among_many_honest_increments(first: int, second: int, sign: int) -> None:
    noise = simulate(steps=PLENTY)
    normal = Fraction(rounded_gaussian(Fraction(0), Fraction(10**50)), 10**25)
    for query, precision, times in (("a", first, 1), ("b", second, sign)):
        noise.add(query, precision, [Fraction(2, 7)], draw(with_noise(times * normal), precision, [Fraction(2, 7)]))
    assert failing(noise) == {NoiseTest.REPEATS}


def with_noise(normal: Fraction) -> Weakness:
    def sampler(means: Sequence[Fraction | int], variance: Fraction | int) -> list[int]:
        deviation = Fraction(isqrt(int(variance * 10**40)), 10**20)
        return [round(mean + normal * deviation) for mean in means]

    return sampler


def test_a_number_that_is_published_twice_is_caught_even_for_two_stretches() -> None:
    noise = simulate(steps=PLENTY)
    (published,) = draw(rounded_gaussians, UNITS, [Fraction(1, 2)])
    noise.add("a", UNITS, [Fraction(1, 2)], [published])
    noise.add("b", UNITS // 2, [Fraction(3, 2)], [published])
    assert failing(noise) == {NoiseTest.REPEATS}


def test_noise_that_is_copied_without_rescaling_is_caught() -> None:
    noise = simulate(steps=PLENTY)
    (copied,) = draw(rounded_gaussians, UNITS, [Fraction(0)])
    for precision in (UNITS, UNITS // 2):
        noise.add("a", precision, [Fraction(3)], [3 * PATH_UNITS * precision // UNITS + copied])
    # Where it was copied to, it is too large as well, and now and then that is seen.
    assert failing(noise) - {NoiseTest.LARGE} == {NoiseTest.REPEATS}


@pytest.mark.parametrize(
    ("sampler", "queries", "groups"), [(noise_reused_across_queries(), 2, 1), (same_noise_for_all_groups(), 1, 2)]
)
def test_noise_that_is_shared_is_caught_with_two_increments(sampler: Weakness, queries: int, groups: int) -> None:
    noise = simulate(sampler, queries=queries, dimension=groups, precisions=[UNITS // 3])
    assert noise.count == 2
    assert NoiseTest.REPEATS in failing(noise)


@pytest.mark.parametrize(
    ("queries", "groups", "before"),
    [
        (20, 1, lambda query, group: (query, group)),  # depends on the previous increment of the same path
        (2, 20, lambda query, group: "the last"),  # depends on the previous number, of any group and query
        (2, 20, lambda query, group: group),  # depends on the same group in the previous reveal
    ],
)
def test_noise_that_depends_on_earlier_noise_is_caught(
    queries: int, groups: int, before: Callable[[str, int], object]
) -> None:
    noise, last, known = NoiseTestSuite(), dict[object, int](), truths(queries, groups)
    while noise.count < 800:
        for query, truth in known.items():
            drawn = []
            for group, fresh in enumerate(rounded_gaussians([0] * groups, Fraction(3, 4) * PATH_UNITS**2)):
                place = before(query, group)
                last[place] = last.get(place, 0) // 2 + fresh
                drawn.append(last[place])
            noise.add(query, UNITS, truth, [round(t * PATH_UNITS) + d for t, d in zip(truth, drawn, strict=True)])
    assert NoiseTest.INDEPENDENCE in failing(noise)


def test_noise_that_is_not_gaussian_is_caught() -> None:
    def even(means: Sequence[Fraction | int], variance: Fraction | int) -> list[int]:
        width = isqrt(int(3 * variance))
        return [round(mean) + random.randint(-width, width) for mean in means]

    assert NoiseTest.SHAPE in failing(simulate(even, 1500))


def test_one_outlier_is_caught_among_many() -> None:
    noise = simulate(steps=PLENTY)
    noise.add("odd", UNITS, [Fraction(0)], draw(rounded_gaussians, UNITS, [Fraction(15)]))
    assert NoiseTest.OUTLIERS in failing(noise)


@pytest.mark.parametrize("grid", [2**20, 10**9, 7**11 + 2])
@pytest.mark.parametrize("of_noise", [True, False])
def test_a_grid_of_any_kind_is_caught_with_two_increments(grid: int, of_noise: bool) -> None:
    def sampler(means: Sequence[Fraction | int], variance: Fraction | int) -> list[int]:
        start = [round(mean) if of_noise else 0 for mean in means]
        noise = rounded_gaussians([mean - a for mean, a in zip(means, start, strict=True)], variance)
        return [a + round(Fraction(number, grid)) * grid for a, number in zip(start, noise, strict=True)]

    assert NoiseTest.GRID in failing(simulate(sampler, 2, precisions=[UNITS, UNITS // 3]))


def float_normals(means: Sequence[Fraction | int], variance: Fraction | int) -> list[int]:
    """Draw standard normal numbers in floating point, and compute exactly from there on."""
    return [round(mean + Fraction(random.gauss()) * isqrt(int(variance))) for mean in means]


def binary_normals(means: Sequence[Fraction | int], variance: Fraction | int) -> list[int]:
    """Draw standard normal numbers with thirty binary places."""
    return [round(mean + Fraction(round(random.gauss() * 2**30), 2**30) * isqrt(int(variance))) for mean in means]


def decimal_normals(means: Sequence[Fraction | int], variance: Fraction | int) -> list[int]:
    """Draw standard normal numbers with nine decimal places."""
    return [round(mean + Fraction(f"{random.gauss():.9f}") * isqrt(int(variance))) for mean in means]


@pytest.mark.parametrize(
    ("sampler", "increments"), [(binary_normals, 4), (decimal_normals, 4), (float_normals, PLENTY)]
)
def test_coarse_noise_is_caught_even_if_all_stretches_differ(sampler: Weakness, increments: int) -> None:
    precisions = [UNITS // 40 + random.randrange(UNITS // 100) for _ in range(1000)]
    assert NoiseTest.GRID in failing(simulate(sampler, increments, precisions=precisions))


def test_digits_that_are_always_the_same_are_caught() -> None:
    digits = LastDigitTest(2, 10)
    for _ in range(5):
        digits.add(random.randrange(10**14) * 2**12 + 1234, 1e17)
    assert digits.p_value() < FALSE_ALARM


@pytest.mark.parametrize(
    ("numbers", "deviation", "p_value"),
    [
        ((7,), 1e17, 1),
        ((7, 14), 1e17, 2 / 7),
        ((7, -14, 49), 1e17, 2 / 7**2),
        ((7, 14, 3), 1e17, 1),
        ((6000, 12_000, 18_000), 3_000_000, 2 / 3000**2),  # a divisor is capped far below the deviation
        ((6, 12), 1999, 1),
        ((10**10,) * 100, 1e17, 2e-300),
    ],
)
def test_a_common_divisor_has_the_p_value_of_its_definition(
    numbers: tuple[int, ...], deviation: float, p_value: float
) -> None:
    digits = LastDigitTest()
    for number in numbers:
        digits.add(number, deviation)
    assert digits.p_value() == pytest.approx(p_value, rel=1e-9, abs=0)


@pytest.mark.parametrize(("base", "cells"), [(2, 16), (10, 10)])
def test_a_last_digit_that_is_too_frequent_is_caught(base: int, cells: int) -> None:
    """In either base alone: what one of them shows, the other may not."""
    digits = LastDigitTest(base)
    for _ in range(3000):
        digits.add(random.randrange(10**16) * cells + random.choice((*range(cells), 3)), 1e17)
    assert digits.p_value() < 1e-4


# Many increments, and extreme ones.


def test_duplicates_are_found_with_little_memory() -> None:
    duplicates = DuplicateTest(cell=2**34, limit=500)
    values = [random.getrandbits(62) for _ in range(5000)]
    for value in values:
        duplicates.add(value, 2, 2**-62)
    assert duplicates.p_value() > FALSE_ALARM
    for value in values:
        duplicates.add(value + 1, 2, 2**-62)
        assert len(duplicates._values) <= 500
    assert duplicates.p_value() < 1e-20


def test_one_number_many_times_needs_no_memory_and_is_caught() -> None:
    duplicates = DuplicateTest(cell=2**4, limit=100)
    for _ in range(1000):
        duplicates.add(0, 0.5, 1e-17)
    assert len(duplicates._values) <= 100
    assert duplicates.p_value() < 1e-9


def test_a_duplicate_is_remembered_after_its_numbers_are_dropped() -> None:
    duplicates = DuplicateTest(cell=2**34, limit=100)
    for value in [7, 7, *(random.getrandbits(62) for _ in range(5000))]:
        duplicates.add(value, 2, 2**-62)
    assert 7 not in duplicates._values
    assert duplicates.p_value() < FALSE_ALARM


@pytest.mark.parametrize(
    ("second", "blurs", "gap"),
    [
        # Twice the distance, and as much as rounding may have moved both.
        (1007, (2, 4), 2 * 7 + 2 + 4),
        (1007, (4, 2), 2 * 7 + 2 + 4),
        (1000 + 2**64, (2, 2), 4),
        (1000 + 2**63, (2, 2), 2**64 + 4),
    ],
)
def test_how_close_a_pair_is(second: int, blurs: tuple[float, float], gap: int) -> None:
    duplicates = DuplicateTest(cell=2**34)
    for value, blur in zip((1000, second), blurs, strict=True):
        duplicates.add(value, blur, 2**-80)
    # One pair, and one of two tests.
    assert duplicates.p_value() == pytest.approx(2 * gap * 2**-80, rel=1e-9, abs=0)


@pytest.mark.parametrize("increment", [2**255 - 1, -(2**255), 0])
def test_any_number_can_be_published(increment: int) -> None:
    noise = NoiseTestSuite()
    noise.add("q", 1, [Fraction(10**30, 7)], [increment])
    noise.add("q", 2**128 - 1, [Fraction(10**30, 7)], [increment])
    assert failing(noise)


# What is disclosed.


def test_p_values_are_disclosed_rounded_up_to_powers_of_ten() -> None:
    noise = simulate(steps=ENOUGH_TO_TELL)
    exact = noise.exact_p_values()
    for outcome in noise.outcomes():
        assert exact[outcome.test] <= outcome.p_value * (1 + 1e-9) < 10 * exact[outcome.test] * (1 + 1e-9)
        assert log10(outcome.p_value) == pytest.approx(round(log10(outcome.p_value)))


def test_with_few_increments_only_failures_are_disclosed() -> None:
    # With the p-value of one increment, anyone could compute the true answer, up to a sign.
    noise = NoiseTestSuite()
    (published,) = draw(rounded_gaussians, UNITS, [Fraction(3)])
    noise.add("q", UNITS, [Fraction(published + 3_141_592_653_589_793_237, PATH_UNITS)], [published])
    assert noise.exact_p_values()[NoiseTest.MEAN] < 0.01
    assert {outcome.p_value for outcome in noise.outcomes()} == {1}
    wrong = {o.test: o.p_value for o in simulate(no_noise(), precisions=[UNITS]).outcomes()}
    assert wrong[NoiseTest.FORGOTTEN] < noise_tests.FALSE_ALARM


def test_without_increments_there_are_no_outcomes() -> None:
    assert NoiseTestSuite().outcomes() == []
