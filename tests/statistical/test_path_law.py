"""Joint laws of answers: each has the deviation asked for, and together they tell no more than the best one."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import numpy.typing as npt
import pytest

from calibrated import check_deviation
from noiseledger.core.path import QueryPath

RUNS = 50_000  #: the fewest that calibrated.check_deviation accepts are 46,700
TRUTH = Fraction(1000)


def simulate(sigmas: list[str]) -> npt.NDArray[np.float64]:
    """Return the errors of the answers to these requests, one row a request, one column a run.

    The coordinates of a vector have independent noise, so one path of many coordinates is as good as many paths.
    """
    path = QueryPath(RUNS)
    truth = [TRUTH] * RUNS
    answers = [path.reveal(1 / Fraction(sigma) ** 2, lambda: truth).answer for sigma in sigmas]
    return np.array([[float(value - TRUTH) for value in answer] for answer in answers])


def best_combination(errors: npt.NDArray[np.float64]) -> float:
    """Return the deviation of the best unbiased linear combination of the answers."""
    inverse = np.linalg.inv(np.cov(errors))
    return float(1 / np.sqrt(inverse.sum()))


@pytest.fixture(scope="module")
def paper_type_2() -> npt.NDArray[np.float64]:
    return simulate(["3", "2", "2.5", "1.5", "1"])


def test_each_answer_has_the_deviation_asked_for(paper_type_2: npt.NDArray[np.float64]) -> None:
    for errors, sigma in zip(paper_type_2, (3, 2, 2.5, 1.5, 1), strict=True):
        check_deviation(errors, sigma)


def test_each_answer_is_unbiased(paper_type_2: npt.NDArray[np.float64]) -> None:
    for errors, sigma in zip(paper_type_2, (3, 2, 2.5, 1.5, 1), strict=True):
        assert abs(errors.mean()) < 6.2 * sigma / np.sqrt(RUNS)


def test_all_answers_together_are_no_better_than_the_best(paper_type_2: npt.NDArray[np.float64]) -> None:
    assert best_combination(paper_type_2) > 0.98


def test_the_covariances_are_those_of_one_path(paper_type_2: npt.NDArray[np.float64]) -> None:
    """Cov(S(p)/p, S(q)/q) = min(p, q)/(p q) = 1/max(p, q): the smaller of the two variances."""
    variances = np.array([3.0, 2.0, 2.5, 1.5, 1.0]) ** 2
    expected = np.minimum.outer(variances, variances)
    spread = np.sqrt((np.outer(variances, variances) + expected**2) / RUNS)
    assert np.all(np.abs(np.cov(paper_type_2) - expected) < 6.2 * spread)


@pytest.mark.parametrize("order", [["1", "2", "2.5"], ["1", "2.5", "2"], ["2.5", "1", "2"], ["2", "2.5", "1"]])
def test_the_order_of_requests_does_not_matter(order: list[str]) -> None:
    errors = simulate(order)
    for row, sigma in zip(errors, order, strict=True):
        check_deviation(row, float(sigma))
    assert best_combination(errors) > 0.98
