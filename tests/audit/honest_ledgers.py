"""Random honest ledgers: the published contract, real noise, and every operation that the rules allow."""

from __future__ import annotations

import random
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

from audit.ledger_under_test import ANALYST, CUSTODIAN, OTHER, TERMS, WORKER, LedgerUnderTest, noise
from noiseledger.chain import ContractReveal, Key, Rpc, Terms, encode_request, local_chain
from noiseledger.chain.values import RequestStruct
from noiseledger.core.groups import Bins, Keys
from noiseledger.core.privacy import precision_for
from noiseledger.core.query import Column, Query
from noiseledger.core.sensitivity import Population
from noiseledger.errors import AllowanceExceeded, BudgetExceeded, LedgerPaused, LedgerRefused

ANALYSTS = (ANALYST, OTHER, Key.from_hex(local_chain.PLAY_ANALYSTS[2]))
#: Any of these may be custodian or worker at any time.
HOLDERS = (CUSTODIAN, OTHER)
WORKERS = (WORKER, ANALYSTS[2])
INCOME = Column.of("income", -100, 5000, missing=0)
#: The queries in DIVIDING require a public number of rows.
QUERIES = (
    Query.count("age > 60"),
    Query.count("town = 'Ulm' AND NOT smokes = TRUE"),
    Query.sum(INCOME, "age > 18"),
    Query.counts_by("town", ["Jena", "Lille", "Ulm"]),
    Query.histogram("age", [0, 20, 40, 60, 80, 100]),
    Query.sum(INCOME, "month(born) = 2", by=[Keys.of("town", ["Jena", "Ulm"]), Bins.years("born", [1950, 1980, 2010])]),
)
DIVIDING = (Query.share("age > 60"), Query.share("smokes = TRUE"), Query.mean(INCOME))
PROMISES = {
    promise: precision_for(*promise)
    for promise in (("8", "1e-4"), ("1", "1e-6"), ("0.5", "1e-5"), ("20", "1e-9"), ("3.25", "0.01"))
}


class RandomLedger:
    """A ledger with random operations, from a seed; some operations are refused."""

    def __init__(self, rpc: Rpc, folder: Path, seed: int) -> None:
        self.rng = random.Random(seed)
        self.ledger = LedgerUnderTest(rpc, folder, self._terms())
        self.ledger.named = {}
        self.custodian, self.worker = CUSTODIAN, WORKER
        self.queries: list[Query] = []
        self.requests = 0
        self.reveals = 0

    def _terms(self) -> Terms:
        rng = self.rng
        epsilon, delta = rng.choice(list(PROMISES))
        return replace(
            TERMS,
            commitment=rng.randbytes(32),
            population=rng.choice([Population.replace(rng.randint(1, 10**6)), Population.add_remove()]),
            budget=PROMISES[epsilon, delta],
            epsilon=Fraction(epsilon),
            delta=Fraction(delta),
            reuses=rng.random() < 0.7,
            requires_allowance=rng.random() < 0.4,
        )

    def run(self) -> LedgerUnderTest:
        """Run the operations, and return the ledger."""
        self.ledger.publish()
        self.register()
        for _ in range(4 if self.ledger.terms.requires_allowance else 1):
            self.allow()
        moves = [self.ask] * 8 + [self.reveal] * 5 + [self.register, self.allow, self.pause, self.appoint]
        moves += [self.hand_over] * 2
        for _ in range(self.rng.randint(4, 11)):
            self.rng.choice(moves)()
        return self.ledger

    def register(self) -> None:
        public = self.ledger.terms.population.rows is not None
        new = [query for query in (*QUERIES, *(DIVIDING if public else ())) if query not in self.queries]
        for query in self.rng.sample(new, min(len(new), self.rng.randint(1, 2))):
            ceiling = self._precision() if self.rng.random() < 0.3 else Fraction(0)
            self.ledger.register(query, ceiling=ceiling, key=self.custodian)
            self.queries.append(query)
            self.ledger.named[f"query_{len(self.queries)}"] = query.canonical

    def allow(self) -> None:
        allowance = self._precision() * self.rng.randint(0, 4)
        self.ledger.as_(self.custodian).allow(self.rng.choice(ANALYSTS).address, allowance)

    def pause(self) -> None:
        self.ledger.as_(self.custodian).pause(self.rng.random() < 0.4)

    def appoint(self) -> None:
        self.worker = self.rng.choice(WORKERS)
        self.ledger.as_(self.custodian).change_worker(self.worker.address)

    def hand_over(self) -> None:
        """Offer custody; the offer is accepted, withdrawn, or left open."""
        heir = self.rng.choice(HOLDERS)
        self.ledger.as_(self.custodian).offer_custody(heir.address)
        if self.rng.random() < 0.6:
            self.ledger.as_(heir).take_custody()
            self.custodian = heir
        elif self.rng.random() < 0.5:
            self.ledger.as_(self.custodian).offer_custody("0x" + "00" * 20)

    def ask(self) -> None:
        """Ask a batch of requests, often repeated ones; a refused batch changes nothing."""
        requests = [self._request() for _ in range(self.rng.choice([1, 1, 2, 3, 12]))]
        with suppress(BudgetExceeded, AllowanceExceeded, LedgerPaused, LedgerRefused):
            self.ledger.as_(self.rng.choice(ANALYSTS)).ask(requests)
            self.requests += len(requests)

    def _request(self) -> RequestStruct:
        query = self.rng.choice(self.queries).identifier
        if self.rng.random() < 0.2:
            promise = self.rng.choice(list(PROMISES))
            return encode_request(query, PROMISES[promise], *map(Fraction, promise))
        return encode_request(query, self._precision())

    def _precision(self) -> Fraction:
        return Fraction(self.rng.choice([1, 2, 3, 5, 8, 12]), self.rng.choice([16, 36, 360]))

    def reveal(self) -> None:
        """Reveal some of what was bought: all or some queries, completely or partly, in one or several transactions."""
        meters = self.ledger.as_(self.worker).meters([query.identifier for query in self.queries])
        found = [
            ContractReveal(query.identifier, meter.revealed, end, tuple(noise(query.dimension, end - meter.revealed)))
            for query, meter in zip(self.queries, meters, strict=True)
            if (end := self._end(meter.revealed, meter.bought)) > meter.revealed and self.rng.random() < 0.8
        ]
        self._reveal(found)

    def _end(self, start: Fraction, bought: Fraction) -> Fraction:
        return bought if self.rng.random() < 0.7 else start + Fraction(int((bought - start) * 3600), 7200)

    def _reveal(self, found: Sequence[ContractReveal]) -> None:
        together = self.rng.random() < 0.5
        for batch in [found] if together else [[each] for each in found]:
            if batch:
                self.ledger.as_(self.worker).reveal(batch)
                self.reveals += len(batch)
