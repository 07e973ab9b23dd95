"""The privacy guarantee of several ledgers together, for a person who is in the data of all of them.

Precisions add up, whoever asked and in whatever order, because all answers have Gaussian noise. If some ledgers protect adding
or removing a record and others protect replacing one, the guarantee is stated for replacement. Replacing a record means
removing one and adding another, which at most doubles a distance, so the precision of an add-or-remove ledger counts fourfold.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from noiseledger.auditing.report import Report
from noiseledger.core.privacy import epsilon_for
from noiseledger.errors import InvalidInput

_TWICE_THE_DISTANCE = 4


@dataclass(frozen=True)
class Composition:
    """The guarantee of several ledgers for people who are in the data of all of them."""

    neighbours: str
    #: The delta at which the epsilons are stated: the largest delta of the ledgers.
    delta: Fraction
    budget: Fraction
    spent: Fraction

    @property
    def epsilon(self) -> float:
        """The epsilon of all budgets together."""
        return epsilon_for(self.budget, self.delta)

    @property
    def epsilon_spent(self) -> float:
        """The epsilon of everything spent so far."""
        return epsilon_for(self.spent, self.delta)


def compose(reports: Sequence[Report]) -> Composition:
    """Return the guarantee of several audited ledgers together; refuse a ledger that is given twice."""
    if len({(report.chain_id, report.address.lower()) for report in reports}) < len(reports):
        raise InvalidInput("The same ledger was given twice: give each ledger once.")
    kinds = {report.neighbours for report in reports}
    neighbours = kinds.pop() if len(kinds) == 1 else "replace"
    weights = [_TWICE_THE_DISTANCE if report.neighbours != neighbours else 1 for report in reports]
    budget = sum((weight * report.budget for weight, report in zip(weights, reports, strict=True)), Fraction(0))
    spent = sum((weight * report.spent for weight, report in zip(weights, reports, strict=True)), Fraction(0))
    return Composition(neighbours, max(report.delta for report in reports), budget, spent)
