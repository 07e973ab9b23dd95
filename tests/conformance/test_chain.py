"""The ledger on a chain conforms: the real contract on a real EVM behind JSON-RPC, with a minimal worker."""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Iterator, Sequence
from fractions import Fraction

import pytest

from conformance.ledger_conformance import (
    CATALOGUE,
    OVER_60,
    PEOPLE,
    POPULATION,
    ZONE_CATALOGUE,
    ZONES,
    MakeLedger,
    NaiveConformance,
    OpenAgain,
    ReuseConformance,
    ZoneConformance,
)
from noiseledger.chain import ContractReveal, Key, PrivacyLedgerContract, Rpc, Sender, Terms, local_chain
from noiseledger.core.budget import Budget
from noiseledger.core.coins import bridge
from noiseledger.core.noise import rounded_gaussians
from noiseledger.core.path import PATH_UNITS
from noiseledger.core.query import Query
from noiseledger.core.sensitivity import sensitivity
from noiseledger.core.zones import Zones
from noiseledger.errors import AnswerPending
from noiseledger.ledger.chain import ChainLedger
from noiseledger.ledger.interface import Ledger, LedgerView
from noiseledger.ledger.mirror import Mirror

CUSTODIAN, WORKER, _ = (Key.from_hex(key) for key in local_chain.PLAY_KEYS)


class MinimalWorker:
    """Reveals what is bought as soon as it sees it; keeps no journal, so it is for tests only."""

    def __init__(self, contract: PrivacyLedgerContract, queries: Sequence[Query]) -> None:
        self._contract = contract
        self._queries = {query.identifier: query for query in queries}
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    def stop(self) -> None:
        self._stop.set()
        self._thread.join()
        self._contract.rpc.close()

    def _run(self) -> None:
        while not self._stop.wait(0.02):
            meters = zip(self._queries, self._contract.meters(list(self._queries)), strict=True)
            for identifier, meter in meters:
                if meter.dimension and meter.revealed < meter.bought:
                    self._contract.reveal([self._draw(identifier, meter.revealed, meter.bought)])

    def _draw(self, identifier: str, start: Fraction, end: Fraction) -> ContractReveal:
        query = self._queries[identifier]
        truth = query.value(PEOPLE.totals(query), PEOPLE.rows)
        drift = (end - start) * PATH_UNITS / sensitivity(query, POPULATION)
        increments = rounded_gaussians([drift * value for value in truth], (end - start) * PATH_UNITS**2)
        return ContractReveal(identifier, start, end, tuple(increments))


@pytest.fixture(scope="module")
def rpc() -> Iterator[Rpc]:
    with local_chain.running() as chain, Rpc(chain.url) as rpc:
        yield rpc


def maker(
    rpc: Rpc,
    workers: list[MinimalWorker],
    *,
    reuses: bool,
    zones: Zones = Zones.ONE,
    queries: Sequence[Query] = CATALOGUE,
) -> MakeLedger:
    def make(epsilon: int, delta: str) -> Ledger:
        budget = Budget.of(epsilon, delta)
        terms = Terms(
            bytes(32),
            POPULATION,
            budget.total,
            budget.epsilon,
            budget.delta,
            reuses=reuses,
            requires_allowance=False,
            zones=zones.count,
            zone_list=hashlib.sha256(zones.canonical.encode()).digest(),
        )
        sender = Sender(rpc, CUSTODIAN)
        contract = PrivacyLedgerContract.deploy(sender, terms, WORKER.address, zone_list=zones.canonical)
        ledger = ChainLedger(contract, record_free=True)
        ledger.add(*queries)
        own = Rpc(rpc.url)
        seen = PrivacyLedgerContract(own, contract.address, Sender(own, WORKER))
        workers.append(MinimalWorker(seen, queries))
        return ledger

    return make


@pytest.fixture
def workers() -> Iterator[list[MinimalWorker]]:
    started: list[MinimalWorker] = []
    yield started
    for worker in started:
        worker.stop()


@pytest.fixture
def open_again() -> Iterator[OpenAgain]:
    """Two who look at the chain by a connection of their own: a client, and the web pages' mirror."""
    connections: list[Rpc] = []

    def open_again(ledger: Ledger) -> list[LedgerView]:
        assert isinstance(ledger, ChainLedger)
        bridge.cache_clear()  # as in another process
        connections.append(Rpc(ledger.contract.rpc.url))
        contract = PrivacyLedgerContract(connections[-1], ledger.contract.address)
        return [ChainLedger(contract), Mirror(contract).look()]

    yield open_again
    for connection in connections:
        connection.close()


class TestChainLedger(ReuseConformance):
    def recorded_analyst(self, name: str) -> str:
        return CUSTODIAN.address

    @pytest.fixture
    def make_ledger(self, rpc: Rpc, workers: list[MinimalWorker]) -> MakeLedger:
        return maker(rpc, workers, reuses=True)


class TestNaiveChainLedger(NaiveConformance):
    def recorded_analyst(self, name: str) -> str:
        return CUSTODIAN.address

    @pytest.fixture
    def make_ledger(self, rpc: Rpc, workers: list[MinimalWorker]) -> MakeLedger:
        return maker(rpc, workers, reuses=False)

    def test_what_is_bought_and_not_revealed_yet_is_not_bought_again(
        self, ledger: Ledger, workers: list[MinimalWorker]
    ) -> None:
        workers.pop().stop()
        assert isinstance(ledger, ChainLedger)
        ledger.answer_seconds = 0.05
        for _ in range(2):
            with pytest.raises(AnswerPending, match="for free"):
                ledger.ask(OVER_60, precision="0.5")
        assert ledger.budget().spent == Fraction(1, 2)


class TestZones(ZoneConformance):
    @pytest.fixture(params=[True, False], ids=["reuse", "naive"])
    def make_zoned(self, rpc: Rpc, workers: list[MinimalWorker], request: pytest.FixtureRequest) -> MakeLedger:
        return maker(rpc, workers, reuses=request.param, zones=ZONES, queries=ZONE_CATALOGUE)
