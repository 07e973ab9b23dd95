"""The canonical form of a filter: one text for each meaning, whatever the filter looked like.

A filter is a function from the cells of its columns (:mod:`noiseledger.core._cells`) to "counted" or "not counted". Such a
function has exactly one reduced ordered decision diagram: columns are asked in alphabetical order, answers that lead to
the same place share a branch, and a question whose answers all lead to the same place is not asked. Two filters mean the
same if and only if their diagrams are the same; the text is written from the diagram alone, so the same holds for it.

Three-valued logic needs no third value here: NOT is pushed inwards by asking where an expression is *false* instead of
where it is *true*, and for a single condition both are plain sets of cells, with the missing value in neither.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from functools import reduce
from typing import Literal, TypeAlias

from noiseledger.core._cells import Column, Mask, all_of, any_of, column
from noiseledger.core._sql import write
from noiseledger.core.condition import (
    And,
    Comparison,
    Constant,
    Expression,
    IsNull,
    Membership,
    Not,
    Or,
    column_kinds,
    leaves,
)
from noiseledger.errors import InvalidFilter

MAX_LENGTH = 4_000
MAX_COLUMNS = 40
MAX_WORK = 400_000
# Each condition of the text takes at least the five characters of "a = 1", so more of them cannot fit.
_MAX_CONDITIONS = MAX_LENGTH // 5

Node: TypeAlias = int
FALSE, TRUE = 0, 1


def canonical_text(expression: Expression) -> str:
    """Return the one text of everything that means the same as ``expression``.

    >>> from fractions import Fraction
    >>> over, rest = Comparison("age", ">", Fraction(60)), Comparison("age", "<=", Fraction(60))
    >>> canonical_text(Or((over, rest)))
    'age IS NOT NULL'
    """
    kinds = column_kinds(expression)
    if len(kinds) > MAX_COLUMNS:
        raise too_complex(f"it uses {len(kinds)} columns, and at most {MAX_COLUMNS} are handled")
    tests = list(leaves(expression))
    diagram = _Diagram([column(name, kind, tests) for name, kind in kinds.items()])
    text = write(diagram.describe(diagram.build(expression)))
    if len(text) > MAX_LENGTH:
        raise too_complex(f"written out in full it is longer than {MAX_LENGTH:,} characters")
    return text


class _Diagram:
    """A store of shared nodes: equal functions are the same integer, and children come before parents."""

    def __init__(self, columns: list[Column]) -> None:
        self._columns = columns
        self._level = {column.name: level for level, column in enumerate(columns)}
        leaf = (len(columns), ())
        self._nodes: list[tuple[int, tuple[tuple[Node, Mask], ...]]] = [leaf, leaf]
        self._known: dict[tuple[int, tuple[tuple[Node, Mask], ...]], Node] = {}
        self._combined: dict[tuple[Node, Node, Node], Node] = {}
        self._work = 0
        self._conditions = 0

    def build(self, expression: Expression, wanted: bool = True) -> Node:
        """Return where the truth of ``expression`` is ``wanted``; unknown is neither."""
        match expression:
            case Constant(value):
                return TRUE if value is wanted else FALSE
            case Not(term):
                return self.build(term, not wanted)
            case And(terms):
                return self._join(
                    (self.build(term, wanted) for term in terms), absorbing=FALSE if wanted else TRUE
                )
            case Or(terms):
                return self._join(
                    (self.build(term, wanted) for term in terms), absorbing=TRUE if wanted else FALSE
                )
            case Comparison() | Membership() | IsNull():
                level = self._level[expression.column]
                return self._split(level, self._columns[level].matching(expression, wanted))

    def describe(self, node: Node) -> Expression:
        """Return the tree a person would write for a node.

        If every way to TRUE passes one place, the function is "as far as there" AND "from there on"; if every way to
        FALSE does, it is an OR of the same two parts. Otherwise each branch is told apart.
        """
        if node in (FALSE, TRUE):
            return Constant(node == TRUE)
        self._conditions += 1
        if self._conditions > _MAX_CONDITIONS:
            raise too_complex(f"written out in full it is longer than {MAX_LENGTH:,} characters")
        for goal, joined in ((TRUE, all_of), (FALSE, any_of)):
            for waist in self._waists(node, goal):
                return joined([self.describe(self._replace(node, waist, goal)), self.describe(waist)])
        return any_of(self._cases(node))

    def _node(self, level: int, branches: Iterable[tuple[Node, Mask]]) -> Node:
        """Return the node that leads to each child from its cells, sharing what is equal."""
        merged: dict[Node, Mask] = defaultdict(int)
        for child, mask in branches:
            merged[child] |= mask
        if len(merged) == 1:
            return next(iter(merged))
        key = (level, tuple(sorted(merged.items())))
        if key not in self._known:
            self._known[key] = len(self._nodes)
            self._nodes.append(key)
        return self._known[key]

    def _split(self, level: int, mask: Mask) -> Node:
        outside = self._columns[level].everything & ~mask
        return self._node(
            level, [(child, cells) for child, cells in ((TRUE, mask), (FALSE, outside)) if cells]
        )

    def _join(self, nodes: Iterable[Node], absorbing: Node) -> Node:
        """Join by OR if ``absorbing`` is TRUE, by AND if it is FALSE."""
        return reduce(lambda left, right: self._combine(left, right, absorbing), nodes, 1 - absorbing)

    def _combine(self, left: Node, right: Node, absorbing: Node) -> Node:
        if left == right or right == 1 - absorbing or left == absorbing:
            return left
        if left == 1 - absorbing or right == absorbing:
            return right
        key = (min(left, right), max(left, right), absorbing)
        if key not in self._combined:
            level = min(self._nodes[left][0], self._nodes[right][0])
            pairs = self._pairs(self._branches(left, level), self._branches(right, level))
            self._combined[key] = self._node(
                level, [(self._combine(one, other, absorbing), mask) for one, other, mask in pairs]
            )
        return self._combined[key]

    def _branches(self, node: Node, level: int) -> tuple[tuple[Node, Mask], ...]:
        own, branches = self._nodes[node]
        return branches if own == level else ((node, self._columns[level].everything),)

    def _pairs(
        self, left: tuple[tuple[Node, Mask], ...], right: tuple[tuple[Node, Mask], ...]
    ) -> Iterator[tuple[Node, Node, Mask]]:
        self._spend(len(left) * len(right))
        for one, cells in left:
            for other, more in right:
                if cells & more:
                    yield one, other, cells & more

    def _replace(self, node: Node, old: Node, new: Node) -> Node:
        """Return the function in which the place ``old`` became ``new``."""
        done = {old: new}
        for current in self._below(node):
            level, branches = self._nodes[current]
            if current != old and branches:
                done[current] = self._node(
                    level, [(done.get(child, child), mask) for child, mask in branches]
                )
        return done[node]

    def _below(self, node: Node) -> list[Node]:
        """Return the node and all that it leads to, children before parents."""
        found, waiting = {node}, [node]
        while waiting:
            new = {child for child, _ in self._nodes[waiting.pop()][1]} - found
            found |= new
            waiting += new
        self._spend(len(found))
        return sorted(found)

    def _waists(self, node: Node, goal: Literal[0, 1]) -> list[Node]:
        """Return the inner places that every way from ``node`` to ``goal`` passes, the first one first."""
        order = self._below(node)
        onward = {FALSE: 1 - goal, TRUE: goal}
        for current in order:
            onward.setdefault(current, sum(onward[child] for child, _ in self._nodes[current][1]))
        reached = defaultdict(int, {node: 1})
        for current in reversed(order):
            for child, _ in self._nodes[current][1]:
                reached[child] += reached[current]
        inner = [place for place in order if place not in (FALSE, TRUE, node)]
        return [place for place in reversed(inner) if reached[place] * onward[place] == onward[node]]

    def _cases(self, node: Node) -> Iterator[Expression]:
        """Yield one term per branch, each widened to every branch it also holds in, without those the others cover."""
        level, branches = self._nodes[node]
        asked = self._columns[level]
        wide = {
            child: sum(cells for other, cells in branches if self._implies(child, other))
            for child, _ in branches
        }
        for child, mask in sorted(
            branches, key=lambda branch: (wide[branch[0]] == asked.everything, asked.order(branch[1]))
        ):
            stronger = (other for other, _ in branches if other != child and self._implies(other, child))
            if self._join(stronger, absorbing=TRUE) != child:
                yield all_of([asked.condition(wide[child]), self.describe(child)])

    def _implies(self, left: Node, right: Node) -> bool:
        return self._combine(left, right, FALSE) == left

    def _spend(self, work: int) -> None:
        self._work += work
        if self._work > MAX_WORK:
            raise too_complex("its columns depend on each other in too many ways")


def too_complex(reason: str) -> InvalidFilter:
    """Return the error of a filter that is correct but beyond our limits."""
    return InvalidFilter(
        f"The filter is too complex: {reason}. Use fewer columns or fewer alternatives, or split it into several queries."
    )
