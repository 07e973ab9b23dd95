"""An error bar with sampling error contains the value in the population as often as it says, or more often."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pytest

from calibrated import check_deviation, check_probability
from noiseledger.core.accuracy import quantile
from noiseledger.core.query import Query
from noiseledger.core.sampling import half_width
from noiseledger.core.sensitivity import Population

ROWS = 2000
PEOPLE = Population.replace(ROWS)
SHARE = Query.share("age > 60")
HOURS = Query.mean("hours", lower=0, upper=80)

Numbers = npt.NDArray[np.float64]


def published(data_values: Numbers, deviation: float) -> Numbers:
    """Add the noise for privacy to the values in many samples."""
    return data_values + np.random.default_rng().normal(0, deviation, len(data_values))


def widths(query: Query, values: Numbers, deviation: float) -> Numbers:
    return np.array([half_width(query, PEOPLE, value, deviation) for value in values.tolist()])


def shares(share: float, samples: int) -> Numbers:
    """Return the share in each of many samples from a large population."""
    return np.random.default_rng().binomial(ROWS, share, samples) / ROWS


def test_the_interval_of_a_share_is_as_wide_as_noise_and_sample_need() -> None:
    # Neither the noise nor the sampling error alone is the whole: they have a deviation of 0.008 and 0.011.
    values = published(shares(0.5, 50_000), 0.008)
    bars = widths(SHARE, values, 0.008)
    check_deviation((values - 0.5) / (bars / quantile(0.95)), 1)
    check_probability(int((np.abs(values - 0.5) <= bars).sum()), len(values), 0.95)


@pytest.mark.parametrize("share", [0.0005, 0.02])
def test_a_rare_share_is_covered_at_least_as_often(share: float) -> None:
    values = published(shares(share, 4000), 0.003)
    held = np.abs(values - share) <= widths(SHARE, values, 0.003)
    assert (
        held.mean() > 0.945
    )  # where the usual interval of 95% holds in 63% and 94.5% of the samples, without the noise


def test_the_mean_of_any_column_is_covered_at_least_as_often() -> None:
    # Uniform hours vary less than a column of the same mean can: the interval is computed for the worst of them.
    hours = np.random.default_rng().uniform(0, 80, (1000, ROWS)).mean(axis=1)
    values = published(hours, 0.5)
    bars = widths(HOURS, values, 0.5)
    assert (np.abs(values - 40) <= bars).mean() > 0.98


def test_without_the_sampling_error_an_interval_would_hold_too_rarely() -> None:
    values = published(shares(0.5, 4000), 0.003)
    assert (np.abs(values - 0.5) <= quantile(0.95) * 0.003).mean() < 0.6
