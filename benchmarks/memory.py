"""Peak memory of a process that opens a ledger and asks it, as the number of stored records grows."""

from __future__ import annotations

import json
import subprocess
import sys

from benchmarks.helpers import Benchmark, Row, number, show_target, target, text
from benchmarks.workspace import CELLS, ROOT, Workspace

#: SQLite keeps up to 2 MB of a file at hand, which a small ledger does not fill.
_LIMIT = 1.1


def _measure(space: Workspace) -> list[Row]:
    rounds = 5 if space.quick else 50
    rows: list[Row] = []
    for size in space.sizes:
        row: Row = {"process": "open and ask", "records": size} | _peak(str(space.ledger(size)), size, rounds)
        if rows:
            growth = row["peak_mib"] / rows[0]["peak_mib"]
            row |= {"growth": growth} | target(growth, at_most=_LIMIT)
        rows.append(row)
    histogram = _peak(str(space.directory / "histogram.ledger"), 0, rounds=2)
    return [*rows, {"process": f"histogram, {CELLS:,} cells", "records": None} | histogram]


def _peak(file: str, size: int, rounds: int) -> Row:
    """Ask in a process of its own, since a peak never falls again."""
    command = [sys.executable, "-m", "benchmarks.memory_child", file, str(size), str(rounds)]
    printed = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout
    before, after = json.loads(printed)
    return {"peak_mib": after / 1024, "imports_mib": before / 1024}


BENCHMARK = Benchmark(
    title="4. Memory",
    note="peak resident memory of a fresh process; the imports are included and also shown by themselves.",
    columns=(
        ("process", text("process")),
        (">records at first", number("records", ",d")),
        (">peak MiB", number("peak_mib", ".1f")),
        (">of which imports", number("imports_mib", ".1f")),
        (">against the fewest records", number("growth", ".3f")),
        ("target", show_target),
    ),
    measure=_measure,
)
