"""The workloads of the experiment: requests for counts that overlap, under add-remove, with the variance that each wants.

The precision of a request is measured in that of one answer with the workload's unit error, and a question is a list of rows
over cells, each of which adds up some cells. Nothing here needs records: what a request costs depends on definitions only.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations, product
from math import prod

import numpy as np

from noiseledger.core.combination.linear import Row

#: The table of the published cache (Turbo, SOSP 2023): attributes with 2, 2, 4 and 8 values.
SIZES = (2, 2, 4, 8)
#: The numeric columns of the ranges: their popularity, and their number of values.
POPULARITY = (8, 4, 2, 1)
DOMAIN = 100
#: The columns of the tables, and their number of values.
COLUMNS = (2, 3, 4, 5, 6)


@dataclass(frozen=True)
class Question:
    """A count, or counts by group. Questions about different ``part`` have no cell in common."""

    part: int
    rows: tuple[tuple[int, ...], ...]

    @cached_property
    def row(self) -> tuple[Row, ...]:
        """The rows, for the estimate."""
        return tuple(map(Row.total, self.rows))

    @cached_property
    def reached(self) -> tuple[int, ...]:
        """The cells that the question counts."""
        return tuple(sorted({cell for row in self.rows for cell in row}))


@dataclass(frozen=True)
class Request:
    """A question, and the precision that an answer to it alone would need."""

    question: Question
    precision: float


@dataclass(frozen=True)
class Workload:
    """Requests, and the number of cells of each part.

    ``zones`` has the zone of each cell of the first part; queries about other parts reach all zones.
    """

    name: str
    cells: tuple[int, ...]
    zones: tuple[int, ...]
    requests: Sequence[Request]


def cells_128(name: str, requests: int, seed: int, exponent: float) -> Workload:
    """Ask for counts with one non-empty set of values for each attribute; their popularity is uniform, or Zipf's."""
    random = np.random.default_rng(seed)
    subsets = [[s for n in range(1, size + 1) for s in combinations(range(size), n)] for size in SIZES]
    number = prod(map(len, subsets))
    popularity = 1 / np.arange(1, number + 1) ** exponent
    order = random.permutation(number)
    drawn = order[random.choice(number, size=requests, p=popularity / popularity.sum())]
    known: dict[int, Question] = {}
    asked = []
    for index in drawn.tolist():
        if index not in known:
            known[index] = _count_in_table(subsets, index)
        asked.append(Request(known[index], 1.0))
    return Workload(name, (prod(SIZES),), tuple(range(prod(SIZES))), asked)


def _count_in_table(subsets: Sequence[Sequence[tuple[int, ...]]], index: int) -> Question:
    chosen = []
    for listed in reversed(subsets):
        index, place = divmod(index, len(listed))
        chosen.append(listed[place])
    cells = (int(np.ravel_multi_index(values, SIZES)) for values in product(*reversed(chosen)))
    return Question(0, (tuple(cells),))


def ranges(requests: int, seed: int) -> Workload:
    """Ask for the number of records in a range of one of four columns; the wanted accuracy rises slowly (DProvDB, SIGMOD 2024).

    Two analysts take turns. The lower end is normal around a third of the domain, the length around an eighth of it. The wanted
    precision doubles from the first request to the last one.
    """
    random = np.random.default_rng(seed)
    weights = np.array(POPULARITY) / sum(POPULARITY)
    known: dict[tuple[int, int, int], Question] = {}
    asked = []
    for turn in range(requests):
        column = int(random.choice(len(weights), p=weights))
        low = round(float(np.clip(random.normal(DOMAIN / 3, DOMAIN / 15), 0, DOMAIN - 1)))
        length = max(round(float(random.normal(DOMAIN / 8, DOMAIN / 40))), 1)
        key = column, low, min(low + length, DOMAIN)
        known.setdefault(key, Question(column, (tuple(range(key[1], key[2])),)))
        asked.append(Request(known[key], 2 ** (turn // 2 * 2 / requests)))
    return Workload("ranges", (DOMAIN,) * len(weights), tuple(range(DOMAIN)), asked)


def marginals(seed: int) -> Workload:
    """Ask for each table of one, two and three of five columns once, in random order."""
    random = np.random.default_rng(seed)
    chosen = [columns for n in (1, 2, 3) for columns in combinations(range(len(COLUMNS)), n)]
    tables = [Request(Question(0, tuple(_table(columns))), 1.0) for columns in chosen]
    asked = [tables[place] for place in random.permutation(len(tables))]
    cells = np.arange(prod(COLUMNS))
    return Workload("marginals", (len(cells),), tuple((cells % COLUMNS[0]).tolist()), asked)


def _table(columns: Sequence[int]) -> Iterator[tuple[int, ...]]:
    """Yield the cells of each group; the first column changes fastest."""
    places = np.arange(prod(COLUMNS))
    group = np.zeros_like(places)
    for column in columns:
        group = group * COLUMNS[column] + places // prod(COLUMNS[:column]) % COLUMNS[column]
    for each in range(prod(COLUMNS[column] for column in columns)):
        yield tuple(np.flatnonzero(group == each).tolist())
