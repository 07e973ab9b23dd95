"""New ledgers for an experiment: the real one, on a chain or in a file, and the naive one.

Why noisy answers may be compared with true ones here: the people are invented. The ledgers keep their promise as always; an
experiment that needs more than the paper's budget creates a ledger with a larger one.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from itertools import accumulate

from evaluation.context import ExperimentContext, LedgerKind
from evaluation.people import people
from evaluation.scratch import scratch_folder
from evaluation.workload import DELTA, EPSILON
from noiseledger.chain import Key, PrivacyLedgerContract, Rpc, Sender
from noiseledger.chain.contract import MAX_BATCH
from noiseledger.chain.values import Terms, encode_request, from_units
from noiseledger.client import Client, connect
from noiseledger.core.answer import Answer
from noiseledger.core.budget import Budget
from noiseledger.core.query import Query
from noiseledger.core.sensitivity import Population, sensitivity
from noiseledger.data.catalogue import read_catalogue
from noiseledger.data.pinned import Pinned
from noiseledger.errors import ChainMismatch
from noiseledger.ledger import LocalLedger, NaiveLedger

#: An epsilon that is enough for thousands of requests without reuse.
WIDE = "1000"


@dataclass(frozen=True)
class Invented:
    """The paper's queries and the invented people, in memory."""

    queries: Mapping[str, Query]
    population: Population
    data: Pinned

    def sensitivity(self, name: str) -> Fraction:
        """Return how much one person can change an answer."""
        return sensitivity(self.queries[name], self.population)

    def error(self, answer: Answer) -> float:
        """Return the error of an answer, in units of the sensitivity."""
        (truth,) = answer.query.value(self.data.totals(answer.query), self.population.rows)
        return float(answer.reveal.answer[0] - truth / answer.sensitivity)

    def truth(self, name: str) -> float:
        """Return the true answer. It describes nobody."""
        query = self.queries[name]
        (value,) = query.value(self.data.totals(query), self.population.rows)
        return float(value)


@cache
def invented() -> Invented:
    """Return the invented people, who are read once."""
    with people() as file:
        catalogue = read_catalogue(file)
        queries = {entry.name: entry.query for entry in catalogue.entries}
        with closing(catalogue.open()) as source:
            data = Pinned(source, queries.values(), secrets.token_bytes(32))
            return Invented(queries, catalogue.population(data.rows), data)


@contextmanager
def ledger_of(context: ExperimentContext, epsilon: str = EPSILON) -> Iterator[Client]:
    """Connect an analyst to a new ledger of the kind in the settings, as a context manager."""
    if context.settings.ledger is LedgerKind.LOCAL:
        with local_ledger(LocalLedger, epsilon) as client:
            yield client
        return
    with context.system(epsilon) as system:
        key = Key.from_hex(system.accounts.analyst)
        # The worker is checked whenever the client polls the chain, so that nobody waits for a worker that has stopped.
        with connect(system.ledger_file, rpc=system.url, key=key, listener=lambda _: system.check()) as client:
            yield client


@contextmanager
def local_ledger(kind: type[LocalLedger], epsilon: str = EPSILON) -> Iterator[Client]:
    """Connect an analyst to a new ledger in a temporary file, as a context manager."""
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


def naive_totals(context: ExperimentContext, requests: Sequence[tuple[str, Fraction]]) -> list[Fraction]:
    """Return the total cost after each request on a real ledger without reuse. The requests are not answered."""
    if context.settings.ledger is LedgerKind.LOCAL:
        with naive_ledger() as client:
            return [
                client.ask(name, exact_noise=True, precision=precision).budget.spent for name, precision in requests
            ]
    found = invented()
    budget = Budget.of(WIDE, DELTA)
    terms = Terms(
        # There is no data, so there is no commitment.
        commitment=bytes(32),
        population=found.population,
        budget=budget.total,
        epsilon=budget.epsilon,
        delta=budget.delta,
        reuses=False,
        requires_allowance=False,
    )
    with Rpc(context.accounts.url) as rpc:
        sender = Sender(rpc, context.accounts.custodian)
        contract = PrivacyLedgerContract.deploy(sender, terms, sender.address)
        for query in found.queries.values():
            contract.register(query, sensitivity(query, found.population))
        asks = [encode_request(found.queries[name].identifier, precision) for name, precision in requests]
        receipts = [contract.ask(asks[start : start + MAX_BATCH]) for start in range(0, len(asks), MAX_BATCH)]
        events = contract.events(["Asked"], first=receipts[0].block)
        totals = list(accumulate(from_units(event.fields["cost"]) for event in events))
        if len(totals) != len(requests) or totals[-1] != contract.spent():
            raise ChainMismatch("The naive contract's events and state disagree on the amount spent.")
    return totals


@contextmanager
def naive_ledger(epsilon: str = WIDE) -> Iterator[Client]:
    """Connect an analyst to a new local ledger without reuse, as a context manager."""
    with local_ledger(NaiveLedger, epsilon) as client:
        yield client
