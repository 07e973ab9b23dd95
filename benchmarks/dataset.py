"""Time and memory of a process that commits to a dataset, or answers the paper's five queries, as the dataset grows."""

from __future__ import annotations

import json
import subprocess
import sys

from benchmarks.crowd import papers_catalogue, people
from benchmarks.dataset_child import COMMITMENT, QUERIES, READING
from benchmarks.helpers import Benchmark, Row, number, show_target, text
from benchmarks.workspace import ROOT, Workspace

#: MiB, for the commitment to ten million rows: what a small machine can spare.
_LIMIT = 1536


def _measure(space: Workspace) -> list[Row]:
    sizes = (10**3, 10**4) if space.quick else (10**4, 10**6, 10**7)
    return [row for size in sizes for row in _rows(space, size)]


def _rows(space: Workspace, size: int) -> list[Row]:
    found = {work: _run(space, size, work) for work in (QUERIES, READING, COMMITMENT)}
    rows: list[Row] = [{"work": work, "rows": size} | row for work, row in found.items()]
    for row in rows:
        row["us_per_row"] = row["processor_seconds"] / size * 10**6
    rows[-1]["to_reading"] = rows[-1]["processor_seconds"] / found[READING]["processor_seconds"]
    rows[-1] |= {"target": f"<= {_LIMIT:,} MiB", "met": rows[-1]["peak_mib"] <= _LIMIT}
    return rows


def _run(space: Workspace, size: int, work: str) -> Row:
    """Work in a process of its own, since a peak never falls again."""
    catalogue = papers_catalogue(space).file
    command = [sys.executable, "-m", "benchmarks.dataset_child", str(people(space, size)), str(catalogue), work]
    printed = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout
    seconds, processor, before, after = json.loads(printed)
    return {"seconds": seconds, "processor_seconds": processor, "peak_mib": after / 1024, "imports_mib": before / 1024}


BENCHMARK = Benchmark(
    title="8. Time and memory by the size of the data",
    note="each in a fresh process, from opening a Parquet file on; the imports are not in the time, and in the memory also "
    "shown by themselves. reading: hand out every record and drop it, which the commitment does too.",
    columns=(
        ("work", text("work")),
        (">rows", number("rows", ",d")),
        (">seconds", number("seconds", ",.2f")),
        (">processor us / row", number("us_per_row", ".2f")),
        (">processor / reading", number("to_reading", ".2f")),
        (">peak MiB", number("peak_mib", ",.0f")),
        (">of which imports", number("imports_mib", ",.0f")),
        ("target", show_target),
    ),
    measure=_measure,
)
