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
from noiseledger.chain.contract import MAX_PIECE, MAX_STORED
from noiseledger.chain.values import RequestStruct
from noiseledger.core.groups import Bins, Keys
from noiseledger.core.privacy import precision_for
from noiseledger.core.query import Column, Query
from noiseledger.core.sensitivity import Population
from noiseledger.core.zones import Zones
from noiseledger.errors import AllowanceExceeded, BudgetExceeded, LedgerPaused, LedgerRefused, NotAllowed

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
    Query.count("town = 'Jena' AND smokes = TRUE"),
    Query.histogram("age", list(range(0, 110, 10))),
    Query.sum(INCOME, "month(born) = 2", by=[Keys.of("town", ["Jena", "Ulm"]), Bins.years("born", [1950, 1980, 2010])]),
)
#: It takes two pieces at least.
LARGE = Query.histogram("age", list(range(301)), "town = 'Ulm'")
ZONES = (
    Zones.ONE,
    Zones.of(Keys.of("town", ["Jena", "Ulm"])),
    Zones.of(Bins.of("age", list(range(0, 100, 5)))),
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
        self.ledger.with_zones(self.rng.choice(ZONES))
        self.ledger.named = {}
        self.custodian, self.worker = CUSTODIAN, WORKER
        self.queries: list[Query] = []
        self.editions = 1
        self.requests = 0
        self.reveals = 0
        self.pieces = 0

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
        if self.rng.random() < 0.5:
            self.open_edition()
        for _ in range(4 if self.ledger.terms.requires_allowance else 1):
            self.allow()
        moves = [self.ask] * 8 + [self.reveal] * 5 + [self.register, self.allow, self.pause, self.appoint]
        moves += [self.hand_over] * 2 + [self.open_edition, self.open_edition, self.retire]
        for _ in range(self.rng.randint(8, 16)):
            self.rng.choice(moves)()
        return self.ledger

    def register(self) -> None:
        public = self.ledger.terms.population.rows is not None
        new = [query for query in (*QUERIES, *(DIVIDING if public else ())) if query not in self.queries]
        few = self.rng.sample(new, min(len(new), self.rng.randint(1, 3)))
        for query in few if self.queries or self.rng.random() < 0.3 else [*few, LARGE]:
            ceiling = self._precision() if self.rng.random() < 0.3 else Fraction(0)
            is_wide = self.rng.random() < 0.1
            self.ledger.register(query, ceiling=ceiling, key=self.custodian, is_wide=is_wide)
            self.queries.append(query)
            self.ledger.named[f"query_{len(self.queries)}"] = query.canonical

    def allow(self) -> None:
        allowance = self._precision() * self.rng.randint(0, 4)
        self.ledger.as_(self.custodian).allow(self.rng.choice(ANALYSTS).address, allowance)

    def open_edition(self) -> None:
        rows = self.ledger.terms.population.rows and self.rng.randint(1, 10**6)
        self.ledger.as_(self.custodian).open_edition(self.rng.randbytes(32), rows)
        self.editions += 1

    def retire(self) -> None:
        with suppress(LedgerRefused):  # it may be retired already
            self.ledger.as_(self.custodian).retire(self.rng.randrange(self.editions))

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
        with suppress(BudgetExceeded, AllowanceExceeded, NotAllowed, LedgerPaused, LedgerRefused):
            self.ledger.as_(self.rng.choice(ANALYSTS)).ask(requests)
            self.requests += len(requests)

    def _request(self) -> RequestStruct:
        query, edition = self.rng.choice(self.queries).identifier, self.rng.randrange(self.editions)
        if self.rng.random() < 0.2:
            promise = self.rng.choice(list(PROMISES))
            return encode_request(query, PROMISES[promise], *map(Fraction, promise), edition=edition)
        return encode_request(query, self._precision(), edition=edition)

    def _precision(self) -> Fraction:
        return Fraction(self.rng.choice([1, 2, 3, 5, 8, 12]), self.rng.choice([16, 36, 360]))

    def reveal(self) -> None:
        """Reveal some of what was bought: all or some queries, completely or partly, in one or several transactions."""
        edition, found = self.rng.randrange(self.editions), []
        meters = self.ledger.as_(self.worker).meters([query.identifier for query in self.queries], edition=edition)
        for query, meter in zip(self.queries, meters, strict=True):
            start, end = meter.revealed, self._end(meter.revealed, meter.bought)
            if end == start or self.rng.random() < 0.2:
                continue
            if query.dimension > MAX_STORED:
                self._reveal_pieces(query, start, end, edition)
            else:
                drawn = tuple(noise(query.dimension, end - start))
                found.append(ContractReveal(query.identifier, start, end, drawn, edition))
        self._reveal(found)

    def _reveal_pieces(self, query: Query, start: Fraction, end: Fraction, edition: int) -> None:
        """Reveal a large answer, or continue with it; it may be interrupted before any piece."""
        contract = self.ledger.as_(self.worker)
        (piece,) = contract.pieces([query.identifier], edition=edition)
        done, end = piece.done, piece.end if piece.done else end
        while done < query.dimension and self.rng.random() < 0.6:
            size = min(self.rng.randint(1, MAX_PIECE), query.dimension - done)
            drawn = tuple(noise(size, end - start))
            contract.reveal([ContractReveal(query.identifier, start, end, drawn, edition, done, query.dimension)])
            done += size
            self.pieces += 1
        self.reveals += done == query.dimension

    def _end(self, start: Fraction, bought: Fraction) -> Fraction:
        return bought if self.rng.random() < 0.7 else start + Fraction(int((bought - start) * 3600), 7200)

    def _reveal(self, found: Sequence[ContractReveal]) -> None:
        together = self.rng.random() < 0.5
        for batch in [found] if together else [[each] for each in found]:
            if batch:
                self.ledger.as_(self.worker).reveal(batch)
                self.reveals += len(batch)
