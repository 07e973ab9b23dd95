"""The standardised residuals of a whole ledger, tested in several orders: by time, query, path, stretch and true value.

A residual is what a published number differs from its true value by, in units of its standard deviation: the noise. Honest
residuals are standard normal in every order that does not depend on them. Published numbers are rounded to 1e-18. The caller
has undone that with a random number, so that residuals are normal up to one part in 10**9, even for one unit of precision.
"""

from __future__ import annotations

from array import array
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from math import erfc, sqrt
from statistics import NormalDist
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from noiseledger.auditing import p_values
from noiseledger.auditing.autocorrelation import autocorrelation_test, ragged_autocorrelation_test
from noiseledger.auditing.cross_correlation import CrossCorrelationTest
from noiseledger.auditing.linear_dependence import linear_dependence_test, list_sum_test
from noiseledger.auditing.local_variance import block_test, extreme_sizes_test
from noiseledger.auditing.nearest_neighbours import nearest_neighbour_test
from noiseledger.auditing.order_statistics import order_statistics_test
from noiseledger.auditing.underdispersion import underdispersion_test

_Floats: TypeAlias = npt.NDArray[np.float64]

#: No honest residual is larger. Another test catches larger ones; they are cut here so as not to hide everything else.
_FURTHEST = 40.0
#: Rows of different lengths are padded and compared column by column, unless that takes this many times the space.
_MOST_PADDING = 16
#: The number of consecutive residuals that are compared with any other consecutive ones.
_PIECE = 64


@dataclass(frozen=True)
class _Reveal:
    query: int
    start: int
    end: int
    precision: int


