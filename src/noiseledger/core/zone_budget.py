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
        return replace(self.promise, spent=max(self.spent))

    def reached(self, reach: Mask) -> Budget:
        """The budget of the zone with the least left of those that a query reaches: what can still be bought of the query."""
        return replace(self.promise, spent=max(self.spent[zone] for zone in zones_of(reach)))

    def charge(self, cost: Fraction, reach: Mask) -> ZoneBudget:
        """Return the budget after a purchase, or raise ``BudgetExceeded``; this one never changes."""
        self.reached(reach).charge(cost)
        zones = set(zones_of(reach))
        return replace(self, spent=tuple(spent + cost * (zone in zones) for zone, spent in enumerate(self.spent)))

    def charge_all(self, purchases: Iterable[tuple[Fraction, Mask]]) -> ZoneBudget:
        """Return the budget after several purchases, or raise ``BudgetExceeded``."""
        after = self
        for cost, reach in purchases:
            after = after.charge(cost, reach)
        return after


def zones_of(reach: Mask) -> list[int]:
    """Return the numbers of the zones in a reach.

    >>> zones_of(0b101)
    [0, 2]
    """
    return [zone for zone in range(reach.bit_length()) if reach >> zone & 1]
