"""What a worker puts into one transaction, and which refusals it takes for its own fault."""

from __future__ import annotations

from fractions import Fraction
from types import SimpleNamespace
from typing import Any

import pytest

from noiseledger.chain.block import BlockRef
from noiseledger.chain.contract import MAX_BATCH, MAX_COORDINATES
from noiseledger.chain.values import ContractReveal
from noiseledger.core.query import Query
from noiseledger.custodian import worker
from noiseledger.custodian.worker import Worker, batches
from noiseledger.ledger.query_state import Behind


@pytest.mark.parametrize(
    ("dimensions", "sizes"),
    [
        ([], []),
        ([1], [1]),
        ([1] * MAX_BATCH, [MAX_BATCH]),
        ([1] * (MAX_BATCH + 1), [MAX_BATCH, 1]),
        ([MAX_COORDINATES], [1]),
        ([MAX_COORDINATES - 1, 1, 1], [2, 1]),
        ([MAX_COORDINATES, 1], [1, 1]),
        ([1, MAX_COORDINATES, 1, MAX_COORDINATES - 1], [1, 1, 2]),
    ],
)
def test_a_transaction_is_filled_up_to_what_the_contract_takes(dimensions: list[int], sizes: list[int]) -> None:
    reveals = [ContractReveal("aa" * 32, Fraction(0), Fraction(1), (0,) * dimension) for dimension in dimensions]
    cut = list(batches(reveals))
    assert [len(batch) for batch in cut] == sizes
    assert [reveal for batch in cut for reveal in batch] == reveals


def test_only_the_ledgers_own_blocks_are_read_for_where_stretches_end() -> None:
    """A public chain has millions of blocks before the ledger's first one."""
    read: list[tuple[Any, ...]] = []

    def events(*arguments: Any) -> list[Any]:
        read.append(arguments)
        return []

    contract: Any = SimpleNamespace(events=events)
    terms: Any = SimpleNamespace(reuses=False)
    query, newest = Query.share("age > 60"), BlockRef(9_000, "0xaa")
    view: Any = SimpleNamespace(newest=newest, now={query: SimpleNamespace(bought=Fraction(1))})
    journal: Any = SimpleNamespace(closed=dict, commit_often=lambda: None)
    reading = Worker(contract, journal, terms=terms, first_block=8_000)
    with pytest.raises(Behind):
        reading._stops(query, Fraction(0), Fraction(1), view)
    assert read == [(["Asked"], query.identifier, 8_000, newest)]


def test_patience_begins_when_something_is_left_behind(monkeypatch: pytest.MonkeyPatch) -> None:
    unused: Any = SimpleNamespace()
    journal: Any = SimpleNamespace(closed=dict, commit_often=lambda: None)
    clock = SimpleNamespace(now=0.0)
    monkeypatch.setattr(worker, "time", SimpleNamespace(monotonic=lambda: clock.now))
    waiting = Worker(unused, journal, terms=unused, patience=60)

    def place(seconds: float, mined: int, pending: int) -> int | None:
        clock.now = seconds
        view: Any = SimpleNamespace(mined=mined, pending=pending)
        return waiting._place(view)

    assert place(0, mined=5, pending=5) is None
    assert place(100, mined=5, pending=5) is None  # nothing waits
    assert place(200, mined=5, pending=6) is None
    assert place(259, mined=5, pending=6) is None
    assert place(260, mined=5, pending=6) == 5
    assert place(300, mined=6, pending=7) is None  # another one
    assert place(301, mined=7, pending=7) is None
    assert place(400, mined=7, pending=8) is None
    assert place(460, mined=7, pending=8) == 7
