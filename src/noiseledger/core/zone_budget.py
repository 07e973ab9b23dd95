"""The budget by zone: each zone may spend all of it, and a purchase is charged to the zones that its query reaches.

Why the promise holds: a record lies in one zone of one edition, and only purchases of queries that reach this zone depend on
it. What this zone has spent is their sum, and it never exceeds the budget (mathematics page, section 8.1).

>>> from noiseledger.core.budget import Budget
>>> north, south = 0b01, 0b10
>>> budget = ZoneBudget.of(Budget.of(8, 1e-4), zones=2).charge(Fraction(2), north).charge(Fraction(3), south)
>>> [float(budget.reached(reach).spent) for reach in (north, south, north | south)]
[2.0, 3.0, 3.0]
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from fractions import Fraction

from noiseledger.core.budget import Budget
from noiseledger.core.filters.cells import Mask

#: Of which zones an amount is said to be spent or left.
IN_REACH = " in the zones that it reaches"
IN_ONE = " in the zone that has used most"


@dataclass(frozen=True)
class ZoneBudget:
    """The promise, which is the same for each zone, and what each zone has spent in one edition."""

    promise: Budget
    spent: tuple[Fraction, ...]

    @classmethod
    def of(cls, promise: Budget, zones: int) -> ZoneBudget:
        """Make an unspent budget for so many zones."""
        return cls(replace(promise, spent=Fraction(0)), (Fraction(0),) * zones)

    @property
    def whole(self) -> Budget:
        """The budget of the zone that has spent most: what a record has used at most, wherever it lies."""
        return replace(self.promise, spent=max(self.spent), where=IN_ONE if len(self.spent) > 1 else "")

    def reached(self, reach: Mask) -> Budget:
        """The budget of the zone with the least left of those that a query reaches: what can still be bought of the query."""
        spent = max(self.spent[zone] for zone in zones_of(reach))
        return replace(self.promise, spent=spent, where=IN_REACH if len(self.spent) > 1 else "")

    def charge(self, cost: Fraction, reach: Mask) -> ZoneBudget:
        """Return the budget after a purchase, or raise ``BudgetExceeded``; this one never changes."""
        return self.charge_all([(cost, reach)])

    def charge_all(self, purchases: Iterable[tuple[Fraction, Mask]]) -> ZoneBudget:
        """Return the budget after several purchases, or raise ``BudgetExceeded``, of the zone that lacks most."""
        costs = charged(purchases, len(self.spent))
        after = tuple(spent + cost for spent, cost in zip(self.spent, costs, strict=True))
        most = after.index(max(after))
        # If this zone can pay, every zone can: all have the same budget.
        replace(self.promise, spent=self.spent[most]).charge(costs[most])
        return replace(self, spent=after)


def charged(purchases: Iterable[tuple[Fraction, Mask]], zones: int) -> list[Fraction]:
    """Return what each of so many zones pays for purchases, each a cost and a reach.

    >>> [int(cost) for cost in charged([(Fraction(2), 0b01), (Fraction(3), 0b11)], zones=2)]
    [5, 3]
    """
    costs = [Fraction(0)] * zones
    for cost, reach in purchases:
        for zone in zones_of(reach):
            costs[zone] += cost
    return costs


def most_charged(purchases: Iterable[tuple[Fraction, Mask]]) -> Fraction:
    """Return what the zone pays that pays most for purchases.

    >>> int(most_charged([(Fraction(2), 0b01), (Fraction(3), 0b10), (Fraction(1), 0b11)]))
    4
    """
    found = list(purchases)
    return max(charged(found, max((reach.bit_length() for _, reach in found), default=0)), default=Fraction(0))


def zones_of(reach: Mask) -> list[int]:
    """Return the numbers of the zones in a reach.

    >>> zones_of(0b101)
    [0, 2]
    """
    return [zone for zone in range(reach.bit_length()) if reach >> zone & 1]
