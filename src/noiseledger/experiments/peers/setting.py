"""What every system is given: the same invented people, the same requests, the same budget."""

from __future__ import annotations

from contextlib import closing
from dataclasses import dataclass
from functools import cache

from noiseledger.data.catalogue import read_catalogue
from noiseledger.experiments.desk import people
from noiseledger.experiments.workload import EPSILON, PaperRequest

#: Asked again and again, to see how often it is charged.
REPEATED = PaperRequest("over_60", "0.5", "0.00001")


@dataclass(frozen=True)
class Task:
    """Requests to make one after the other, whatever becomes of each, within a budget of this epsilon."""

    requests: tuple[PaperRequest, ...]
    epsilon: str = EPSILON


@dataclass(frozen=True)
class Job:
    """A workload to compare systems by, and how often to repeat one request."""

    requests: tuple[PaperRequest, ...]
    repeats: int = 200

    @property
    def workload(self) -> Task:
        """The requests, within the paper's budget."""
        return Task(self.requests)

    @property
    def repetition(self) -> Task:
        """One request many times, within a budget that pays for all of them even if epsilons add up."""
        return Task((REPEATED,) * self.repeats, str(max(1, self.repeats)))


@cache
def truths() -> dict[str, float]:
    """Return the true answers: they may be known, and compared with, because the people are invented."""
    with people() as file:
        catalogue = read_catalogue(file)
        with closing(catalogue.open()) as source:
            found = {}
            for entry in catalogue.entries:
                (value,) = entry.query.value(source.totals(entry.query), source.rows)
                found[entry.name] = float(value)
            return found
