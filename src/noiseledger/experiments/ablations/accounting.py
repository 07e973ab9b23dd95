"""What requests cost, without answering them: the sums of a ledger, and none of its noise.

A thousand requests to a ledger in a file are a thousand durable commits; here they are a thousand additions. The tests
show that both charge the same, to the last digit, with reuse and without.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from fractions import Fraction
from random import Random
from typing import TypeAlias

from noiseledger.core.numbers import Number
from noiseledger.core.privacy import classic_precision_for, precision_for
from noiseledger.experiments.ablations.zcdp import zcdp_precision_for

Conversion: TypeAlias = Callable[[Number, Number], Fraction]

#: Ways to turn a promise into a precision, by the name of their look.
CONVERSIONS: dict[str, Conversion] = {
    "exact": precision_for,
    "classic": classic_precision_for,
    "zCDP": zcdp_precision_for,
}


class Account:
    """Charges as ``LocalLedger`` does or, without reuse, as ``NaiveLedger`` does."""

    def __init__(self, budget: Fraction | None = None, *, reuse: bool) -> None:
        """Begin with a budget, or with none that could end."""
        self.spent = Fraction(0)
        self._budget = budget
        self._reuse = reuse
        self._furthest: dict[Hashable, Fraction] = {}

    def ask(self, query: Hashable, precision: Fraction) -> bool:
        """Charge for an answer, or say that it does not fit; then nothing has changed."""
        known = self._furthest.get(query, Fraction(0)) if self._reuse else Fraction(0)
        cost = max(precision - known, Fraction(0))
        if self._budget is not None and self.spent + cost > self._budget:
            return False
        self.spent += cost
        self._furthest[query] = max(precision, known)
        return True

    @property
    def queries(self) -> int:
        """How many different queries were answered."""
        return len(self._furthest)


def draw_types(count: int, types: int, exponent: float, random: Random) -> list[int]:
    """Return which query each request is about: the k-th most popular one is asked for in proportion to 1/k^exponent.

    With exponent 0 all are equally popular.
    """
    weights = [(rank + 1) ** -exponent for rank in range(types)]
    return random.choices(range(types), weights, k=count)
