"""Ledgers to be measured, each new and gone afterwards: the real one, on the chain or in a file, and the naive one.

Why the promise needs no keeping here: the people are invented, so that true answers may be compared with noisy ones. The
ledgers keep it all the same; an experiment that has to go beyond the paper's budget asks for a larger one.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from itertools import accumulate

from noiseledger.chain import Key, PrivacyLedgerContract, Rpc, Sender
from noiseledger.chain.contract import MAX_BATCH
from noiseledger.chain.values import Request, Terms, from_units
from noiseledger.client import Client, connect
from noiseledger.core.answer import Answer
from noiseledger.core.budget import Budget
from noiseledger.core.query import Query
from noiseledger.core.sensitivity import Population, sensitivity
from noiseledger.data.catalogue import read_catalogue
from noiseledger.data.pinned import Pinned
from noiseledger.errors import ChainMismatch
from noiseledger.experiments.desk import Desk, Where, people
from noiseledger.experiments.scratch import scratch_folder
from noiseledger.experiments.workload import DELTA, EPSILON
from noiseledger.ledger import LocalLedger, NaiveLedger

#: A budget that thousands of requests do not use up.
WIDE = "1000"


@dataclass(frozen=True)
class Invented:
    """The paper's queries over invented people, held in memory."""

    queries: Mapping[str, Query]
    population: Population
    data: Pinned

    def sensitivity(self, name: str) -> Fraction:
        """Return how far one person can move an answer: it follows from the catalogue."""
        return sensitivity(self.queries[name], self.population)

    def error(self, answer: Answer) -> float:
        """Return how far an answer is off, in units of the sensitivity."""
        (truth,) = answer.query.value(self.data.totals(answer.query), self.population.rows)
        return float(answer.reveal.answer[0] - truth / answer.sensitivity)

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
        with closing(catalogue.open()) as source:
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
        with connect(stage.ledger_file, rpc=stage.url, key=key, listener=lambda _: stage.check()) as client:
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


def naive_totals(desk: Desk, requests: Sequence[tuple[str, Fraction]]) -> list[Fraction]:
    """Return what a real ledger without reuse has spent after each request; nothing is answered, for that has no say in it."""
    if desk.settings.ledger is Where.LOCAL:
        with naive_ledger() as client:
            return [
                client.ask(name, exact_noise=True, precision=precision).budget.spent for name, precision in requests
            ]
    found = invented()
    budget = Budget.of(WIDE, DELTA)
    terms = Terms(
        # No data is behind it, hence no commitment.
        commitment=bytes(32),
        population=found.population,
        budget=budget.total,
        epsilon=budget.epsilon,
        delta=budget.delta,
        reuses=False,
        requires_allowance=False,
    )
    with Rpc(desk.place.url) as rpc:
        sender = Sender(rpc, desk.place.custodian)
        contract = PrivacyLedgerContract.deploy(sender, terms, sender.address)
        for query in found.queries.values():
            contract.register(query, sensitivity(query, found.population))
        asks = [Request(found.queries[name].identifier, precision) for name, precision in requests]
        receipts = [contract.ask(asks[start : start + MAX_BATCH]) for start in range(0, len(asks), MAX_BATCH)]
        events = contract.events(["Asked"], first=receipts[0].block)
        totals = list(accumulate(from_units(event.fields["cost"]) for event in events))
        if len(totals) != len(requests) or totals[-1] != contract.spent():
            raise ChainMismatch("The naive contract's events and its balance disagree.")
    return totals


@contextmanager
def naive_ledger(epsilon: str = WIDE) -> Iterator[Client]:
    """Connect an analyst to the paper's comparison, with a budget that thousands of requests do not use up."""
    with local_ledger(NaiveLedger, epsilon) as client:
        yield client
