"""Statistical checks with one fixed, tiny false-alarm rate.

With fewer than a thousand such checks in the suite, a false alarm is expected once in a million runs.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
from scipy import stats

FALSE_ALARM = 1e-9


def check_normal_roundings(samples: Sequence[int], mean: float, deviation: float) -> None:
    """Check by chi-square that integers are roundings of Normal(mean, deviation^2), tails included."""
    # 100 likely cells, and the tails cut at 3, 3.5, 4 and 4.5 deviations; on a coarse grid, edges that meet are merged.
    likely = stats.norm.ppf(np.linspace(0, 1, 101)[1:-1])
    edges = np.concatenate([[-4.5, -4, -3.5, -3], likely, [3, 3.5, 4, 4.5]])
    half_integers = np.unique(np.floor(mean + deviation * np.sort(edges)) + 0.5)
    cuts = np.concatenate([[-np.inf], half_integers, [np.inf]])
    probabilities = np.diff(stats.norm.cdf((cuts - mean) / deviation))
    upper = stats.norm.sf((cuts - mean) / deviation)
    probabilities = np.where(cuts[:-1] > mean, -np.diff(upper), probabilities)
    observed = np.bincount(np.searchsorted(half_integers, samples), minlength=len(probabilities))
    _check_counts(observed, probabilities * len(samples))


def check_same_law(first: Sequence[int], second: Sequence[int], cells: int = 60) -> None:
    """Check by chi-square that two samples of integers come from one law."""
    pooled = np.concatenate([first, second])
    cuts = np.unique(np.floor(np.quantile(pooled, np.linspace(0, 1, cells + 1)[1:-1]))) + 0.5
    table = [np.bincount(np.searchsorted(cuts, s), minlength=len(cuts) + 1) for s in (first, second)]
    filled = np.array(table)[:, np.sum(table, axis=0) > 0]
    assert stats.chi2_contingency(filled).pvalue > FALSE_ALARM


def check_probability(successes: int, trials: int, probability: float) -> None:
    """Check a success rate by the exact binomial test."""
    assert stats.binomtest(successes, trials, probability).pvalue > FALSE_ALARM


def check_deviation(samples: npt.ArrayLike, deviation: float) -> None:
    """Check a deviation to 2%; refuses a sample too small to do so at the false-alarm rate."""
    values = np.asarray(samples, dtype=float)
    noise = stats.norm.isf(FALSE_ALARM / 2) / np.sqrt(2 * len(values))
    assert noise < 0.02, f"{len(values)} samples are too few to see an error of 2%"
    assert abs(values.std() / deviation - 1) < 0.02


def _check_counts(observed: npt.NDArray[np.int_], expected: npt.NDArray[np.float64]) -> None:
    # Cells with few expected counts are pooled with their outer neighbours' rest, so that chi-square is valid.
    rare = expected < 10
    tail_observed, tail_expected = observed[rare].sum(), expected[rare].sum()
    assert stats.poisson.sf(tail_observed - 1, tail_expected) > FALSE_ALARM
    common = (observed[~rare] - expected[~rare]) ** 2 / expected[~rare]
    assert stats.chi2.sf(common.sum(), df=max(len(common) - 1, 1)) > FALSE_ALARM
