"""The job for every system: the same invented people, the same requests, the same budget."""

from __future__ import annotations

from contextlib import closing
from dataclasses import dataclass
from functools import cache

from evaluation.people import people
from evaluation.workload import EPSILON, PaperRequest
from noiseledger.data.catalogue import read_catalogue

#: The request that is repeated, to see how often it is charged.
REPEATED = PaperRequest("over_60", "0.5", "0.00001")


@dataclass(frozen=True)
class Task:
    """Requests to make one after the other, even if some are refused, and the epsilon of the budget."""

    requests: tuple[PaperRequest, ...]
    epsilon: str = EPSILON


@dataclass(frozen=True)
class Job:
    """The requests of the comparison, and how often to repeat one request."""

    requests: tuple[PaperRequest, ...]
    repeats: int = 200

    @property
    def workload(self) -> Task:
        """The requests, with the paper's budget."""
        return Task(self.requests)

    @property
    def repetition(self) -> Task:
        """One request many times, with a budget that is enough for all of them even if epsilons add up."""
        return Task((REPEATED,) * self.repeats, str(max(1, self.repeats)))


@cache
def truths() -> dict[str, float]:
    """Return the true answers, which are needed to compute errors. The people are invented."""
    with people() as file:
        catalogue = read_catalogue(file)
        with closing(catalogue.open()) as source:
            found = {}
            for entry in catalogue.entries:
                (value,) = entry.query.value(source.totals(entry.query), source.rows)
                found[entry.name] = float(value)
            return found