class Residuals:
    """Keeps all residuals of a ledger. Each public method is a test, and returns its p-value."""

    def __init__(self) -> None:
        """Start without residuals."""
        self._values = array("d")
        self._truths = array("d")
        self._reveals: list[_Reveal] = []
        self._queries: dict[str, int] = {}

    def add(self, query: str, precision: int, truths: Sequence[float], noise: Sequence[float]) -> None:
        """Add one reveal of a query: its residuals, and the sizes of the true answers."""
        start = len(self._values)
        self._values.extend(min(max(number, -_FURTHEST), _FURTHEST) for number in noise)
        self._truths.extend(truths)
        number = self._queries.setdefault(query, len(self._queries))
        self._reveals.append(_Reveal(number, start, len(self._values), precision))

    def large_values(self) -> float:
        """Test for too few or too many large residuals, in all queries together or in one."""
        return self._all_and_each_query(lambda noise: order_statistics_test(-np.abs(noise), p_values.normal_two_sided))

    def tiny_values(self) -> float:
        """Test for too few or too many tiny residuals, in all queries together or in one."""
        return self._all_and_each_query(lambda noise: order_statistics_test(np.abs(noise), p_values.normal_within))

    def shape(self) -> float:
        """Test for too few or too many residuals in one tail, and for residuals that are spread too evenly."""
        below = self._all_and_each_query(lambda noise: order_statistics_test(noise, _normal_below))
        above = self._all_and_each_query(lambda noise: order_statistics_test(-noise, _normal_below))
        return p_values.bonferroni(
            [below, above, underdispersion_test(np.array([_normal_below(number) for number in self._values]))]
        )

    def local_variance(self) -> float:
        """Test for the wrong variance or a bias at some time, in a reveal or path, or at some stretch or true value."""
        noise, paths = self._noise, self._by_path(self._noise)
        lengths = np.repeat([float(r.precision) for r in self._reveals], [r.end - r.start for r in self._reveals])
        orders = [
            noise,
            np.concatenate(paths),
            noise[np.argsort(lengths, kind="stable")],
            noise[np.argsort(np.frombuffer(self._truths), kind="stable")],
        ]
        lists = (self._by_reveal(noise), paths)
        return p_values.bonferroni(
            [*map(block_test, orders), *(p_values.bonferroni(_sizes(some)) for some in lists), _sizes_by_rank(lists[0])]
        )

    def autocorrelation(self) -> float:
        """Test whether residuals depend on older ones, or their sizes on older sizes, at any lag."""
        return p_values.bonferroni(
            chain.from_iterable(self._autocorrelations(numbers) for numbers in self._values_and_sizes)
        )

    def cross_correlation(self) -> float:
        """Test whether the residuals of any two queries, paths or reveals are correlated."""
        correlations = [test.p_value() for test in self._cross_correlations()]
        return p_values.bonferroni([*correlations, nearest_neighbour_test(self._by_reveal(self._noise))])

    def linear_dependence(self) -> float:
        """Test whether some sum of queries, groups or stretches has too little or too much noise."""
        reveals, paths, queries = (by(self._noise) for by in (self._by_reveal, self._by_path, self._by_query))
        return p_values.bonferroni([list_sum_test(reveals), *map(linear_dependence_test, (reveals, paths, queries))])

    @property
    def is_complete(self) -> bool:
        """Say whether all pairs were compared at all shifts; for very many lists that would take too long."""
        return all(test.is_complete for test in self._cross_correlations())

    @property
    def _noise(self) -> _Floats:
        return np.array(self._values)

    @property
    def _values_and_sizes(self) -> tuple[_Floats, _Floats]:
        """The residuals, and their absolute values, transformed to be normal."""
        quantile = NormalDist().inv_cdf
        sizes = [quantile(min(max(p_values.normal_within(number), 1e-16), 1 - 1e-16)) for number in self._values]
        return self._noise, np.array(sizes)

    def _all_and_each_query(self, test: Callable[[_Floats], float]) -> float:
        queries = self._by_query(self._noise)
        together = test(self._noise)
        return (
            together if len(queries) == 1 else p_values.bonferroni([together, p_values.bonferroni(map(test, queries))])
        )

    def _autocorrelations(self, noise: _Floats) -> Iterator[float]:
        yield autocorrelation_test([noise])
        yield autocorrelation_test(self._by_query(noise))
        yield autocorrelation_test(self._by_path(noise))
        reveals = self._by_reveal(noise)
        widths = {len(some) for some in reveals}
        if len(widths) > 1 and max(widths) * len(reveals) <= _MOST_PADDING * len(noise):
            yield ragged_autocorrelation_test(reveals)

    def _cross_correlations(self) -> Iterator[CrossCorrelationTest]:
        for noise, shifted in zip(self._values_and_sizes, (True, False), strict=True):
            for lists in (self._by_query(noise), self._by_path(noise), self._by_reveal(noise)):
                yield CrossCorrelationTest(lists, shifted)
        yield CrossCorrelationTest(_pieces(self._noise))

    def _by_reveal(self, noise: _Floats) -> list[_Floats]:
        return [noise[reveal.start : reveal.end] for reveal in self._reveals]

    def _by_query(self, noise: _Floats) -> list[_Floats]:
        found = defaultdict(list)
        for reveal in self._reveals:
            found[reveal.query].append(noise[reveal.start : reveal.end])
        return [np.concatenate(lists) for lists in found.values()]

    def _by_path(self, noise: _Floats) -> list[_Floats]:
        """Return the residuals of each coordinate of each query, in order."""
        positions: dict[tuple[int, int], list[int]] = defaultdict(list)
        for reveal in self._reveals:
            for coordinate, position in enumerate(range(reveal.start, reveal.end)):
                positions[reveal.query, coordinate].append(position)
        return [noise[some] for some in positions.values()]


def _pieces(noise: _Floats) -> list[_Floats]:
    """Divide all residuals into pieces, in the order of publication: some may repeat earlier ones."""
    whole = len(noise) // _PIECE * _PIECE
    return list(noise[:whole].reshape(-1, _PIECE))


def _sizes(lists: Sequence[_Floats]) -> Iterator[float]:
    """Yield, for each length, the p-value of the sums of squares of the lists of this length."""
    energies = defaultdict(list)
    for noise in lists:
        energies[len(noise)].append(float(noise @ noise))
    for length, some in energies.items():
        yield extreme_sizes_test(np.array(some), length)


def _sizes_by_rank(lists: Sequence[_Floats]) -> float:
    """Return the p-value of the number of weak or strong lists, none of which needs to stand out alone."""
    lower, upper = [], []
    for noise in lists:
        if len(noise) > 1:
            below, above = p_values.chi_square_tails(float(noise @ noise), len(noise))
            lower.append(below)
            upper.append(above)
    return p_values.bonferroni(order_statistics_test(np.array(chances), _uniform_below) for chances in (lower, upper))


def _uniform_below(value: float) -> float:
    return value


def _normal_below(value: float) -> float:
    return max(erfc(-value / sqrt(2)) / 2, p_values.SMALLEST)
