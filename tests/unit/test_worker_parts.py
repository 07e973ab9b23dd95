"""What a worker puts into one transaction, and which refusals it takes for its own fault."""

from __future__ import annotations

from fractions import Fraction
from types import SimpleNamespace
from typing import Any

import pytest

from noiseledger.chain.block import BlockRef
from noiseledger.chain.contract import MAX_BATCH, MAX_COORDINATES, MAX_PIECE, MAX_STORED
from noiseledger.chain.values import NO_ZONES, ContractReveal
from noiseledger.core.query import Query
from noiseledger.core.zones import Zones
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
        ([MAX_STORED] * (MAX_COORDINATES // MAX_STORED), [MAX_COORDINATES // MAX_STORED]),
        ([MAX_STORED] * (MAX_COORDINATES // MAX_STORED) + [1], [MAX_COORDINATES // MAX_STORED, 1]),
        ([1] + [MAX_STORED] * (MAX_COORDINATES // MAX_STORED), [MAX_COORDINATES // MAX_STORED, 1]),
    ],
)
def test_a_transaction_is_filled_up_to_what_the_contract_takes(dimensions: list[int], sizes: list[int]) -> None:
    reveals = [ContractReveal("aa" * 32, Fraction(0), Fraction(1), (0,) * dimension) for dimension in dimensions]
    cut = list(batches(reveals))
    assert [len(batch) for batch in cut] == sizes
    assert [reveal for batch in cut for reveal in batch] == reveals


@pytest.mark.parametrize("size", [MAX_STORED + 1, MAX_PIECE, MAX_PIECE + 1, 10_000])
@pytest.mark.parametrize("done", [0, 1, MAX_STORED, MAX_STORED + 1])
def test_a_large_answer_goes_on_in_pieces_where_it_was_interrupted(size: int, done: int) -> None:
    small = ContractReveal("aa" * 32, Fraction(0), Fraction(1), (7,))
    large = ContractReveal("bb" * 32, Fraction(0), Fraction(1), tuple(range(size)))
    first, *pieces = batches([large, small], {large.query: done})
    assert first == [small]
    assert all(len(batch) == 1 and batch[0].is_piece and len(batch[0].increments) <= MAX_PIECE for batch in pieces)
    assert [value for (piece,) in pieces for value in piece.increments] == list(range(done, size))
    assert all(piece.increments[0] == piece.first for (piece,) in pieces)


def test_only_the_ledgers_own_blocks_are_read_for_where_stretches_end() -> None:
    """A public chain has millions of blocks before the ledger's first one."""
    read: list[tuple[Any, ...]] = []

    def events(*arguments: Any) -> list[Any]:
        read.append(arguments)
        return []

    contract: Any = SimpleNamespace(events=events)
    terms: Any = SimpleNamespace(reuses=False, zones=1, zone_list=NO_ZONES)
    query, newest = Query.share("age > 60"), BlockRef(9_000, "0xaa")
    view: Any = SimpleNamespace(newest=newest, now={query: SimpleNamespace(bought=Fraction(1))})
    journal: Any = SimpleNamespace(closed=dict, commit_often=lambda: None, zones=Zones.ONE)
    reading = Worker(contract, journal, terms=terms, first_block=8_000)
    with pytest.raises(Behind):
        reading._stops(query, Fraction(0), Fraction(1), view)
    assert read == [(["Asked"], query.identifier, 8_000, newest)]


def test_patience_begins_when_something_is_left_behind(monkeypatch: pytest.MonkeyPatch) -> None:
    unused: Any = SimpleNamespace(zones=1, zone_list=NO_ZONES)
    journal: Any = SimpleNamespace(closed=dict, commit_often=lambda: None, zones=Zones.ONE)
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
