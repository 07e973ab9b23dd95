"""A privacy budget: the promise, the amount spent, the amount left."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction

from noiseledger.core.numbers import Number, exact
from noiseledger.core.privacy import epsilon_for, precision_for
from noiseledger.errors import BudgetExceeded


@dataclass(frozen=True)
class Budget:
    """The promise (epsilon, delta) and the precision that it allows to spend.

    >>> budget = Budget.of(8, 1e-4)
    >>> round(float(budget.total), 4), budget.spent
    (3.3906, Fraction(0, 1))
    """

    epsilon: Fraction
    delta: Fraction
    total: Fraction
    spent: Fraction = Fraction(0)

    @classmethod
    def of(cls, epsilon: Number, delta: Number) -> Budget:
        """Make an unspent budget by the exact conversion."""
        return cls(exact(epsilon, "epsilon"), exact(delta, "delta"), precision_for(epsilon, delta))

    @property
    def remaining(self) -> Fraction:
        """The precision that is left."""
        return self.total - self.spent

    @property
    def epsilon_spent(self) -> float:
        """The amount spent, as an epsilon at the budget's delta."""
        return epsilon_for(self.spent, self.delta)

    @property
    def epsilon_remaining(self) -> float:
        """The amount left, as an epsilon at the budget's delta; the epsilons spent and left do not add up to the total."""
        return epsilon_for(self.remaining, self.delta)

    def charge(self, cost: Fraction) -> Budget:
        """Return the budget after paying ``cost``, or raise ``BudgetExceeded``; this budget never changes."""
        if cost > self.remaining:
            raise BudgetExceeded(cost, self.remaining)
        return replace(self, spent=self.spent + cost)

    def __str__(self) -> str:
        """Show total, spent and left, as epsilon and as precision."""
        return (
            f"budget: epsilon {float(self.epsilon):g} at delta {float(self.delta):g} = precision {float(self.total):.6g}; "
            f"spent {float(self.spent):.6g} (epsilon {self.epsilon_spent:.4g}); "
            f"left {float(self.remaining):.6g} (epsilon {self.epsilon_remaining:.4g})"
        )
