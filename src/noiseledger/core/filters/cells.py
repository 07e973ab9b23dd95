"""Split the values of one column into the finitely many cells that a filter can distinguish.

With the literals 50 and 60, a number lies below 50, at 50, between them, at 60, above 60, or is missing; a filter that
mentions only these literals treats all values of one cell alike. Dates are whole days: they are split before and after each
literal, so that "after the 1st" and "from the 2nd on" are the same cells, and by month if the filter uses months
(:mod:`noiseledger.core.filters.days`). A set of cells is an integer, one bit per cell.

``condition`` converts a set back to the tree a person would write. It uses only literals at which the set changes,
so the result depends on the set of values and not on how finely it was split.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from fractions import Fraction
from functools import cached_property
from itertools import groupby
from typing import Any, TypeAlias

from noiseledger.core.filters.condition import (
    Comparison,
    Constant,
    Expression,
    InMonths,
    IsNull,
    Kind,
    Leaf,
    Membership,
    Not,
    Operator,
    Value,
)
from noiseledger.core.filters.days import Days
from noiseledger.core.filters.joins import all_of, any_of, none_of, one_of

Mask: TypeAlias = int
_DAY = timedelta(days=1)


@dataclass(frozen=True)
class Column:
    """A column and the literals it is compared with; bit ``size`` is the missing value.

    Number cells alternate: an open interval, a point, an open interval, and so on, in ascending order. Date cells are the
    days from one of the ``values`` to before the next, all of them or, ``by_month``, those of one month. The cells of other
    kinds are the literals, then ``rest``, the bit of any other value; a flag has no other value.
    """

    name: str
    kind: Kind | None
    values: tuple[Value, ...]
    by_month: bool = False
    brief: bool = False

    @classmethod
    def cut(cls, name: str, kind: Kind | None, tests: Iterable[Leaf], brief: bool = False) -> Column:
        """Return the column split at every literal in ``tests``, which may also contain conditions on other columns."""
        found: set[Any] = {False, True} if kind == "flag" else set()
        by_month = False
        for leaf in tests:
            if leaf.column == name and isinstance(leaf, Comparison | Membership):
                found.update(leaf.values if isinstance(leaf, Membership) else [leaf.value])
            by_month |= leaf.column == name and isinstance(leaf, InMonths)
        if kind == "date":
            found = (found | {day + _DAY for day in found if day < date.max}) - {date.min}
        return cls(name, kind, tuple(sorted(found)), by_month, brief)

    @cached_property
    def size(self) -> int:
        """The number of cells, without the missing value."""
        if self.kind == "date":
            return len(self._days.cells)
        others = {"number": len(self.values) + 1, "flag": 0}.get(self.kind or "text", 1)
        return len(self.values) + others

    @property
    def rest(self) -> Mask:
        """The cell of all values that equal no literal; only text has one."""
        return 0 if self.kind in ("number", "flag", "date") else 1 << len(self.values)

    @cached_property
    def _days(self) -> Days:
        return Days((date.min, *(value for value in self.values if isinstance(value, date))), self.by_month, self.brief)

    @cached_property
    def _position(self) -> dict[Value, int]:
        step = 2 if self.kind == "number" else 1
        return {value: index * step + step - 1 for index, value in enumerate(self.values)}

    @cached_property
    def everything(self) -> Mask:
        """Every cell, including the missing value."""
        return (2 << self.size) - 1

    @cached_property
    def present(self) -> Mask:
        """Every cell but the missing value."""
        return (1 << self.size) - 1

    def matching(self, leaf: Leaf, wanted: bool) -> Mask:
        """Return the cells where the truth of ``leaf`` is ``wanted``."""
        if isinstance(leaf, IsNull):
            return 1 << self.size if wanted else self.present
        found = self._found(leaf)
        return found if wanted else self.present & ~found

    def example(self, bit: int) -> Value | None:
        """Return a value of one cell; None for the missing value."""
        if bit == self.size:
            return None
        if self.kind == "date":
            return self._days.cells[bit].first
        if self.kind == "number":
            return self._number(bit)
        # Longer than every literal, so it equals none of them.
        return (
            self.values[bit] if bit < len(self.values) else "x" * (1 + max(map(len, map(str, self.values)), default=0))
        )

    def _number(self, bit: int) -> Fraction:
        """Return a number of one cell: a literal, or one between two of them, below or above all."""
        around = [value for value in self.values[max(bit - 1, 0) // 2 : bit // 2 + 1] if isinstance(value, Fraction)]
        if bit % 2 or not around:
            return around[0] if around else Fraction(0)
        if 0 < bit < self.size - 1:
            return sum(around, Fraction(0)) / 2
        return around[0] + (1 if bit else -1)

    def order(self, mask: Mask) -> int:
        """Return a sort key for disjoint sets that does not depend on literals without effect."""
        return mask & self.rest or mask & -mask

    def condition(self, mask: Mask) -> Expression:
        """Return the condition that is true of exactly these cells."""
        if mask == self.everything:
            return Constant(True)
        describe = {"number": self._intervals, "date": self._dates}.get(self.kind or "text", self._listed)
        terms = describe(mask & self.present) if mask & self.present else []
        return any_of([*terms, *([IsNull(self.name)] if mask >> self.size else [])])

    def _found(self, leaf: Comparison | Membership | InMonths) -> Mask:
        if self.kind == "date":
            # All days of a cell are alike to the filter, so its first day decides.
            cells = enumerate(self._days.cells)
            return sum(1 << bit for bit, cell in cells if leaf.truth({self.name: cell.first}))
        assert not isinstance(leaf, InMonths)  # noqa: S101 - only dates have months
        if isinstance(leaf, Membership):
            return sum({1 << self._position[value] for value in leaf.values})
        point = 1 << self._position[leaf.value]
        below = point - 1
        found = {
            "=": point,
            "<>": ~point,
            "<": below,
            "<=": below | point,
            ">": ~(below | point),
            ">=": ~below,
        }
        return found[leaf.operator] & self.present

    def _listed(self, mask: Mask) -> list[Expression]:
        if mask == self.present:
            return [Not(IsNull(self.name))]
        inside = [value for value, bit in self._position.items() if mask >> bit & 1]
        outside = [value for value, bit in self._position.items() if not mask >> bit & 1]
        return none_of(self.name, outside) if mask & self.rest else one_of(self.name, inside)

    def _intervals(self, mask: Mask) -> list[Expression]:
        """Describe a set of numbers as single points, then intervals from which single points may be missing."""
        around = {value: mask >> (bit - 1) & 0b111 for value, bit in self._position.items()}
        points = [value for value, bits in around.items() if bits == 0b010]
        holes = [value for value, bits in around.items() if bits == 0b101]
        solid = mask | sum(1 << self._position[value] for value in holes)
        solid &= ~sum(1 << self._position[value] for value in points)
        return [*one_of(self.name, points), *(self._interval(run, holes) for run in _runs(solid, self.size))]

    def _interval(self, run: Sequence[int], holes: Iterable[Value]) -> Expression:
        low, high = run[0], run[-1]
        terms: list[Expression] = []
        if low > 0:
            terms.append(self._compare(">=", low // 2) if low % 2 else self._compare(">", low // 2 - 1))
        if high < self.size - 1:
            terms.append(self._compare("<=" if high % 2 else "<", high // 2))
        terms += none_of(self.name, [value for value in holes if low < self._position[value] < high])
        return all_of(terms) if terms else Not(IsNull(self.name))

    def _dates(self, mask: Mask) -> list[Expression]:
        return self._days.terms([cell for bit, cell in enumerate(self._days.cells) if mask >> bit & 1], self.name)

    def _compare(self, operator: Operator, index: int) -> Expression:
        return Comparison(self.name, operator, self.values[index])


def _runs(mask: Mask, size: int) -> Iterator[list[int]]:
    """Yield the runs of neighbouring cells in a set."""
    bits = [bit for bit in range(size) if mask >> bit & 1]
    for _, run in groupby(enumerate(bits), key=lambda pair: pair[1] - pair[0]):
        yield [bit for _, bit in run]
