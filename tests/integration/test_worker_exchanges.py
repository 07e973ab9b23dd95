"""What one step of the worker costs: exchanges with the node, calls in them, and durable commits of the journal."""

# ruff: noqa: F401, F811 - fixtures are imported by name
from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from random import Random
from typing import Any

import pytest

from depth import examples
from integration.conftest import WORKER, as_seen_by
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
from noiseledger.chain import PrivacyLedgerContract, Rpc
from noiseledger.custodian import Worker
from noiseledger.custodian.view import Views
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


def test_the_first_step_reads_each_meter_and_reach_once(
    published: PrivacyLedgerContract, start: Start, costs: Costs
) -> None:
    for query in QUERIES:
        buy(published, query, "0.25")
    worker = start()
    costs.take()
    worker.step()
    exchanges, reads, commits = costs.take()
    assert len(exchanges) <= MOST, exchanges
    assert reads == 3 + 2 * len(QUERIES)
    assert commits == 1


def test_a_purchase_that_no_event_names_is_answered_as_well(
    published: PrivacyLedgerContract, start: Start, wire: Wire, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A node may have a block before it has found its events: the amount spent says that something is missing."""
    worker = start()
    worker.step()
    batch = Wire.batch

    def forgetful(self: Wire, calls: Sequence[tuple[str, Sequence[Any]]]) -> list[Any]:
        replies = batch(self, calls)
        return [[] if method == "eth_getLogs" else reply for (method, _), reply in zip(calls, replies, strict=True)]

    monkeypatch.setattr(Wire, "batch", forgetful)
    buy(published, TOWNS, "0.25")
    assert len(worker.step().receipts) == 1
    check_all_answered(published)


@pytest.mark.parametrize("head", ["latest", "latest-2"])
def test_a_view_after_another_is_what_reading_everything_gives(
    published: PrivacyLedgerContract, start: Start, rpc: Rpc, head: str
) -> None:
    """Whatever happens in between: purchases, answers, empty blocks, and blocks that are taken back."""
    journal = start()._journal
    contract = as_seen_by(WORKER, published)
    worker = Worker(contract, journal, head=head)
    dice = Random(0)
    what: dict[str, Callable[[], object]] = {
        "buy": lambda: buy(published, dice.choice(QUERIES), str(dice.randint(1, 64) / 64)),
        "answer": worker.step,
        "wait": lambda: rpc.call("evm_mine"),
        "take back": lambda: rpc.call("anvil_rollback", dice.randint(1, 2)),
        "replace": lambda: (rpc.call("anvil_rollback", 1), rpc.call("anvil_mine", 2)),
        "nothing": lambda: None,
    }
    views = Views(contract, published.terms(), head)
    first = rpc.call("eth_blockNumber")
    for name in dice.choices(list(what), (4, 5, 2, 1, 3, 1), k=examples(40)):
        if name not in ("take back", "replace") or int(rpc.call("eth_blockNumber"), 16) > int(first, 16) + 2:
            what[name]()
        assert views.next(journal.queries()) == Views(contract, published.terms(), head).next(journal.queries()), name
