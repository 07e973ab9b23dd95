"""What each scheme spends on a workload, request by request; all of them reach the error that each request wants.

Purchases and prices of ours are those of :mod:`noiseledger.core.combination`; what they cost does not depend on the noise.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from math import inf

import numpy as np

from evaluation.overlap.workloads import Question, Request, Workload
from noiseledger.core.combination.linear import LinearRecord

#: A price below this part of the request's precision is the rounding of a variance.
ROUNDING = 1e-11
#: In the order of the tables.
SCHEMES = ("naive", "identical", "ours", "ours_zones", "histogram")


@dataclass
class Spending:
    """The precision that each scheme has spent after each request."""

    curves: dict[str, list[float]] = field(default_factory=lambda: {scheme: [] for scheme in SCHEMES})
    #: The number of requests for which ours had to buy something.
    purchases: int = 0

    @property
    def last(self) -> dict[str, float]:
        """The total of each scheme."""
        return {scheme: curve[-1] for scheme, curve in self.curves.items()}


class _Zones:
    """The precision spent in each zone, and the largest of them: what counts against the budget."""

    def __init__(self, workload: Workload) -> None:
        self._zones = np.array(workload.zones)
        self._spent = np.zeros(max(workload.zones) + 1)

    def charge(self, question: Question, cost: float) -> None:
        if question.part:
            self._spent += cost
        else:
            self._spent[np.unique(self._zones[list(question.reached)])] += cost

    @property
    def largest(self) -> float:
        return float(self._spent.max())


class _Ours:
    """Reuse across queries: what public answers tell is taken off the price."""

    def __init__(self, workload: Workload) -> None:
        self._records = [LinearRecord(size) for size in workload.cells]

    def buy(self, request: Request) -> float:
        """Buy what is missing, and return its cost; the sensitivity of every count is 1 under add-remove."""
        record = self._records[request.question.part]
        known = max(record.variance(row) for row in request.question.row)
        cost = request.precision - (0.0 if known == inf else 1 / known)
        if cost <= ROUNDING * request.precision:
            return 0.0
        for row in request.question.row:
            if not record.learn(row, answer=0.0, variance=1 / cost):
                raise AssertionError("a measurement was left out, so the price would be wrong")
        return cost


def spend(workload: Workload) -> Spending:
    """Return what each scheme spends; stop if ours ever spends more than the reuse of identical queries."""
    found, ours, zones = Spending(), _Ours(workload), _Zones(workload)
    bought: dict[Question, float] = {}
    bins: dict[int, float] = {}
    naive = identical = across = 0.0
    for done, request in enumerate(workload.requests, 1):
        question, precision = request.question, request.precision
        naive += precision
        before = bought.get(question, 0.0)
        if precision > before:
            identical += precision - before
            bought[question] = precision
        cost = ours.buy(request)
        found.purchases += cost > 0
        across += cost
        zones.charge(question, cost)
        # In a histogram whose bins are the cells, the noise of all bins of a row adds up.
        needed = precision * max(map(len, question.rows))
        bins[question.part] = max(bins.get(question.part, 0.0), needed)
        if across > identical * (1 + 1e-9):
            raise AssertionError(f"request {done} of {workload.name}: ours spent {across}, identical {identical}")
        for scheme, value in zip(SCHEMES, (naive, identical, across, zones.largest, sum(bins.values())), strict=True):
            found.curves[scheme].append(value)
    return found
