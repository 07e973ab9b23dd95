"""Attack: guess the data from the last bits of the published numbers (Mironov 2012).

Floating-point numbers lie closer together near 0 than near 1, so "truth + noise" in floating point cannot reach some
numbers from a truth of 1 that it reaches from a truth of 0: one such number, and the truth is known for certain.

The defence: noise is the rounding of a real Gaussian around the truth, on a fixed grid, without floating point; the
answer in natural units is computed from that published integer alone.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Sequence
from contextlib import closing
from dataclasses import dataclass
from fractions import Fraction
from math import exp, sqrt
from pathlib import Path

import pytest
from scipy import stats

from calibrated import FALSE_ALARM, check_same_law
from noiseledger import Case, LocalLedger, Population, Query, Table, delta_for
from noiseledger.core.filters.condition import Kind
from noiseledger.core.noise import rounded_gaussians
from noiseledger.core.path import PATH_UNITS

RUNS = 30_000
#: Each cell of one histogram, empty or with one record in it, is one run of the attack on neighbouring datasets.
QUERY = Query.counts_by("cell", range(RUNS))
KINDS: dict[str, Kind] = {"cell": "number"}
TABLES = (Table([], KINDS), Table([{"cell": cell} for cell in range(RUNS)], KINDS))
#: In this order they are the cases 1, 2B and 2C: each way that a number can come about.
PRECISIONS = {Case.NEW: Fraction(1, 4), Case.EXTEND: Fraction(1), Case.BRIDGE: Fraction(1, 2)}


@dataclass(frozen=True)
class Published:
    """What the world sees of a truth of 0, or of 1, in every run."""

    points: Sequence[int]
    values: Sequence[float]


def publish(file: Path, table: Table) -> dict[Case, Published]:
    population = Population.add_remove()
    made = LocalLedger.create(file, epsilon=8, delta=1e-4, population=population, queries=[QUERY], source=table)
    with closing(made) as ledger:
        answers = [ledger.ask(QUERY, exact_noise=True, precision=precision) for precision in PRECISIONS.values()]
    return {answer.case: Published(answer.reveal.point, answer.values) for answer in answers}


@pytest.fixture(scope="module")
def ours(tmp_path_factory: pytest.TempPathFactory) -> list[dict[Case, Published]]:
    folder = tmp_path_factory.mktemp("ledgers")
    return [publish(folder / str(truth), table) for truth, table in enumerate(TABLES)]


def float_noise(truth: int, precision: Fraction) -> list[float]:
    """Weakened: noise is drawn and added in floating point."""
    generator = random.Random(truth)
    return [generator.gauss(truth, 1 / sqrt(precision)) for _ in range(RUNS)]


def coarse_noise(truth: int, precision: Fraction) -> list[int]:
    """Weakened: the noise is whole, but on a grid coarser than the one that the truth lies on."""
    noise = rounded_gaussians([0] * RUNS, precision * PATH_UNITS**2 / 4**20)
    return [int(precision * truth * PATH_UNITS) + (number << 20) for number in noise]


def out_of_reach_from_1(value: float) -> bool:
    """Say whether no floating-point number added to 1 gives this one: below 1/2, it has a bit too many."""
    return abs(value) < 0.5 and not (value * 2.0**53).is_integer()


def promise_broken(seen: tuple[int, int], precision: Fraction) -> bool:
    """Say whether an event seen so often under either truth contradicts (epsilon, delta), at some epsilon."""
    pairs = (seen, seen[::-1], tuple(RUNS - hits for hits in seen), tuple(RUNS - hits for hits in seen[::-1]))
    return any(
        _least(one) > exp(epsilon) * _most(other) + delta_for(precision, epsilon)
        for one, other in pairs
        for epsilon in (Fraction(1, 10), 1, 2, 4)
    )


def _least(hits: int) -> float:
    return float(stats.binomtest(hits, RUNS).proportion_ci(1 - FALSE_ALARM).low)


def _most(hits: int) -> float:
    return float(stats.binomtest(hits, RUNS).proportion_ci(1 - FALSE_ALARM).high)


def count(event: Callable[[float], bool], worlds: Iterable[Sequence[float]]) -> tuple[int, int]:
    empty, full = (sum(map(event, values)) for values in worlds)
    return empty, full


def last_bits_of_floats(values: Sequence[float]) -> list[int]:
    """Return the last four bits of the mantissas between 1/4 and 1/2, where truths of 0 and 1 differ in reach."""
    return [int(abs(value) * 2**54) % 16 for value in values if 0.25 <= abs(value) < 0.5]


def last_bits_of_points(points: Sequence[int]) -> list[int]:
    return [point % 64 for point in points]


def middle_bits_of_points(points: Sequence[int]) -> list[int]:
    """Return bits 14 to 19: the last ones in which the means for truths of 0 and 1, multiples of 5^18 2^16, differ."""
    return [(point >> 14) % 64 for point in points]


@pytest.mark.parametrize("case", PRECISIONS)
def test_an_answer_out_of_reach_tells_no_more_than_was_promised(ours: list[dict[Case, Published]], case: Case) -> None:
    seen = count(out_of_reach_from_1, (world[case].values for world in ours))
    assert min(seen) > 0, "on our grid the same numbers are in reach of both truths"
    assert not promise_broken(seen, PRECISIONS[case])


@pytest.mark.parametrize("precision", PRECISIONS.values())
def test_with_floating_point_noise_it_breaks_the_promise(precision: Fraction) -> None:
    seen = count(out_of_reach_from_1, (float_noise(truth, precision) for truth in (0, 1)))
    assert seen[0] > RUNS // 20
    assert seen[1] == 0, "so whoever sees such a number knows that the truth is 0"
    assert promise_broken(seen, precision)


@pytest.mark.parametrize("case", PRECISIONS)
def test_the_last_bits_of_answers_have_one_law(ours: list[dict[Case, Published]], case: Case) -> None:
    empty, full = (last_bits_of_floats(world[case].values) for world in ours)
    check_same_law(empty, full)


@pytest.mark.parametrize("precision", PRECISIONS.values())
def test_the_last_bits_of_floating_point_noise_do_not(precision: Fraction) -> None:
    empty, full = (last_bits_of_floats(float_noise(truth, precision)) for truth in (0, 1))
    with pytest.raises(AssertionError):
        check_same_law(empty, full)


@pytest.mark.parametrize("bits", [last_bits_of_points, middle_bits_of_points])
@pytest.mark.parametrize("case", PRECISIONS)
def test_the_last_bits_of_published_integers_have_one_law(
    ours: list[dict[Case, Published]], case: Case, bits: Callable[[Sequence[int]], list[int]]
) -> None:
    empty, full = (bits(world[case].points) for world in ours)
    assert set(empty) == set(full) == set(range(64)), "everything is in reach of both truths"
    check_same_law(empty, full)


def test_the_last_bits_of_noise_on_a_coarse_grid_do_not() -> None:
    empty, full = (middle_bits_of_points(coarse_noise(truth, Fraction(1))) for truth in (0, 1))
    assert set(empty).isdisjoint(full)
    with pytest.raises(AssertionError):
        check_same_law(empty, full)


def test_a_truth_between_two_points_of_the_grid_reaches_the_same_integers() -> None:
    """The fraction of a truth is rounded away together with the noise, never published."""
    on, between = (set(rounded_gaussians([mean] * RUNS, 4)) for mean in (Fraction(0), Fraction(1, 3)))
    likely = set(range(-5, 6))
    assert likely <= on
    assert likely <= between
