"""What one step of the worker costs: exchanges with the node, calls in them, and durable commits of the journal."""

# ruff: noqa: F401, F811 - fixtures are imported by name
from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import pytest

from integration.test_worker import (
    OVER_30,
    OVER_60,
    QUERIES,
    TOWNS,
    Wire,
    buy,
    catalogue,
    check_all_answered,
    data,
    published,
    start,
    wire,
)
from noiseledger.chain import PrivacyLedgerContract
from noiseledger.custodian import Worker
from noiseledger.ledger.store import Store

Start = Callable[[], Worker]

#: Look, read what may have changed; find nonce, fee and gas; send. Then one for each time that it asks for the receipt.
MOST, MOST_IDLE = 4, 1
#: The calls to the contract when one query was bought: terms, worker, amount spent; a meter and a point for that query, and for
#: the one that was revealed by the last step. However many queries there are.
MOST_READS = 7


class Costs:
    """What was done since the last time."""

    def __init__(self) -> None:
        self.exchanges: list[list[str]] = []
        self.commits = 0

    def take(self) -> tuple[list[list[str]], int, int]:
        """Return the exchanges without polls, the calls to the contract in them, and the commits."""
        polls = ["eth_getTransactionReceipt"]
        found = [methods for methods in self.exchanges if methods and methods != polls]
        commits, self.exchanges, self.commits = self.commits, [], 0
        return found, sum(methods.count("eth_call") for methods in found), commits


@pytest.fixture
def costs(wire: Wire, monkeypatch: pytest.MonkeyPatch) -> Costs:
    counted = Costs()
    batch, transaction = Wire.batch, Store.transaction

    def counting(self: Wire, calls: Sequence[tuple[str, Sequence[Any]]]) -> list[Any]:
        counted.exchanges.append([method for method, _ in calls])
        return batch(self, calls)

    @contextmanager
    def committing(self: Store) -> Iterator[Any]:
        with transaction(self) as run:
            yield run
        counted.commits += 1

    monkeypatch.setattr(Wire, "batch", counting)
    monkeypatch.setattr(Store, "transaction", committing)
    return counted


def test_a_step_costs_as_much_as_what_has_changed(published: PrivacyLedgerContract, start: Start, costs: Costs) -> None:
    worker = start()
    for query in QUERIES:
        buy(published, query, "0.25")
    worker.step()
    worker.step()
    costs.take()
    for query in (OVER_60, TOWNS, OVER_30):
        buy(published, query, "0.5")
        assert len(worker.step().receipts) == 1
        exchanges, reads, commits = costs.take()
        assert len(exchanges) <= MOST, exchanges
        assert reads <= MOST_READS, exchanges
        assert commits == 1
    check_all_answered(published)
    worker.step()
    costs.take()
    worker.step()
    exchanges, reads, commits = costs.take()
    assert len(exchanges) <= MOST_IDLE, exchanges
    assert (reads, commits) == (0, 0)


def test_the_first_step_reads_each_meter_once(published: PrivacyLedgerContract, start: Start, costs: Costs) -> None:
    for query in QUERIES:
        buy(published, query, "0.25")
    worker = start()
    costs.take()
    worker.step()
    exchanges, reads, commits = costs.take()
    assert len(exchanges) <= MOST, exchanges
    assert reads == 3 + len(QUERIES)
    assert commits == 1
