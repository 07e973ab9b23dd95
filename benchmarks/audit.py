"""Time and memory of an audit as the record grows: time grows in proportion, memory does not grow."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from fractions import Fraction
from hashlib import sha256

from benchmarks.helpers import Benchmark, Row, number, show_target, target, text
from benchmarks.shop import STEP, Shop, chain
from benchmarks.workspace import ROOT, Workspace
from noiseledger.chain import Terms, encode_request
from noiseledger.core.privacy import precision_for
from noiseledger.core.query import Query
from noiseledger.core.sensitivity import Population

_SIZES = (100, 1_000, 10_000, 100_000)
_QUERIES = [Query.share(f"x > {place}") for place in range(100)]
_ROWS = 1000
#: A budget that suffices for all requests.
_EPSILON, _DELTA = Fraction(100), Fraction(1, 10**5)
#: How much the peak memory may grow; libraries and one portion of the record are in memory whatever the size.
_LIMIT = 1.1


def _measure(space: Workspace) -> list[Row]:
    rows: list[Row] = []
    with chain() as rpc:
        budget, promise = precision_for(_EPSILON, _DELTA), (_EPSILON, _DELTA)
        terms = Terms(sha256(b"data").digest(), Population.replace(_ROWS), budget, *promise, requires_allowance=False)
        shop = Shop(rpc, terms=terms)
        names = shop.register_all([query.canonical for query in _QUERIES], 1, _ROWS)
        grown = _growing(shop, names)
        for size in _SIZES[: 2 if space.quick else None]:
            while next(grown) < size:
                pass
            rows.append(_audited(rpc.url, shop.contract.address, size))
    return [rows[0], *(_compared(row, rows[0]) for row in rows[1:])]


def _growing(shop: Shop, names: list[str]) -> Iterator[int]:
    """Repeatedly ask and reveal a hundred requests, each a step beyond the last; yield the total number of requests."""
    count = 0
    while True:
        bought = STEP * (count // len(names) + 1)
        shop.ask([encode_request(name, bought) for name in names])
        shop.reveal(names)
        count += len(names)
        yield count


def _compared(row: Row, first: Row) -> Row:
    growth = row["peak_mib"] / first["peak_mib"]
    return row | {"growth": growth} | target(growth, at_most=_LIMIT)


def _audited(url: str, address: str, size: int) -> Row:
    """Audit in a separate process, because a peak never decreases."""
    command = [sys.executable, "-m", "benchmarks.audit_child", url, address]
    done = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True)
    found = json.loads(done.stdout)
    if not found["well"] or found["requests"] != size:
        raise RuntimeError("The audit of the benchmark's own honest ledger found a problem, or missed requests.")
    seconds, peak = found["seconds"], found["peak_kib"] / 1024
    facts = {"what": "audit", "records": size, "seconds": seconds, "peak_mib": peak}
    return facts | {"imports_mib": found["imports_kib"] / 1024, "us_per_record": 1e6 * seconds / size}


BENCHMARK = Benchmark(
    title="12. An audit, by the number of records",
    note="a record is a request and its reveal, two events. The time is from the first call to the report; most of it is spent "
    "by the node. Memory is the peak of the process, imports included.",
    columns=(
        ("what", text("what")),
        (">records", number("records", ",d")),
        (">seconds", number("seconds", ".2f")),
        (">µs per record", number("us_per_record", ",.0f")),
        (">peak MiB", number("peak_mib", ".1f")),
        (">of which imports", number("imports_mib", ".1f")),
        (">against the fewest records", number("growth", ".3f")),
        ("target", show_target),
    ),
    measure=_measure,
)
