"""A worker that cannot be bled: a limit of gas for each day, and one reveal for many purchases."""

# ruff: noqa: F401, F811 - fixtures are imported by name
from __future__ import annotations

from integration.conftest import WORKER
from integration.test_worker import (
    OVER_30,
    OVER_60,
    TOWNS,
    Wire,
    buy,
    catalogue,
    data,
    published,
    wire,
)
from noiseledger.chain import PrivacyLedgerContract, Sender
from noiseledger.core.query import Query
from noiseledger.custodian import Custody, Worker
from noiseledger.custodian.journal import Journal
from noiseledger.custodian.spending import Spending
from noiseledger.data.catalogue import Catalogue
from noiseledger.data.pinned import Pinned
from noiseledger.progress import ProgressEvent, Waiting


class Clock:
    """Time that passes when a test says so."""

    def __init__(self) -> None:
        self.seconds, self.day = 0.0, "2026-11-18"

    def __call__(self) -> float:
        return self.seconds

    def today(self) -> str:
        return self.day


class Thrifty:
    """A worker with limits, and what it said."""

    def __init__(
        self,
        wire: Wire,
        catalogue: Catalogue,
        data: Pinned,
        published: PrivacyLedgerContract,
        gas_per_day: int | None = None,
        gather_seconds: float = 0.0,
    ) -> None:
        self._parts = wire, catalogue, data, published
        self._limits = gas_per_day, gather_seconds
        self.clock = Clock()
        self.events: list[ProgressEvent] = []
        self.restart()

    def restart(self, gas_per_day: int | None = None) -> None:
        """Start again from the files and the chain alone."""
        if gas_per_day is not None:
            self._limits = gas_per_day, self._limits[1]
        wire, catalogue, data, published = self._parts
        self.journal: Journal = Custody.of(catalogue).journal(data)
        spending = Spending(self.journal, *self._limits, self.clock, self.clock.today)
        contract = PrivacyLedgerContract(wire, published.address, Sender(wire, WORKER))
        self.worker = Worker(contract, self.journal, "latest", listener=self.events.append, spending=spending)

    def step(self) -> int:
        return len(self.worker.step().receipts)

    @property
    def waits(self) -> list[str]:
        found = [event.kind for event in self.events if isinstance(event, Waiting)]
        self.events.clear()
        return found


def revealed(contract: PrivacyLedgerContract, *queries: Query) -> list[bool]:
    return [m.revealed == m.bought > 0 for m in contract.meters([query.identifier for query in queries])]


def test_the_gas_of_a_day_is_limited_also_after_a_restart(
    wire: Wire, catalogue: Catalogue, data: Pinned, published: PrivacyLedgerContract
) -> None:
    thrifty = Thrifty(wire, catalogue, data, published, gas_per_day=100_000)
    for query in (OVER_60, TOWNS):
        buy(published, query, "0.5")
        assert thrifty.step() == 1  # the limit is passed by the second one
    buy(published, OVER_30, "0.5")
    for _ in range(2):
        sent = len(wire.sent)
        assert (thrifty.step(), thrifty.waits) == (0, ["GasLimit"])
        assert len(wire.sent) == sent
        assert (
            thrifty.journal.known_point(OVER_30, published.meter(OVER_30.identifier).bought) is None
        )  # not even drawn
    # The journal has the gas of all transactions but the last.
    assert 40_000 < thrifty.journal.gas_used(thrifty.clock.day) < 100_000
    thrifty.restart(gas_per_day=40_000)
    assert (thrifty.step(), thrifty.waits) == (0, ["GasLimit"])
    thrifty.clock.day = "2026-11-19"
    assert (thrifty.step(), thrifty.waits) == (1, [])
    assert revealed(published, OVER_60, TOWNS, OVER_30) == [True] * 3


def test_without_anything_to_answer_no_limit_is_reported(
    wire: Wire, catalogue: Catalogue, data: Pinned, published: PrivacyLedgerContract
) -> None:
    thrifty = Thrifty(wire, catalogue, data, published, gas_per_day=0, gather_seconds=5)
    assert (thrifty.step(), thrifty.waits) == (0, [])


def test_purchases_are_gathered_into_one_reveal(
    wire: Wire, catalogue: Catalogue, data: Pinned, published: PrivacyLedgerContract
) -> None:
    thrifty = Thrifty(wire, catalogue, data, published, gather_seconds=30)
    for seconds, query in ((0, OVER_60), (10, TOWNS), (29, OVER_30)):
        thrifty.clock.seconds = seconds
        buy(published, query, "0.5")
        assert (thrifty.step(), thrifty.waits) == (0, ["Gathering"])
    thrifty.clock.seconds = 30
    assert thrifty.step() == 1
    assert revealed(published, OVER_60, TOWNS, OVER_30) == [True] * 3
    # The next one begins to gather anew.
    buy(published, OVER_60, "0.75")
    assert (thrifty.step(), thrifty.waits) == (0, ["Gathering"])
    thrifty.clock.seconds = 60
    assert thrifty.step() == 1
