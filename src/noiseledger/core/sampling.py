"""Error bars that include sampling error: how far the answer may lie from the value in the population that was sampled.

The noise added for privacy separates an answer from the value in the data. If the data is a simple random sample, the value in
the data differs from the value in the population as well. Each record contributes a number between two public bounds, so the
variance of a mean of ``n`` records is at most ``(upper - m) * (m - lower) / n``, where ``m`` is the mean in the population; for
a share or a count this is the exact variance, for a mean or a sum it is the worst case (Bhatia and Davis).

The interval contains every ``m`` that lies within ``z`` standard deviations of the answer, where the variance is that of the
noise plus that of a sample from a population of mean ``m`` (a score interval, which for no noise is Wilson's). It assumes a
simple random sample and that the error is approximately normal; the finite population correction is ignored.

Why the promise holds: the interval is computed from the published answer, the public number of rows and the public bounds
alone. Nothing is read from the data.
"""

from __future__ import annotations

from math import sqrt
from typing import assert_never

from noiseledger.core.accuracy import quantile
from noiseledger.core.numbers import Number
from noiseledger.core.query import Measure, Query
from noiseledger.core.sensitivity import Population
from noiseledger.errors import InvalidInput

PRIVATE_ROWS = (
    "The sampling error cannot be computed: it depends on the number of rows, which is private on this ledger "
    "(neighbours: add-remove)."
)

#: What an error bar with sampling error contains, and what it assumes.
SAMPLING = (
    "noise added for privacy and the error of a simple random sample, at most; not for weighted or clustered samples"
)


def check_public_rows(population: Population | None) -> int:
    """Return the number of rows; refuse if it is private."""
    if population is None or population.rows is None:
        raise InvalidInput(PRIVATE_ROWS)
    return population.rows


def half_width(
    query: Query, population: Population | None, value: float, deviation: float, confidence: Number = 0.95
) -> float:
    """Return the half-width of an interval around a published value that includes noise and sampling error.

    >>> share = Query.share("age > 60")
    >>> round(half_width(share, Population.replace(1000), 0.5, deviation=0.0001), 4)
    0.0309

    Raises:
        InvalidInput: the number of rows is private.
    """
    rows = check_public_rows(population)
    low, high = _contribution(query)
    # In units in which a record contributes between 0 and 1 and the answer is a mean.
    scale = (high - low) * (1 if query.measure.divides else rows)
    start = low * (1 if query.measure.divides else rows)
    mean, noise, z = (value - start) / scale, deviation / scale, quantile(confidence)
    # An answer outside the bounds is first moved to the nearest bound, which no possible mean is farther from.
    inside = min(max(mean, 0.0), 1.0)
    c = z * z / rows
    middle = (2 * inside + c) / (2 * (1 + c))
    radius = sqrt(c * c + 4 * c * inside * (1 - inside) + 4 * (1 + c) * (z * noise) ** 2) / (2 * (1 + c))
    return scale * max(middle + radius - mean, mean - middle + radius, z * noise)


def _contribution(query: Query) -> tuple[float, float]:
    """Return the least and the largest number that one record can contribute."""
    match query.measure:
        case Measure.COUNT | Measure.SHARE:
            return 0.0, 1.0
        case Measure.SUM | Measure.MEAN:
            lower, upper = float(query.summed.lower), float(query.summed.upper)
        case _:
            assert_never(query.measure)
    if query.measure is Measure.SUM and (query.where or query.groups):
        return min(lower, 0.0), max(upper, 0.0)  # a record that does not match contributes 0
    return lower, upper
