"""How long an analyst waits: for what is free, for what is paid, and for many requests at once, in blocks."""

from __future__ import annotations

from fractions import Fraction
from itertools import count
from statistics import median
from time import perf_counter

import noiseledger as nl
from benchmarks.helpers import Benchmark, Row, number, text
from benchmarks.workspace import Workspace
from noiseledger.chain import Key, local_chain
from noiseledger.core.access import Access
from noiseledger.demo.system import census_system

_NAMES = ("mean_income", "citizens", "white", "over_60", "ages")
_SIZES = (1, 10, 60, 100, 1000)
#: So little that thousands of requests fit into the budget; each goes a step further than all before it, so each is paid.
_STEP = Fraction(1, 10_000)


def _measure(space: Workspace) -> list[Row]:
    block_seconds, rounds = (0.5, 1) if space.quick else (1.0, 3)
    rows: list[Row] = []
    with census_system(block_seconds=block_seconds, access=Access.OPEN, has_smallest_purchase=False) as system:
        key = Key.from_hex(local_chain.PLAY_ANALYSTS[0])
        with nl.connect(system.ledger_file, rpc=system.url, key=key) as client:
            client.ask([client.resolve(name, precision=_STEP) for name in _NAMES])
            free = [_seconds(lambda: client.ask("over_60", precision=_STEP)) for _ in range(10 * rounds)]
            rows.append(_row("free", 1, median(free), block_seconds))
            steps = count(2)
            for size in _SIZES[: 2 if space.quick else None]:
                times = []
                for _ in range(rounds):
                    requests = [
                        client.resolve(_NAMES[i % len(_NAMES)], precision=next(steps) * _STEP) for i in range(size)
                    ]
                    times.append(_seconds(lambda requests=requests: client.ask(requests)))
                rows.append(_row("paid", size, median(times), block_seconds))
    return rows


def _seconds(call: object) -> float:
    assert callable(call)
    start = perf_counter()
    call()
    return perf_counter() - start


def _row(what: str, requests: int, seconds: float, block_seconds: float) -> Row:
    facts = {"what": what, "requests": requests, "seconds": seconds, "blocks": seconds / block_seconds}
    return facts | {"per_request_ms": 1000 * seconds / requests}


BENCHMARK = Benchmark(
    title="10. What an analyst waits for, with a block every second",
    note="from the call to the answers, through the chain and the worker's own process. free: a read. paid: the request "
    "waits for a block, the worker sees it (it looks every 0.1 s), and the answer waits for the next block. Medians.",
    columns=(
        ("what", text("what")),
        (">requests at once", number("requests", "d")),
        (">seconds", number("seconds", ".3f")),
        (">blocks", number("blocks", ".2f")),
        (">ms per request", number("per_request_ms", ",.2f")),
    ),
    measure=_measure,
)
