"""Ledgers to be measured, each new and gone afterwards: the real one, on the chain or in a file, and the naive one.

Why the promise needs no keeping here: the people are invented, so that true answers may be compared with noisy ones. The
ledgers keep it all the same; an experiment that has to go beyond the paper's budget asks for a larger one.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass
from functools import cache

from noiseledger.chain import Key
from noiseledger.client import Client, connect
from noiseledger.core.query import Query
from noiseledger.core.sensitivity import Population
from noiseledger.data.catalogue import read_catalogue
from noiseledger.data.pinned import Pinned
from noiseledger.experiments.desk import Desk, Where, people
from noiseledger.experiments.scratch import scratch_folder
from noiseledger.experiments.workload import DELTA, EPSILON
from noiseledger.ledger import LocalLedger, NaiveLedger


@dataclass(frozen=True)
class Invented:
    """The paper's queries over invented people, held in memory."""

    queries: Mapping[str, Query]
    population: Population
    data: Pinned

    def truth(self, name: str) -> float:
        """Return the true answer: nobody is described by it."""
        query = self.queries[name]
        (value,) = query.value(self.data.totals(query), self.population.rows)
        return float(value)


@cache
def invented() -> Invented:
    """Read the invented people once."""
    with people() as file:
        catalogue = read_catalogue(file)
        queries = {entry.name: entry.query for entry in catalogue.entries}
        with closing(catalogue.source.open()) as source:
            data = Pinned(source, queries.values(), secrets.token_bytes(32))
            return Invented(queries, catalogue.population(data.rows), data)


@contextmanager
def ledger_of(desk: Desk, epsilon: str = EPSILON) -> Iterator[Client]:
    """Connect an analyst to a new ledger, where the settings want it, for the length of a block."""
    if desk.settings.ledger is Where.LOCAL:
        with local_ledger(LocalLedger, epsilon) as client:
            yield client
        return
    with desk.stage(epsilon) as stage:
        key = Key.from_hex(stage.place.analyst)
        # Each look at the chain also sees to the worker: nobody waits for one that has ended.
        with connect(stage.ledger_file, rpc=stage.url, key=key, watch=lambda *_, **__: stage.check()) as client:
            yield client


@contextmanager
def local_ledger(kind: type[LocalLedger], epsilon: str = EPSILON) -> Iterator[Client]:
    """Connect an analyst to a new ledger in a file."""
    found = invented()
    with scratch_folder() as folder:
        ledger = kind.create(
            folder / "people.ledger",
            epsilon=epsilon,
            delta=DELTA,
            population=found.population,
            queries=found.queries.values(),
            source=found.data,
        )
        with Client(ledger, found.queries) as client:
            yield client


@contextmanager
def naive_ledger(epsilon: str = "1000") -> Iterator[Client]:
    """Connect an analyst to the paper's comparison, with a budget that thousands of requests do not use up."""
    with local_ledger(NaiveLedger, epsilon) as client:
        yield client
