"""The noise of a whole ledger, put in order in several ways: by time, by query, by path, by stretch, by size of the truth.

Honest noise is the same in each order, as long as the order does not look at it. What is rounded to 1e-18 was spread evenly
over its unit again before it comes here, so that it is a normal number up to one part in 10**9 even over one unit of precision.
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

from noiseledger.audit import tails
from noiseledger.audit.evenness import too_even
from noiseledger.audit.lags import odd_lags, odd_steps
from noiseledger.audit.neighbours import odd_neighbours
from noiseledger.audit.pairs import Pairs
from noiseledger.audit.places import odd_blocks, odd_sizes
from noiseledger.audit.ranks import odd_ranks
from noiseledger.audit.spans import odd_spans, odd_sums

_Floats: TypeAlias = npt.NDArray[np.float64]

#: Nothing honest is further out; what is, is caught elsewhere, and must not drown the rest.
_FURTHEST = 40.0
#: Lists of different lengths are compared place by place unless this much of the comparison would be empty.
_EMPTY = 16
#: So many numbers in a row are compared with any others in a row.
_PIECE = 64


@dataclass(frozen=True)
class _Reveal:
    query: int
    start: int
    end: int
    precision: int


class Normals:
    """Keeps all noise, in units of its own deviation."""

    def __init__(self) -> None:
        """Begin without noise."""
        self._values = array("d")
        self._truths = array("d")
        self._reveals: list[_Reveal] = []
        self._queries: dict[str, int] = {}

    def take(self, query: str, precision: int, truths: Sequence[float], noise: Sequence[float]) -> None:
        """Take in one increment of a query: its noise, and the size of the true answers."""
        start = len(self._values)
        self._values.extend(min(max(number, -_FURTHEST), _FURTHEST) for number in noise)
        self._truths.extend(truths)
        number = self._queries.setdefault(query, len(self._queries))
        self._reveals.append(_Reveal(number, start, len(self._values), precision))

    def large(self) -> float:
        """Return how likely so few or so many large values are, of all queries or of one."""
        return self._ends(lambda noise: odd_ranks(-np.abs(noise), tails.normal_two_sided))

    def tiny(self) -> float:
        """Return how likely so few or so many tiny values are, of all queries or of one."""
        return self._ends(lambda noise: odd_ranks(np.abs(noise), tails.normal_within))

    def uneven(self) -> float:
        """Return how likely so few or so many values at one of the two ends are, or values that are spread so evenly."""
        below = self._ends(lambda noise: odd_ranks(noise, _normal_below))
        above = self._ends(lambda noise: odd_ranks(-noise, _normal_below))
        return tails.any_of([below, above, too_even(np.array([_normal_below(number) for number in self._values]))])

    def places(self) -> float:
        """Return how likely noise is that is as odd somewhere: at a time, in a reveal, a path, or by stretch or truth."""
        noise, paths = self._noise, self._paths(self._noise)
        lengths = np.repeat([float(r.precision) for r in self._reveals], [r.end - r.start for r in self._reveals])
        orders = [
            noise,
            np.concatenate(paths),
            noise[np.argsort(lengths, kind="stable")],
            noise[np.argsort(np.frombuffer(self._truths), kind="stable")],
        ]
        lists = (self._lists(noise), paths)
        return tails.any_of(
            [*map(odd_blocks, orders), *(tails.any_of(_sizes(some)) for some in lists), _sizes_by_rank(lists[0])]
        )

    def follows(self) -> float:
        """Return how likely it is that noise follows older noise, or its size follows older sizes, at some distance."""
        return tails.any_of(chain.from_iterable(self._lags(numbers) for numbers in self._both))

    def pairs(self) -> float:
        """Return how likely it is that any two queries, paths or reveals go together as much."""
        return tails.any_of([*(pairs.p_value() for pairs in self._pairs()), odd_neighbours(self._lists(self._noise))])

    def mixed(self) -> float:
        """Return how likely it is that some sum of queries, groups or stretches has so little noise, or so much."""
        lists, paths, queries = (of(self._noise) for of in (self._lists, self._paths, self._of_queries))
        return tails.any_of([odd_sums(lists), *map(odd_spans, (lists, paths, queries))])

    @property
    def is_whole(self) -> bool:
        """Say whether all pairs were compared at all shifts; of very many lists that would take too long."""
        return all(pairs.is_whole for pairs in self._pairs())

    @property
    def _noise(self) -> _Floats:
        return np.array(self._values)

    @property
    def _both(self) -> tuple[_Floats, _Floats]:
        """The noise, and its sizes without the signs, made normal again."""
        quantile = NormalDist().inv_cdf
        sizes = [quantile(min(max(tails.normal_within(number), 1e-16), 1 - 1e-16)) for number in self._values]
        return self._noise, np.array(sizes)

    def _ends(self, test: Callable[[_Floats], float]) -> float:
        queries = self._of_queries(self._noise)
        together = test(self._noise)
        return together if len(queries) == 1 else tails.any_of([together, tails.any_of(map(test, queries))])

    def _lags(self, noise: _Floats) -> Iterator[float]:
        yield odd_lags([noise])
        yield odd_lags(self._of_queries(noise))
        yield odd_lags(self._paths(noise))
        lists = self._lists(noise)
        widths = {len(some) for some in lists}
        if len(widths) > 1 and max(widths) * len(lists) <= _EMPTY * len(noise):
            yield odd_steps(lists)

    def _pairs(self) -> Iterator[Pairs]:
        for noise, shifted in zip(self._both, (True, False), strict=True):
            for lists in (self._of_queries(noise), self._paths(noise), self._lists(noise)):
                yield Pairs(lists, shifted)
        yield Pairs(_pieces(self._noise))

    def _lists(self, noise: _Floats) -> list[_Floats]:
        return [noise[reveal.start : reveal.end] for reveal in self._reveals]

    def _of_queries(self, noise: _Floats) -> list[_Floats]:
        found = defaultdict(list)
        for reveal in self._reveals:
            found[reveal.query].append(noise[reveal.start : reveal.end])
        return [np.concatenate(lists) for lists in found.values()]

    def _paths(self, noise: _Floats) -> list[_Floats]:
        """Return the noise of each coordinate of each query, in order."""
        places: dict[tuple[int, int], list[int]] = defaultdict(list)
        for reveal in self._reveals:
            for coordinate, place in enumerate(range(reveal.start, reveal.end)):
                places[reveal.query, coordinate].append(place)
        return [noise[some] for some in places.values()]


def _pieces(noise: _Floats) -> list[_Floats]:
    """Cut all noise into pieces, as it was published: some may be those of another time again."""
    whole = len(noise) // _PIECE * _PIECE
    return list(noise[:whole].reshape(-1, _PIECE))


def _sizes(lists: Sequence[_Floats]) -> Iterator[float]:
    """Yield for each length how likely the sizes of the lists of this length are."""
    energies = defaultdict(list)
    for noise in lists:
        energies[len(noise)].append(float(noise @ noise))
    for length, some in energies.items():
        yield odd_sizes(np.array(some), length)


def _sizes_by_rank(lists: Sequence[_Floats]) -> float:
    """Return how likely it is that so many lists are weak, none of which needs to be odd alone."""
    lower, upper = [], []
    for noise in lists:
        if len(noise) > 1:
            below, above = tails.chi_square_tails(float(noise @ noise), len(noise))
            lower.append(below)
            upper.append(above)
    return tails.any_of(odd_ranks(np.array(chances), _same) for chances in (lower, upper))


def _same(chance: float) -> float:
    return chance


def _normal_below(value: float) -> float:
    return max(erfc(-value / sqrt(2)) / 2, tails.LEAST)
