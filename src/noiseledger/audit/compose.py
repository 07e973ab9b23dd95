"""What several ledgers promise together to somebody who is in all of their data.

Precisions add up, whoever asked and in whatever order, since each ledger's answers are Gaussian. Where one ledger counts a
record added or removed and another a record replaced, the common language is replacement: to replace a record is to remove one
and add one, which at most doubles a distance, so the precision of the first kind counts fourfold.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from noiseledger.audit.report import Report
from noiseledger.core.privacy import epsilon_for
from noiseledger.errors import InvalidInput

_DOUBLED = 4


@dataclass(frozen=True)
class Composed:
    """The guarantee of several ledgers for people who are in all of them."""

    neighbours: str
    #: At which the epsilons are told: the largest of the ledgers' deltas.
    delta: Fraction
    budget: Fraction
    spent: Fraction

    @property
    def epsilon(self) -> float:
        """What all budgets together allow."""
        return epsilon_for(self.budget, self.delta)

    @property
    def epsilon_spent(self) -> float:
        """What was spent of them by now."""
        return epsilon_for(self.spent, self.delta)


def compose(reports: Sequence[Report]) -> Composed:
    """Return the guarantee of several audited ledgers together; refuse to count one of them twice."""
    if len({(report.chain_id, report.address.lower()) for report in reports}) < len(reports):
        raise InvalidInput("The same ledger was given twice: give each of them once.")
    kinds = {report.neighbours for report in reports}
    neighbours = kinds.pop() if len(kinds) == 1 else "replace"
    weights = [_DOUBLED if report.neighbours != neighbours else 1 for report in reports]
    budget = sum((weight * report.budget for weight, report in zip(weights, reports, strict=True)), Fraction(0))
    spent = sum((weight * report.spent for weight, report in zip(weights, reports, strict=True)), Fraction(0))
    return Composed(neighbours, max(report.delta for report in reports), budget, spent)
