"""Decision diagrams: functions from the cells of several columns to TRUE or FALSE.

A node tests one column and has a branch for each cell of its value. Columns are tested in alphabetical order, cells that
lead to the same child share a branch, and a test whose cells all lead to the same child is left out. Then each function is
exactly one node (Bryant 1986, here with more than two branches), and functions are equal if their integers are.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import reduce
from operator import or_
from typing import TypeAlias

from noiseledger.core.filters.cells import Column, Mask
from noiseledger.core.filters.condition import (
    And,
    Comparison,
    Constant,
    Expression,
    InMonths,
    IsNull,
    Leaf,
    Membership,
    Not,
    Or,
    Value,
    column_kinds,
    leaves,
)
from noiseledger.errors import InvalidFilter

MAX_COLUMNS = 40
MAX_WORK = 300_000

Node: TypeAlias = int
Branches: TypeAlias = tuple[tuple[Node, Mask], ...]
Blocks: TypeAlias = dict[tuple[Node, Node], Mask]
FALSE, TRUE = 0, 1


class Diagram:
    """A store of shared nodes; children come before parents."""

    def __init__(
        self, expression: Expression, *, brief: bool = False, cuts: Iterable[Leaf] = (), work: int = MAX_WORK
    ) -> None:
        """Build the diagram of an expression; the columns are also split at the literals of ``cuts``."""
        every = And((expression, *cuts))
        kinds = column_kinds(every)
        if len(kinds) > MAX_COLUMNS:
            raise too_complex(f"it uses {len(kinds)} columns, and at most {MAX_COLUMNS} are handled")
        tests = list(leaves(every))
        self.columns = [Column.cut(name, kind, tests, brief) for name, kind in kinds.items()]
        self._level = {name: level for level, name in enumerate(kinds)}
        self._nodes: list[tuple[int, Branches]] = [(len(kinds), ()), (len(kinds), ())]
        self._known: dict[tuple[int, Branches], Node] = {}
        self._combined: dict[tuple[Node, Node, Node], Node] = {}
        self._flipped: dict[Node, Node] = {}
        self._work = 0
        self._most_work = work
        self.root = self._build(expression, wanted=True)

    def meet(self, nodes: Iterable[Node]) -> Node:
        """Return the conjunction: where all nodes hold."""
        return reduce(lambda left, right: self._combine(left, right, FALSE), nodes, TRUE)

    def join(self, nodes: Iterable[Node]) -> Node:
        """Return the disjunction: where at least one node holds."""
        return reduce(lambda left, right: self._combine(left, right, TRUE), nodes, FALSE)

    def implies(self, left: Node, right: Node) -> bool:
        """Return whether ``right`` holds wherever ``left`` does."""
        return self.meet([left, right]) == left

    def flip(self, node: Node) -> Node:
        """Return the negation: where ``node`` does not hold."""
        if node not in self._flipped:
            self._flipped[node] = self.replace(node, {FALSE: TRUE, TRUE: FALSE})
        return self._flipped[node]

    def replace(self, node: Node, places: Mapping[Node, Node]) -> Node:
        """Return the function with some nodes replaced by others."""
        done = dict(places)
        for current in self._below(node):
            if current not in done:
                level, branches = self._nodes[current]
                done[current] = (
                    self.node(level, [(done[child], mask) for child, mask in branches]) if branches else current
                )
        return done[node]

    def blocks(self, low: Node, high: Node) -> tuple[int, Blocks]:
        """Return the level of the first column tested, and the cells that lead to each pair of nodes."""
        level = min(self._nodes[low][0], self._nodes[high][0])
        found: Blocks = defaultdict(int)
        for one, other, mask in self._pairs(low, high, level):
            found[one, other] |= mask
        return level, found

    def waists(self, node: Node, goal: Node) -> list[Node]:
        """Return the inner nodes that every path from ``node`` to ``goal`` passes, in order."""
        order = self._below(node)
        onward = {FALSE: int(goal == FALSE), TRUE: int(goal == TRUE)}
        for current in order:
            onward.setdefault(current, sum(onward[child] for child, _ in self._nodes[current][1]))
        reached = defaultdict(int, {node: 1})
        for current in reversed(order):
            for child, _ in self._nodes[current][1]:
                reached[child] += reached[current]
        inner = [place for place in order if place not in (FALSE, TRUE, node)]
        return [place for place in reversed(inner) if reached[place] * onward[place] == onward[node]]

    def possible(self, name: str) -> tuple[Column, Mask]:
        """Return a column, and the cells of it in which a record can lie that fulfils the expression.

        A node other than FALSE holds for some record, and what lies below the column's own test does not depend on it.
        """
        level = self._level[name]
        column = self.columns[level]
        found: dict[Node, Mask] = {}
        for node in self._below(self.root):
            own, branches = self._nodes[node]
            cells = 0 if node == FALSE else column.everything
            if own <= level and branches:
                parts = (mask if own == level else found[child] for child, mask in branches if child != FALSE)
                cells = reduce(or_, parts, 0)
            found[node] = cells
        return column, found[self.root]

    def node_of(self, expression: Expression) -> Node:
        """Return where an expression is true; its literals must be among those that the columns are split at."""
        return self._build(expression, wanted=True)

    def split(self, name: str, group: Callable[[Value | None], int | None]) -> dict[int | None, Node]:
        """Return where a column's value is in each group, for groups that contain all values of a cell or none."""
        level = self._level[name]
        column = self.columns[level]
        found: dict[int | None, Mask] = defaultdict(int)
        for bit in range(column.size + 1):
            found[group(column.example(bit))] |= 1 << bit
        return {
            each: self.node(level, [(TRUE, mask), (FALSE, column.everything & ~mask)]) for each, mask in found.items()
        }

    def spend(self, work: int) -> None:
        """Count work, and refuse a filter that needs too much."""
        self._work += work
        if self._work > self._most_work:
            raise too_complex("its columns depend on each other in too many ways")

    def _build(self, expression: Expression, wanted: bool) -> Node:
        """Return where the truth of ``expression`` is ``wanted``; unknown is neither."""
        match expression:
            case Constant(value):
                return TRUE if value is wanted else FALSE
            case Not(term):
                return self._build(term, not wanted)
            case And(terms) | Or(terms):
                joined = self.meet if isinstance(expression, And) is wanted else self.join
                return joined(self._build(term, wanted) for term in terms)
            case Comparison() | Membership() | InMonths() | IsNull():
                level = self._level[expression.column]
                column = self.columns[level]
                mask = column.matching(expression, wanted)
                return self.node(level, [(TRUE, mask), (FALSE, column.everything & ~mask)])

    def node(self, level: int, branches: Iterable[tuple[Node, Mask]]) -> Node:
        """Return the node with these branches; equal nodes are shared."""
        merged: dict[Node, Mask] = defaultdict(int)
        for child, mask in branches:
            merged[child] |= mask
        key = (level, tuple(sorted((child, mask) for child, mask in merged.items() if mask)))
        if len(key[1]) == 1:
            return key[1][0][0]
        if key not in self._known:
            self._known[key] = len(self._nodes)
            self._nodes.append(key)
        return self._known[key]

    def _combine(self, left: Node, right: Node, absorbing: Node) -> Node:
        """Join by OR if TRUE is absorbing, by AND if FALSE is."""
        neutral = TRUE if absorbing == FALSE else FALSE
        if absorbing in (left, right):
            return absorbing
        if left in (right, neutral):
            return right
        if right == neutral:
            return left
        key = (min(left, right), max(left, right), absorbing)
        if key not in self._combined:
            level = min(self._nodes[left][0], self._nodes[right][0])
            pairs = self._pairs(left, right, level)
            parts = [(self._combine(one, other, absorbing), mask) for one, other, mask in pairs]
            self._combined[key] = self.node(level, parts)
        return self._combined[key]

    def _pairs(self, left: Node, right: Node, level: int) -> Iterator[tuple[Node, Node, Mask]]:
        ours, theirs = self._branches(left, level), self._branches(right, level)
        self.spend(len(ours) * len(theirs))
        for one, mask in ours:
            for other, cells in theirs:
                if mask & cells:
                    yield one, other, mask & cells

    def _branches(self, node: Node, level: int) -> Branches:
        own, branches = self._nodes[node]
        return branches if own == level else ((node, self.columns[level].everything),)

    def _below(self, node: Node) -> list[Node]:
        """Return the node and all its descendants, children before parents."""
        found, waiting = {node}, [node]
        while waiting:
            new = {child for child, _ in self._nodes[waiting.pop()][1]} - found
            found |= new
            waiting += new
        self.spend(len(found))
        return sorted(found)


def too_complex(reason: str) -> InvalidFilter:
    """Return the error for a filter that is correct but exceeds our limits."""
    return InvalidFilter(f"The filter is too complex: {reason}. Use fewer columns or fewer alternatives.")
