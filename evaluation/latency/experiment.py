"""Experiment ``latency``: how long analysts wait, depending on how many ask at the same time.

The paper saw its latency grow "sharply from 60 queries on". A model of its contract (query_match.py) is measured here beside
ours, on the same kind of node with the same small blocks. Why the promise holds: the people are invented, and the ledger is a
real one, which protects itself.

With a block every second, measurements run one at a time. With a block every 15 seconds nearly all of the time is waiting, so
several measurements run in parallel, each on its own node: they delay each other by a fraction of a second in tens of seconds.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from evaluation.context import ExperimentContext, Settings
from evaluation.latency.findings import Seen, outcome
from evaluation.latency.lab import Facts, Way, measure, own_pace
from evaluation.latency.query_match import GAS_LIMIT
from evaluation.outcome import Outcome
from noiseledger.chain import Rpc

QUICK_SIZES = (1, 10, 100)
SIZES = (1, 3, 10, 30, 60, 100, 300, 1000)
FAST, SLOW = 1, 15
#: How many measurements with slow blocks run in parallel.
AT_ONCE = 10
_OURS = (Way.FREE, Way.FREE_APART, Way.PAID, Way.PAID_APART)
_WAITING = (Way.PAID, Way.PAID_APART, Way.PAPER)
#: On another chain, one transaction for each of thousands of requests would cost too much.
_ELSEWHERE = (Way.FREE, Way.FREE_APART, Way.PAID)


def run(context: ExperimentContext) -> Outcome:
    """Measure, and summarise."""
    seen = _collect([*_undisturbed(context), *_side_by_side(context)])
    return outcome(seen, _repetitions(context.settings), _remarks(context.settings))


def _remarks(settings: Settings) -> str:
    if settings.rpc is not None:
        return (
            f"The model of the paper's path is left out: {settings.rpc} has its own block size, and each query would cost a "
            "fee."
        )
    if settings.quick:
        return ""
    return f"With a block every {SLOW} s, up to {AT_ONCE} measurements run in parallel, each on its own node."


def _undisturbed(context: ExperimentContext) -> list[tuple[Mapping[str, Any], list[Facts]]]:
    """Measure one at a time: everything with fast blocks, and with slow blocks what does not wait for a block."""
    settings = context.settings
    if settings.rpc is not None:
        # Cached as well: the keys of the other results contain it, and a new measurement would differ slightly.
        (pace,) = context.compute("latency, the chain's pace", [{"rpc": settings.rpc}], _own_pace)
        plans: list[tuple[float, Sequence[Way]]] = [(pace, _ELSEWHERE)]
    else:
        plans = [(FAST, _OURS), (FAST, [Way.PAPER])]
        plans += [] if settings.quick else [(SLOW, (Way.FREE, Way.FREE_APART))]
    keys = [
        _key(settings, ways, pace, repetition, _sizes(settings))
        for repetition in range(_repetitions(settings))
        for pace, ways in plans
    ]
    return list(zip(keys, context.compute("latency", keys, partial(measure, context)), strict=True))


def _own_pace(key: Mapping[str, Any]) -> float:
    with Rpc(key["rpc"]) as rpc:
        return round(own_pace(rpc), 1)


def _side_by_side(context: ExperimentContext) -> list[tuple[Mapping[str, Any], list[Facts]]]:
    """Measure in parallel what waits for slow blocks; the longest first, so that all end at about the same time."""
    settings = context.settings
    if settings.rpc is not None or settings.quick:
        return []
    keys = [
        _key(settings, [way], SLOW, repetition, [size])
        for size in reversed(_sizes(settings))
        for way in reversed(_WAITING)
        for repetition in range(_repetitions(settings))
    ]
    what = f"latency, {SLOW} s blocks"
    return list(zip(keys, context.compute(what, keys, partial(measure, context), at_once=AT_ONCE), strict=True))


def _key(settings: Settings, ways: Sequence[Way], pace: float, repetition: int, sizes: Sequence[int]) -> dict[str, Any]:
    place = {"gas_limit": GAS_LIMIT} if settings.rpc is None else {"rpc": settings.rpc}
    facts = {"ways": list(ways), "block_seconds": pace, "repetition": repetition, "sizes": list(sizes)}
    return facts | {"seed": settings.seed} | place


def _sizes(settings: Settings) -> list[int]:
    sizes = QUICK_SIZES if settings.quick else SIZES
    most = min(settings.requests or sizes[-1], sizes[-1])
    return [*(size for size in sizes if size < most), most]


def _repetitions(settings: Settings) -> int:
    return settings.repetitions_or(1, 3)


def _collect(pieces: Sequence[tuple[Mapping[str, Any], list[Facts]]]) -> list[Seen]:
    runs: dict[tuple[float, Way, int], list[Facts]] = {}
    for key, results in pieces:
        for facts in results:
            runs.setdefault((key["block_seconds"], Way(facts["way"]), facts["size"]), []).append(facts)
    order = list(Way)
    found = [Seen(*place, runs=facts) for place, facts in runs.items()]
    return sorted(found, key=lambda one: (one.block_seconds, order.index(one.way), one.size))
