"""The privacy guarantee for people of whom there is more than one record: in several editions, or in several ledgers.

A ledger's epsilon protects one record, in one edition. Precisions add up, whoever asked and in whatever order, because all
answers have Gaussian noise. So somebody with a record in each of several editions is protected by the sum of what these
editions may spend, and somebody who is in the data of several ledgers by the sum over ledgers. Zones do not add up: a record
lies in one of them, and the zone that spent most counts.

If some ledgers protect adding or removing a record and others protect replacing one, the guarantee is stated for replacement.
Replacing a record means removing one and adding another, which at most doubles a distance, so the precision of an
add-or-remove ledger counts fourfold.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import inf

from noiseledger.auditing.report import Report
from noiseledger.core.privacy import epsilon_for
from noiseledger.errors import InvalidInput, NoiseledgerError

_TWICE_THE_DISTANCE = 4


@dataclass(frozen=True)
class Composition:
    """The guarantee of several ledgers for people who are in the data of all of them, with a record in every edition."""

    neighbours: str
    #: The delta at which the epsilons are stated: the largest delta of the ledgers.
    delta: Fraction
    budget: Fraction
    spent: Fraction
    #: Whether one of the ledgers has several editions.
    in_editions: bool = False

    @property
    def epsilon(self) -> float:
        """The epsilon of all budgets together."""
        return epsilon_for(self.budget, self.delta)

    @property
    def epsilon_spent(self) -> float:
        """The epsilon of everything spent so far."""
        return epsilon_for(self.spent, self.delta)


@dataclass(frozen=True)
class InEditions:
    """The guarantee of one ledger for people with a record in each of so many editions, whichever these are."""

    editions: int
    delta: Fraction
    budget: Fraction
    #: The sum over the editions that spent most.
    spent: Fraction

    @property
    def epsilon(self) -> float:
        """The epsilon of these editions' budgets together."""
        return _epsilon(self.budget, self.delta)

    @property
    def epsilon_spent(self) -> float:
        """The epsilon of what these editions have spent at most."""
        return _epsilon(min(self.spent, self.budget), self.delta)


def compose(reports: Sequence[Report]) -> Composition:
    """Return the guarantee of several audited ledgers together; refuse a ledger that is given twice."""
    if len({(report.chain_id, report.address.lower()) for report in reports}) < len(reports):
        raise InvalidInput("The same ledger was given twice: give each ledger once.")
    kinds = {report.neighbours for report in reports}
    neighbours = kinds.pop() if len(kinds) == 1 else "replace"
    weights = [_TWICE_THE_DISTANCE if report.neighbours != neighbours else 1 for report in reports]
    every = [in_editions(report, max(len(report.editions), 1)) for report in reports]
    budget = sum((weight * one.budget for weight, one in zip(weights, every, strict=True)), Fraction(0))
    spent = sum((weight * one.spent for weight, one in zip(weights, every, strict=True)), Fraction(0))
    has_editions = any(one.editions > 1 for one in every)
    return Composition(neighbours, max(report.delta for report in reports), budget, spent, has_editions)


def in_editions(report: Report, count: int) -> InEditions:
    """Return the guarantee for people with a record in each of ``count`` editions."""
    most = sorted((edition.most for edition in report.editions), reverse=True) or [report.spent]
    return InEditions(count, report.delta, count * report.budget, sum(most[:count], Fraction(0)))


def across_editions(report: Report) -> list[InEditions]:
    """Return the guarantees for people with records in 2, 5, 10, 20, 50, ... and in all editions; none if there is one."""
    every = len(report.editions)
    steps = (digit * 10**power for power in range(len(str(every))) for digit in (2, 5, 10))
    counts = sorted({count for count in steps if count < every} | {every}) if every > 1 else []
    return [in_editions(report, count) for count in counts]


def protects(report: Report) -> str:
    """Return what a ledger's epsilon protects, in words."""
    if report.neighbours != "replace":
        return "one record, added or removed"
    where = [what for what, has in (("zone", report.zones), ("edition", report.editions)) if len(has) > 1]
    return " ".join(["one record, replaced by another", *(["of the same", " and ".join(where)] if where else [])])


def _epsilon(precision: Fraction, delta: Fraction) -> float:
    try:
        return epsilon_for(precision, delta) if delta else 0.0
    except NoiseledgerError:
        return inf  # an invalid delta gives no guarantee
