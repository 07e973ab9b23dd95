"""The tests of all noise together: their laws are those of scipy, and honest noise in any order passes at the stated rate.

Each statistical check here has a false-alarm rate of 1e-9, see calibrated.py.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt
import pytest
from scipy import stats

from calibrated import FALSE_ALARM
from noiseledger.audit import pairs, tails
from noiseledger.audit.evenness import too_even
from noiseledger.audit.lags import odd_lags, odd_steps
from noiseledger.audit.neighbours import odd_neighbours
from noiseledger.audit.normals import Normals
from noiseledger.audit.pairs import Pairs
from noiseledger.audit.places import odd_blocks
from noiseledger.audit.ranks import odd_ranks
from noiseledger.audit.spans import odd_spans, odd_sums

Floats = npt.NDArray[np.float64]


def ledger(queries: int, groups: int, reveals: int, dice: np.random.Generator) -> Normals:
    noise = Normals()
    for _ in range(reveals):
        for query in range(queries):
            stretch = int(dice.integers(1, 100))
            noise.take(f"q{query}", stretch, dice.random(groups).tolist(), dice.standard_normal(groups).tolist())
    return noise


TESTS: dict[str, Callable[[Normals], float]] = {
    "large": Normals.large,
    "tiny": Normals.tiny,
    "uneven": Normals.uneven,
    "places": Normals.places,
    "follows": Normals.follows,
    "pairs": Normals.pairs,
    "mixed": Normals.mixed,
}


@pytest.mark.parametrize(
    ("shape", "lives"), [((3, 2, 4), 400), ((2, 20, 3), 200), ((5, 4, 20), 100), ((1, 1, 200), 100)]
)
def test_p_values_of_honest_ledgers_are_not_too_small(shape: tuple[int, int, int], lives: int) -> None:
    dice = np.random.default_rng()
    found = [[test(noise) for test in TESTS.values()] for noise in (ledger(*shape, dice) for _ in range(lives))]
    for name, p_values in zip(TESTS, zip(*found, strict=True), strict=True):
        for level in (0.3, 0.1, 0.01):
            below = sum(p_value <= level for p_value in p_values)
            assert stats.binomtest(below, lives, level, alternative="greater").pvalue > FALSE_ALARM, name


def test_the_law_of_a_cosine_is_bounded_and_closely() -> None:
    for length in (6, 20, 300):
        for level in (1e-3, 1e-9, 1e-15):
            cosine = float(stats.beta.isf(level, 0.5, (length - 1) / 2))
            bound = float(np.exp(pairs._log_chance(cosine, length)))
            assert level * (1 - 1e-6) <= bound <= 1.5 * level


def test_ranks_have_the_law_of_order_statistics() -> None:
    dice = np.random.default_rng()
    p_values = [odd_ranks(dice.random(50), lambda chance: chance) for _ in range(1000)]
    below = sum(p_value <= 0.1 for p_value in p_values)
    assert stats.binomtest(below, 1000, 0.1, alternative="greater").pvalue > FALSE_ALARM
    assert stats.binomtest(below, 1000, 0.03, alternative="less").pvalue > FALSE_ALARM  # not far too large either
    # Nothing beyond three deviations among ten thousand numbers: 27 are expected.
    cut = np.linspace(0, 1, 10_001)[1:] * tails.normal_within(3)
    assert odd_ranks(1 - cut, lambda chance: chance) < 1e-9


@pytest.mark.parametrize("lag", [1, 2, 7, 100, 777])
@pytest.mark.parametrize("rho", [0.8, -0.8])
def test_noise_that_follows_older_noise_is_seen_at_any_distance(lag: int, rho: float) -> None:
    noise = np.random.default_rng(lag).standard_normal(1200)
    assert odd_lags([noise]) > 1e-6
    for place in range(lag, len(noise)):
        noise[place] = rho * noise[place - lag] + 0.6 * noise[place]
    assert odd_lags([noise]) < 1e-8


def test_distances_are_added_up_over_lists_that_are_short() -> None:
    dice = np.random.default_rng(3)
    lists = [dice.standard_normal(8) for _ in range(100)]
    assert odd_lags(lists) > 1e-6
    for noise in lists:
        noise[5:] = -0.9 * noise[:3] + 0.43 * noise[5:]
    assert odd_lags(lists) < 1e-8


def test_rows_of_different_lengths_are_compared_place_by_place() -> None:
    dice = np.random.default_rng(4)
    rows = [dice.standard_normal(3 + number % 5) for number in range(300)]
    assert odd_steps(rows) > 1e-6
    for number in range(13, len(rows)):
        before, size = rows[number - 13], min(len(rows[number]), len(rows[number - 13]))
        rows[number][:size] = 0.8 * before[:size] + 0.6 * rows[number][:size]
    assert odd_steps(rows) < 1e-8


@pytest.mark.parametrize("shift", [0, 5, -11])
@pytest.mark.parametrize("sign", [1, -1])
def test_two_of_many_lists_that_go_together_are_seen_at_any_shift(shift: int, sign: int) -> None:
    lists = list(np.random.default_rng(5).standard_normal((40, 40)))
    assert Pairs(lists).p_value() > 1e-6
    lists[31] = sign * np.roll(lists[8], shift) * 0.995 + 0.1 * lists[31]
    assert Pairs(lists).p_value() < 1e-8


def test_lists_of_many_lengths_are_compared_as_far_as_both_go() -> None:
    dice = np.random.default_rng(6)
    lists = [dice.standard_normal(50 + number) for number in range(60)]
    assert Pairs(lists).p_value() > 1e-6
    lists[50][:50] = -lists[3][:50] + 0.1 * lists[50][:50]
    assert Pairs(lists).p_value() < 1e-8


def test_too_many_pairs_are_compared_as_they_are_and_that_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pairs, "_SHIFTED", 1000)
    lists = list(np.random.default_rng(7).standard_normal((30, 40)))
    lists[20] = -lists[4] + 0.1 * lists[20]
    few = Pairs(lists)
    assert not few.is_whole
    assert few.p_value() < 1e-8
    assert Pairs(lists[:1]).is_whole


def test_a_mixture_of_lists_is_seen_which_no_pair_shows() -> None:
    dice = np.random.default_rng(8)
    lists = list(dice.standard_normal((6, 40)))
    assert odd_spans(lists) > 1e-6
    lists[5] = sum((noise for noise in lists[:5]), np.zeros(40)) / np.sqrt(5) * 0.995 + 0.1 * lists[5]
    assert odd_spans(lists) < 1e-8


def test_sums_without_noise_are_seen_for_any_number_of_groups() -> None:
    rows = list(np.random.default_rng(9).standard_normal((30, 7)))
    assert odd_sums(rows) > 1e-6
    assert odd_sums([row - 0.9 * row.mean() for row in rows]) < 1e-8


@pytest.mark.parametrize("start", [0, 300, 901])
def test_a_weak_time_is_seen_wherever_it_is(start: int) -> None:
    noise = np.random.default_rng(10).standard_normal(1000)
    assert odd_blocks(noise) > 1e-6
    noise[start : start + 60] *= 0.1
    assert odd_blocks(noise) < 1e-8


def test_near_copies_of_any_earlier_vector_are_seen() -> None:
    dice = np.random.default_rng(11)
    vectors = list(dice.standard_normal((200, 4)))
    assert odd_neighbours(vectors) > 1e-6
    for number in range(50, 200, 2):
        vectors[number] = dice.choice([-1, 1]) * vectors[int(dice.integers(number))] * 0.995 + 0.1 * vectors[number]
    assert odd_neighbours(vectors) < 1e-8


def test_numbers_that_were_dealt_are_seen_and_drawn_ones_pass() -> None:
    dice = np.random.default_rng(12)
    assert too_even(dice.random(5000)) > 1e-6
    assert too_even((np.arange(5000) + dice.random(5000)) / 5000) < 1e-8
    assert too_even(dice.random(10)) == 1
