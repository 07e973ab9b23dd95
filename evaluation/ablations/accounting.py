"""The cost of requests without answers: the arithmetic of a ledger, without its noise.

A thousand requests to a ledger in a file are a thousand durable commits; here they are a thousand additions. The tests
show that both charge exactly the same, with and without reuse.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from fractions import Fraction
from random import Random
from typing import TypeAlias

from evaluation.ablations.zcdp import zcdp_precision_for
from noiseledger.core.numbers import Number
from noiseledger.core.privacy import classic_precision_for, precision_for

Conversion: TypeAlias = Callable[[Number, Number], Fraction]

#: Ways to convert (epsilon, delta) into a precision, by their name in the figures.
CONVERSIONS: dict[str, Conversion] = {
    "exact": precision_for,
    "classic": classic_precision_for,
    "zCDP": zcdp_precision_for,
}


class Account:
    """An account that charges like ``LocalLedger`` or, without reuse, like ``NaiveLedger``."""

    def __init__(self, budget: Fraction | None = None, *, reuse: bool) -> None:
        """Start with a budget; None means an unlimited one."""
        self.spent = Fraction(0)
        self._budget = budget
        self._reuse = reuse
        self._furthest: dict[Hashable, Fraction] = {}

    def ask(self, query: Hashable, precision: Fraction) -> bool:
        """Charge for an answer and return True; if it exceeds the budget, charge nothing and return False."""
        known = self._furthest.get(query, Fraction(0)) if self._reuse else Fraction(0)
        cost = max(precision - known, Fraction(0))
        if self._budget is not None and self.spent + cost > self._budget:
            return False
        self.spent += cost
        self._furthest[query] = max(precision, known)
        return True

    @property
    def queries(self) -> int:
        """The number of different queries that were answered."""
        return len(self._furthest)


def draw_types(count: int, types: int, exponent: float, random: Random) -> list[int]:
    """Return a random query for each request; the probability of the k-th query is proportional to 1/k^exponent.

    With exponent 0, all queries are equally popular.
    """
    weights = [(rank + 1) ** -exponent for rank in range(types)]
    return random.choices(range(types), weights, k=count)
