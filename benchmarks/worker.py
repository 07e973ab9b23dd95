"""Requests answered per second by the worker, beside bare transactions on the same node."""

from __future__ import annotations

from collections.abc import Mapping
from random import Random
from typing import TypeAlias

from benchmarks.helpers import Benchmark, Row, Task, Times, number, per_second, ratio, text
from benchmarks.office import Office, office
from benchmarks.shop import chain
from benchmarks.workspace import Workspace
from noiseledger.chain.contract import MAX_BATCH

#: Who, and how many at once.
_Name: TypeAlias = tuple[str, int]
_BARE, _WORKER = "bare transactions", "worker"


def _measure(space: Workspace) -> list[Row]:
    sizes = (1, 10 if space.quick else MAX_BATCH)
    times = {(who, size): Times() for size in sizes for who in (_BARE, _WORKER)}
    for round_ in range(1 if space.quick else 3):
        # A new chain, since anvil slows down as its chain grows.
        with chain() as rpc, office(rpc, space.directory / f"office {round_}") as at_work:
            _warm_up(at_work)
            order = Random(round_)
            # One size after the other: what comes after a full transaction waits for a node that is still busy with it.
            for size in sizes:
                for _ in range(1 if space.quick else 10):
                    for who in order.sample((_BARE, _WORKER), 2):
                        _time(at_work, (who, size), times[who, size])
    return [_row(times, name) for name in times]


def _warm_up(at_work: Office) -> None:
    at_work.buy(1)
    at_work.answer()
    at_work.transfer(1)


def _time(at_work: Office, name: _Name, times: Times) -> None:
    who, size = name
    if who == _BARE:
        times.measure(Task(lambda: at_work.transfer(size), size))
        return
    at_work.buy(size)
    times.measure(Task(at_work.answer, size))
    at_work.check(size)


def _row(times: Mapping[_Name, Times], name: _Name) -> Row:
    who, size = name
    return {
        "by": who,
        "at_once": size,
        "per_second": per_second(times[name]),
        "ratio": ratio(times[_BARE, size], times[name]),
    }


BENCHMARK = Benchmark(
    title="9. The worker on anvil",
    note="one step of a worker over a catalogue of 100 queries, from looking at the chain to the receipt: draw, journal, sign, "
    "send, confirm. Buying is not measured. bare: as many transfers, sent together and confirmed by the same sender in turns "
    "with it; the worker sends what waits in one transaction. Medians over rounds; anvil mines at once.",
    columns=(
        ("by", text("by")),
        (">at once", number("at_once", "d")),
        (">per second", number("per_second", ",.1f")),
        (">speed / bare", number("ratio", ",.2f")),
    ),
    measure=_measure,
)
