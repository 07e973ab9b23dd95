"""What analysts can get out of several answers to one query by combining them."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from scipy import stats

from calibrated import FALSE_ALARM

#: Errors of answers: one row an answer, one column a run.
Errors = npt.NDArray[np.float64]

#: With so many runs and up to ten answers, a gain of 2% in deviation goes unseen less than once in a million times.
RUNS_TO_SEE_A_GAIN = 5000


def best_combination(errors: Errors) -> float:
    """Return the deviation of the best unbiased linear combination of the answers."""
    inverse = np.linalg.inv(np.cov(errors))
    return float(1 / np.sqrt(inverse.sum()))


def check_no_gain(best: npt.NDArray[np.float64], others: Errors) -> None:
    """Check that no unbiased combination with the other answers is more accurate than the best answer alone.

    A combination is the best answer plus a weighted sum of differences from it, in which the truth cancels; that helps
    if and only if the differences predict the error of the best answer. This is the F-test of that regression.
    """
    runs = len(best)
    assert runs >= RUNS_TO_SEE_A_GAIN, f"{runs} runs are too few to see a gain of 2%"
    differences = others - best
    design = np.vstack([np.ones(runs), differences]).T
    weights, _, rank, _ = np.linalg.lstsq(design, best)
    unexplained = np.sum((best - design @ weights) ** 2)
    explained = np.sum((best - best.mean()) ** 2) - unexplained
    free = rank - 1
    if free:  # answers that repeat the best one make no difference at all
        assert stats.f.sf(explained / free / (unexplained / (runs - rank)), free, runs - rank) > FALSE_ALARM
