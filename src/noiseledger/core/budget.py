"""A privacy budget: the promise, the amount spent, the amount left."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from fractions import Fraction

from noiseledger.core.numbers import Number, exact, percent
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
    #: Where so much is spent, in words, if the data has several zones.
    where: str = field(default="", compare=False)

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

    def percent(self, amount: Fraction) -> str:
        """Format an amount of precision for people: as a per cent of the whole budget, since per cents add up.

        >>> budget = Budget.of(8, 1e-4).charge(Fraction(1))
        >>> budget.percent(budget.spent), budget.percent(budget.remaining)
        ('29.49%', '70.51%')
        """
        return percent(amount / self.total)

    def charge(self, cost: Fraction) -> Budget:
        """Return the budget after paying ``cost``, or raise ``BudgetExceeded``; this budget never changes."""
        if cost > self.remaining:
            raise BudgetExceeded(cost, self.remaining)
        return replace(self, spent=self.spent + cost)

    def __str__(self) -> str:
        """Show what is used and left, and the promise."""
        return f"privacy budget: {self.standing}"

    @property
    def standing(self) -> str:
        """What is used and left, in units that add up, and the promise, in words.

        What is left has no epsilon here: a reader would add it to the one that is used, and epsilons do not add up.
        """
        return (
            f"used {self.percent(self.spent)} (precision {float(self.spent):.4g}), "
            f"left {self.percent(self.remaining)} (precision {float(self.remaining):.4g}){self.where}; all of it is epsilon "
            f"{float(self.epsilon):g} at delta {float(self.delta):g}, and all answers together use epsilon "
            f"{self.epsilon_spent:.4g}"
        )
