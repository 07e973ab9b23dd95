"""Random honest lives of ledgers: the published contract, real noise, and everything that its rules allow."""

from __future__ import annotations

import random
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

from audit.cage import ANALYST, CUSTODIAN, OTHER, TERMS, WORKER, Cage, noise
from noiseledger.chain import Key, Request, Reveal, Rpc, Terms, node
from noiseledger.core.privacy import precision_for
from noiseledger.core.query import Column, Query
from noiseledger.core.sensitivity import Population
from noiseledger.errors import AllowanceExceeded, BudgetExceeded, LedgerPaused, LedgerRefused

ANALYSTS = (ANALYST, OTHER, Key.from_hex(node.PLAY_ANALYSTS[2]))
#: Either may hold custody or reveal, at any time.
HOLDERS = (CUSTODIAN, OTHER)
WORKERS = (WORKER, ANALYSTS[2])
INCOME = Column.of("income", -100, 5000, missing=0)
#: Those that divide need a public number of rows.
QUERIES = (
    Query.count("age > 60"),
    Query.count("town = 'Ulm' AND NOT smokes = TRUE"),
    Query.sum(INCOME, "age > 18"),
    Query.counts_by("town", ["Jena", "Lille", "Ulm"]),
    Query.histogram("age", [0, 20, 40, 60, 80, 100]),
)
DIVIDING = (Query.share("age > 60"), Query.share("smokes = TRUE"), Query.mean(INCOME))
PROMISES = {
    promise: precision_for(*promise)
    for promise in (("8", "1e-4"), ("1", "1e-6"), ("0.5", "1e-5"), ("20", "1e-9"), ("3.25", "0.01"))
}


class Life:
    """One random life, from a seed; refusals are part of it."""

    def __init__(self, rpc: Rpc, folder: Path, seed: int) -> None:
        self.dice = random.Random(seed)
        self.cage = Cage(rpc, folder, self._terms())
        self.cage.named = {}
        self.custodian, self.worker = CUSTODIAN, WORKER
        self.queries: list[Query] = []
        self.requests = 0
        self.reveals = 0

    def _terms(self) -> Terms:
        dice = self.dice
        epsilon, delta = dice.choice(list(PROMISES))
        return replace(
            TERMS,
            commitment=dice.randbytes(32),
            population=dice.choice([Population.replace(dice.randint(1, 10**6)), Population.add_remove()]),
            budget=PROMISES[epsilon, delta],
            epsilon=Fraction(epsilon),
            delta=Fraction(delta),
            reuses=dice.random() < 0.7,
            requires_allowance=dice.random() < 0.4,
        )

    def live(self) -> Cage:
        """Live it, and return where."""
        self.cage.publish()
        self.register()
        for _ in range(4 if self.cage.terms.requires_allowance else 1):
            self.allow()
        moves = [self.ask] * 8 + [self.reveal] * 5 + [self.register, self.allow, self.pause, self.appoint]
        moves += [self.hand_over] * 2
        for _ in range(self.dice.randint(4, 11)):
            self.dice.choice(moves)()
        return self.cage

    def register(self) -> None:
        public = self.cage.terms.population.rows is not None
        new = [query for query in (*QUERIES, *(DIVIDING if public else ())) if query not in self.queries]
        for query in self.dice.sample(new, min(len(new), self.dice.randint(1, 2))):
            ceiling = self._precision() if self.dice.random() < 0.3 else Fraction(0)
            self.cage.register(query, ceiling=ceiling, key=self.custodian)
            self.queries.append(query)
            self.cage.named[f"query_{len(self.queries)}"] = query.canonical

    def allow(self) -> None:
        allowance = self._precision() * self.dice.randint(0, 4)
        self.cage.as_(self.custodian).allow(self.dice.choice(ANALYSTS).address, allowance)

    def pause(self) -> None:
        self.cage.as_(self.custodian).pause(self.dice.random() < 0.4)

    def appoint(self) -> None:
        self.worker = self.dice.choice(WORKERS)
        self.cage.as_(self.custodian).change_worker(self.worker.address)

    def hand_over(self) -> None:
        """Offer custody; it is taken, taken back, or left as it is."""
        heir = self.dice.choice(HOLDERS)
        self.cage.as_(self.custodian).offer_custody(heir.address)
        if self.dice.random() < 0.6:
            self.cage.as_(heir).take_custody()
            self.custodian = heir
        elif self.dice.random() < 0.5:
            self.cage.as_(self.custodian).offer_custody("0x" + "00" * 20)

    def ask(self) -> None:
        """Ask a batch, often for what was asked before; what the contract refuses has not happened."""
        requests = [self._request() for _ in range(self.dice.choice([1, 1, 2, 3, 12]))]
        with suppress(BudgetExceeded, AllowanceExceeded, LedgerPaused, LedgerRefused):
            self.cage.as_(self.dice.choice(ANALYSTS)).ask(requests)
            self.requests += len(requests)

    def _request(self) -> Request:
        query = self.dice.choice(self.queries).identifier
        if self.dice.random() < 0.2:
            promise = self.dice.choice(list(PROMISES))
            return Request(query, PROMISES[promise], *map(Fraction, promise))
        return Request(query, self._precision())

    def _precision(self) -> Fraction:
        return Fraction(self.dice.choice([1, 2, 3, 5, 8, 12]), self.dice.choice([16, 36, 360]))

    def reveal(self) -> None:
        """Reveal some of what is bought: all or some queries, all or some of the way, in one transaction."""
        meters = self.cage.as_(self.worker).meters([query.identifier for query in self.queries])
        found = [
            Reveal(query.identifier, meter.revealed, end, tuple(noise(query.dimension, end - meter.revealed)))
            for query, meter in zip(self.queries, meters, strict=True)
            if (end := self._end(meter.revealed, meter.bought)) > meter.revealed and self.dice.random() < 0.8
        ]
        self._reveal(found)

    def _end(self, start: Fraction, bought: Fraction) -> Fraction:
        return bought if self.dice.random() < 0.7 else start + Fraction(int((bought - start) * 3600), 7200)

    def _reveal(self, found: Sequence[Reveal]) -> None:
        together = self.dice.random() < 0.5
        for batch in [found] if together else [[each] for each in found]:
            if batch:
                self.cage.as_(self.worker).reveal(batch)
                self.reveals += len(batch)
