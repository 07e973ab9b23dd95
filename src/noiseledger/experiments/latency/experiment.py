"""Experiment ``latency``: how long analysts wait, against how many ask at the same moment.

The paper saw its latency grow "sharply from 60 queries on". Its path is here as a model (query_match.py), on the same kind of
node with the same small blocks, next to ours. Why the promise holds: people are invented, and the ledger guards itself.

At blocks of 1 s nothing else runs meanwhile. At blocks of 15 s nearly all of the time is waiting for blocks, so several
measurements run at once, each on a node of its own: what they cost each other is a fraction of a second in a figure of tens.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from noiseledger.chain import Rpc
from noiseledger.experiments.desk import Desk, Settings
from noiseledger.experiments.latency.findings import Seen, outcome
from noiseledger.experiments.latency.lab import Facts, Way, measure, own_pace
from noiseledger.experiments.latency.query_match import GAS_LIMIT
from noiseledger.experiments.outcome import Outcome

QUICK_SIZES = (1, 10, 100)
SIZES = (1, 3, 10, 30, 60, 100, 300, 1000)
FAST, SLOW = 1, 15
#: How many measurements wait for slow blocks side by side.
AT_ONCE = 10
_OURS = (Way.FREE, Way.FREE_APART, Way.PAID, Way.PAID_APART)
_WAITING = (Way.PAID, Way.PAID_APART, Way.PAPER)
#: Whose chain it is decides what we do there: a transaction for each of thousands of requests is for play money only.
_ELSEWHERE = (Way.FREE, Way.FREE_APART, Way.PAID)


def run(desk: Desk) -> Outcome:
    """Measure, and sum up."""
    seen = _collect([*_undisturbed(desk), *_side_by_side(desk)])
    return outcome(seen, _repetitions(desk.settings), _remarks(desk.settings))


def _remarks(settings: Settings) -> str:
    if settings.rpc is not None:
        return (
            f"The model of the paper's path is left out: {settings.rpc} has its own blocks, and every query would cost."
        )
    if settings.quick:
        return ""
    return f"At {SLOW} s blocks up to {AT_ONCE} measurements wait side by side, each on a node of its own."


def _undisturbed(desk: Desk) -> list[tuple[Mapping[str, Any], list[Facts]]]:
    """Measure one after the other: everything at fast blocks, and at slow ones what does not wait for a block."""
    settings = desk.settings
    if settings.rpc is not None:
        # A piece as well: the others depend on it, and it is never quite the same again.
        (pace,) = desk.pieces("latency, the chain's pace", [{"rpc": settings.rpc}], _own_pace)
        plans: list[tuple[float, Sequence[Way]]] = [(pace, _ELSEWHERE)]
    else:
        plans = [(FAST, _OURS), (FAST, [Way.PAPER])]
        plans += [] if settings.quick else [(SLOW, (Way.FREE, Way.FREE_APART))]
    keys = [
        _key(settings, ways, pace, repetition, _sizes(settings))
        for repetition in range(_repetitions(settings))
        for pace, ways in plans
    ]
    return list(zip(keys, desk.pieces("latency", keys, partial(measure, desk)), strict=True))


def _own_pace(key: Mapping[str, Any]) -> float:
    with Rpc(key["rpc"]) as rpc:
        return round(own_pace(rpc), 1)


def _side_by_side(desk: Desk) -> list[tuple[Mapping[str, Any], list[Facts]]]:
    """Measure what waits for slow blocks; the longest first, so that none is left over in the end."""
    settings = desk.settings
    if settings.rpc is not None or settings.quick:
        return []
    keys = [
        _key(settings, [way], SLOW, repetition, [size])
        for size in reversed(_sizes(settings))
        for way in reversed(_WAITING)
        for repetition in range(_repetitions(settings))
    ]
    what = f"latency, {SLOW} s blocks"
    return list(zip(keys, desk.pieces(what, keys, partial(measure, desk), at_once=AT_ONCE), strict=True))


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
