"""The cells of several queries: the finest parts of the records that their filters and groups distinguish.

A cell is a set of records that some record can lie in, by the definitions alone. Two records in one cell are counted by the
same queries, in the same groups; two records in different cells are not. So each coordinate of a query is a sum over
cells.

Queries that measure different things have different cells: a number of records, or the sum of one column with one list of
bounds, grid and stand-in for missing values. A sum and a count tell nothing about each other.

>>> over, all_of_them = Query.count("age > 60"), Query.histogram("age", [0, 30, 120])
>>> cells = cells_of([over, all_of_them])[None]
>>> cells.count, cells.rows(over), cells.rows(all_of_them)
(5, ((0, 1),), ((2,), (0, 3)))
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from noiseledger.core.filters.condition import Constant, Leaf, leaves
from noiseledger.core.filters.diagram import FALSE, TRUE, Diagram, Node
from noiseledger.core.group_product import Groups, by_column
from noiseledger.core.query import Column, Query
from noiseledger.errors import InvalidFilter, InvalidInput, TooManyCells

#: The largest number of cells; the estimate works with matrices of so many rows and columns (two of 134 MB each).
MAX_CELLS = 4096
#: The limit for the work on one diagram. It is larger than that of one filter: here it stands for all queries together.
MAX_WORK = 20_000_000

#: What a query adds up in a cell: a column, or None for the number of records.
Measured: TypeAlias = Column | None
#: A query's coordinate in each cell, or None where it does not count.
Labels: TypeAlias = list[int | None]
#: What decides the rows of a query: its filter and its groups.
_Cut: TypeAlias = tuple[str, Groups | None]


@dataclass(frozen=True)
class Cells:
    """The cells of the queries that measure one thing, numbered from 0, and where each of these queries counts.

    They cover all records: those that no query counts are a cell as well, unless there are none.
    """

    measured: Measured
    count: int
    _labels: Mapping[_Cut, Labels]

    def labels(self, query: Query) -> Labels:
        """Return the coordinate in which the query counts each cell, or None if it does not."""
        known = self._labels.get(_cut(query))
        if known is None or query.column != self.measured:
            raise InvalidInput(f"The cells were found without the query {query}: find them again, with it in the list.")
        return known

    def uses(self, cell: int) -> int:
        """Return how many queries count a cell."""
        return sum(labels[cell] is not None for labels in self._labels.values())

    def rows(self, query: Query) -> tuple[tuple[int, ...], ...]:
        """Return the query as a matrix of zeros and ones: for each coordinate, the cells that are added up."""
        rows: list[list[int]] = [[] for _ in range(query.dimension)]
        for cell, coordinate in enumerate(self.labels(query)):
            if coordinate is not None:
                rows[coordinate].append(cell)
        return tuple(map(tuple, rows))


def cells_of(queries: Iterable[Query], limit: int = MAX_CELLS) -> dict[Measured, Cells]:
    """Return the cells for each thing that the queries measure."""
    apart: dict[Measured, dict[_Cut, Query]] = {}
    for query in queries:
        apart.setdefault(query.column, {}).setdefault(_cut(query), query)
    return {measured: _find(measured, cuts, limit) for measured, cuts in apart.items()}


def _cut(query: Query) -> _Cut:
    return "TRUE" if query.where is None else query.where.canonical, query.groups


def _find(measured: Measured, cuts: Mapping[_Cut, Query], limit: int) -> Cells:
    """Start with one part, all records, and let one query after the other split the parts."""
    try:
        diagram = Diagram(
            Constant(True), cuts=[leaf for query in cuts.values() for leaf in _leaves(query)], work=MAX_WORK
        )
        parts: list[Node] = [TRUE]
        steps: list[tuple[list[int], Labels]] = []
        for query in cuts.values():
            splitter, parents, labels, smaller = _Splitter(diagram, query), [], Labels(), []
            for parent, part in enumerate(parts):
                for coordinate, node in splitter.split(part):
                    parents.append(parent)
                    labels.append(coordinate)
                    smaller.append(node)
                if len(smaller) > limit:
                    raise TooManyCells(limit)
            parts = smaller
            steps.append((parents, labels))
    except InvalidFilter as error:
        if "too complex" in str(error):
            raise TooManyCells(limit) from None
        raise
    return Cells(measured, len(parts), dict(zip(cuts, _at_the_end(steps, len(parts)), strict=True)))


def _at_the_end(steps: Sequence[tuple[list[int], Labels]], count: int) -> list[Labels]:
    """Return the labels of the final cells, for each query: a cell has the label of the part that it comes from."""
    origin, found = list(range(count)), []
    for parents, labels in reversed(steps):
        found.append([labels[part] for part in origin])
        origin = [parents[part] for part in origin]
    return found[::-1]


def _leaves(query: Query) -> Iterator[Leaf]:
    """Yield the conditions at which a query cuts the columns."""
    if query.where is not None:
        yield from leaves(query.where.expression)
    for one in by_column(query.groups):
        yield from one.cuts


class _Splitter:
    """How one query splits a part of the records."""

    def __init__(self, diagram: Diagram, query: Query) -> None:
        self._diagram = diagram
        # SQL counts a record if the filter is TRUE of it, and not if it is unknown.
        self._where = TRUE if query.where is None else diagram.node_of(query.where.expression)
        self._sizes = [one.size for one in by_column(query.groups)]
        self._groups = [diagram.split(one.column, one.index) for one in by_column(query.groups)]

    def split(self, part: Node) -> Iterator[tuple[int | None, Node]]:
        """Yield what the query counts of a part, in each coordinate, and the rest, which it does not count."""
        meet = self._diagram.meet
        rest = [meet([part, self._diagram.flip(self._where)])]
        inside = [(0, meet([part, self._where]))]
        for size, groups in zip(self._sizes, self._groups, strict=True):
            finer = []
            for coordinate, node in inside:
                for group, condition in groups.items():
                    met = meet([node, condition])
                    if met == FALSE:
                        continue
                    if group is None:
                        rest.append(met)
                    else:
                        finer.append((coordinate * size + group, met))
                    if met == node:
                        break
            inside = finer
        for coordinate, node in inside:
            if node != FALSE:
                yield coordinate, node
        outside = self._diagram.join(rest)
        if outside != FALSE:
            yield None, outside
