"""The canonical form of a filter: one text for each meaning, however the filter was written.

A filter is a function from the cells of its columns (:mod:`noiseledger.core.filters.cells`) to "counted" or "not counted",
and each such function has exactly one decision diagram (:mod:`noiseledger.core.filters.diagram`). The text is written from the
diagram alone and can be parsed again, so two filters have the same text if and only if they mean the same.

Three-valued logic needs no third value here: NOT is pushed inwards by computing where an expression is *false* instead of
where it is *true*, and for a single condition both are sets of cells, neither of which contains the missing value.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TypeAlias

from noiseledger.core.filters.cells import Column, Mask
from noiseledger.core.filters.condition import Constant, Expression
from noiseledger.core.filters.days import MAX_LENGTH
from noiseledger.core.filters.diagram import FALSE, TRUE, Blocks, Diagram, Node, too_complex
from noiseledger.core.filters.joins import all_of, any_of
from noiseledger.core.filters.sql import write

#: Months are described with more work than other conditions.
_MONTHS_WORK = 200

_Fitting: TypeAlias = Expression | None  # None: too long to be part of any text


def canonical_text(expression: Expression, *, brief: bool = False) -> str:
    """Return the text that all expressions with the meaning of ``expression`` share; a ``brief`` one is for people.

    >>> from fractions import Fraction
    >>> from noiseledger.core.filters.condition import Comparison, Or
    >>> canonical_text(Or((Comparison("age", ">", Fraction(60)), Comparison("age", "<=", Fraction(60)))))
    'age IS NOT NULL'
    """
    diagram = Diagram(expression, brief=brief)
    found = _Description(diagram).of(diagram.root)
    if found is None:
        raise too_complex(f"its canonical form is longer than {MAX_LENGTH:,} characters")
    return write(found)


class _Description:
    """Describe nodes the way a person would write them; the result depends on the diagram alone."""

    def __init__(self, diagram: Diagram) -> None:
        self._diagram = diagram
        self._known: dict[Node, _Fitting] = {}
        self._covers: dict[tuple[Node, Node, bool], tuple[Node, _Fitting]] = {}

    def of(self, node: Node) -> _Fitting:
        """Return the tree of a node, or None if it would be too long."""
        if node not in self._known:
            self._known[node] = self._narrow(node) if node not in (FALSE, TRUE) else Constant(node == TRUE)
        return self._known[node]

    def _narrow(self, node: Node) -> _Fitting:
        """Split the function at a node that every path must pass, if there is one.

        If every path to TRUE passes one node, the function is "reaches that node" AND "TRUE from that node on"; if every
        path to FALSE does, it is the OR of the same two.
        """
        for goal, together in ((TRUE, all_of), (FALSE, any_of)):
            for waist in self._diagram.waists(node, goal):
                parts = [self.of(self._diagram.replace(node, {waist: goal})), self.of(waist)]
                return self._fitting(together, parts)
        return self._shorter(node)

    def _shorter(self, node: Node) -> _Fitting:
        """Describe where the function holds and where it does not, and return the shorter description."""
        opposite = self._diagram.flip(node)
        options = [self._cases(node, node, False)[1], self._cases(opposite, opposite, True)[1]]
        return min((option for option in options if option), key=lambda option: len(write(option)), default=None)

    def _cover(self, low: Node, high: Node, negated: bool) -> tuple[Node, _Fitting]:
        """Choose a function that holds wherever ``low`` does and only where ``high`` does, and describe it.

        With ``negated``, describe its negation.
        """
        if low in (high, FALSE) or high == TRUE:
            chosen = TRUE if high == TRUE else low
            return chosen, self.of(self._diagram.flip(chosen) if negated else chosen)
        key = (low, high, negated)
        if key not in self._covers:
            self._covers[key] = self._cases(*key)
        return self._covers[key]

    def _cases(self, low: Node, high: Node, negated: bool) -> tuple[Node, _Fitting]:
        """Cover by the first column: first the part that holds in all cases, then what remains, case by case.

        The cover chosen for one case also counts for every other case that allows it (Minato 1992, for several values).
        """
        level, blocks = self._diagram.blocks(low, high)
        column = self._diagram.columns[level]
        covered = dict.fromkeys(blocks, FALSE)
        terms: list[tuple[bool, int, _Fitting]] = []
        for block in self._in_order(column, blocks):
            missing = self._diagram.meet([block[0], self._diagram.flip(covered.get(block, FALSE))])
            if missing != FALSE:
                chosen, text = self._cover(missing, block[1], negated)
                reach = [other for other in blocks if self._diagram.implies(chosen, other[1])]
                covered |= {other: self._diagram.join([covered[other], chosen]) for other in reach}
                cells = sum(blocks[other] for other in reach)
                place = column.order(blocks.get(block, column.everything))
                terms.append((cells == column.everything, place, self._term(column, cells, text, negated)))
        result = self._diagram.node(level, [(covered[block], cells) for block, cells in blocks.items()])
        in_order = [term for _, _, term in sorted(terms, key=lambda term: term[:2])]
        return result, self._fitting(all_of if negated else any_of, in_order)

    def _in_order(self, column: Column, blocks: Blocks) -> list[tuple[Node, Node]]:
        """Return what all cases share, then the cases, sorted by how many others their description can cover."""
        lows, highs = zip(*blocks, strict=True)

        def rank(block: tuple[Node, Node]) -> tuple[int, int]:
            served = sum(self._diagram.implies(block[1], high) for high in highs)
            return -served, column.order(blocks[block])

        return [(self._diagram.meet(lows), self._diagram.meet(highs)), *sorted(blocks, key=rank)]

    def _term(self, column: Column, cells: Mask, text: _Fitting, negated: bool) -> _Fitting:
        if column.by_month:
            self._diagram.spend(_MONTHS_WORK)
        if negated:
            return self._fitting(any_of, [column.condition(column.everything & ~cells), text])
        return self._fitting(all_of, [column.condition(cells), text])

    def _fitting(self, together: Callable[[Iterable[Expression]], Expression], parts: list[_Fitting]) -> _Fitting:
        known = [part for part in parts if part is not None]
        joined = together(known)
        length = len(write(joined))
        self._diagram.spend(1 + length // 20)
        return joined if len(known) == len(parts) and length <= MAX_LENGTH else None
