"""Requests and readings per second on anvil, beside its own rate of bare transfers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from random import Random

from benchmarks.customer import (
    ALONE,
    BARE,
    BATCHED,
    ONE_BY_ONE,
    READ,
    READ_BATCHED,
    SENT,
    SIGNED,
    SIMULATED,
    Customer,
    Name,
)
from benchmarks.helpers import Benchmark, Row, Times, number, per_second, ratio, show_target, target, text
from benchmarks.shop import chain
from benchmarks.workspace import Workspace
from noiseledger.errors import TransactionPending

_LIMIT = 5
_NAMES: tuple[Name, ...] = (
    *((BARE, way) for way in (ONE_BY_ONE, SENT, SIGNED)),
    *((what, way) for what in (ALONE, BATCHED) for way in (ONE_BY_ONE, SIMULATED, SENT, SIGNED)),
    *((what, ONE_BY_ONE) for what in (READ, READ_BATCHED)),
)
#: Both are judged by anvil's own rate. That is hard on the first, whose encoding and signing the transfers are spared.
_JUDGED = ((BATCHED, SENT), (BATCHED, SIGNED))
#: Bare transfers that were sent in the same way. None for one by one: whether the sender's first look at a receipt comes
#: in time, or it sleeps for 50 ms, decides those, and their ratio came out as anything from 1 to 98.
_ALIKE = {SIMULATED: (BARE, SENT), SENT: (BARE, SENT), SIGNED: (BARE, SIGNED)}


def _measure(space: Workspace) -> list[Row]:
    order = Random(0)
    times = {name: Times() for name in _NAMES}
    stalled: Counter[Name] = Counter()
    for _ in range(1 if space.quick else 7):
        for name in order.sample(_NAMES, len(_NAMES)):
            while not _measured(name, times[name], transfers=20 if space.quick else 400):
                stalled[name] += 1
    return [_row(times, name) | {"stalled": stalled[name]} for name in _NAMES]


def _measured(name: Name, times: Times, transfers: int) -> bool:
    """Measure on a new chain; say no where anvil never mined all that it had accepted.

    A new one, because anvil slows down so much as its chain grows that what came before would decide the ratios.
    """
    with chain() as rpc:
        customer = Customer(rpc, transfers)
        task = customer.tasks()[name]()
        try:
            times.measure(task)
        except TransactionPending:
            return False
        customer.check()
    return True


def _row(times: Mapping[Name, Times], name: Name) -> Row:
    what, way = name
    own = ratio(times[BARE, SIGNED], times[name])
    row: Row = {"what": what, "way": way, "per_second": per_second(times[name]), "to_bare": own}
    if what != BARE and way in _ALIKE:
        row["to_alike"] = ratio(times[_ALIKE[way]], times[name])
    return row | target(own, at_least=_LIMIT) if name in _JUDGED else row


BENCHMARK = Benchmark(
    title="6. Throughput on anvil",
    note="each measured on a new chain, since anvil slows down as its chain grows; it mines at once. own: against anvil's "
    "own rate, that of bare transfers signed before. alike: against bare transfers sent in the same way. Medians over "
    "rounds. One key; JSON-RPC batches of up to 100. one by one: each waits for the one before, requests simulated first. "
    "sent together: by our sender, encoding, signing and receipts included, gas known. signed before: sending and mining "
    "only. stalled: rounds done again because anvil never mined what it had accepted.",
    columns=(
        ("what", text("what")),
        ("way", text("way")),
        (">per second", number("per_second", ",.0f")),
        (">speed / own", number("to_bare", ",.2f")),
        (">speed / alike", number("to_alike", ",.2f")),
        (">stalled", number("stalled", "d")),
        ("target", show_target),
    ),
    measure=_measure,
)
