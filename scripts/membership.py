"""Attack the whole system and weakened copies of it, and compare the proved epsilon with the promised one.

Run it with ``make membership``. Noise is drawn as always, from the operating system's secure generator, so no two runs are
alike. The exit code is 1 if the system breaks its promise, or if a weakened copy seems to keep it.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from math import inf
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "tests")]

from attacks.weakened_systems import WEAKENED  # noqa: E402 - weakened systems are in the tests, not in the package
from evaluation.membership.statistics import CONFIDENCE, Finding  # noqa: E402
from evaluation.membership.trials import (  # noqa: E402
    DELTA,
    EPSILON,
    HONEST,
    Batch,
    System,
    Trials,
    batches,
    run_all,
)

TRIALS = 1000
QUICK_TRIALS, QUICK_CELLS = 3000, 250
HEADERS = ("system", "trials", "promised", "proved", "in theory", "by", "verdict")


@dataclass(frozen=True)
class Row:
    """One system, and what became of its promise."""

    system: System
    #: On both datasets together.
    trials: int
    finding: Finding

    @property
    def keeps(self) -> bool:
        """Say whether the attacker could not refute the promise."""
        return self.finding.bound <= EPSILON

    @property
    def is_as_expected(self) -> bool:
        """Say whether the verdict is what it must be."""
        return self.keeps == self.system.keeps_its_promise

    def cells(self) -> tuple[str, ...]:
        """Return the row of the table."""
        verdict = ("keeps" if self.keeps else "BREAKS") + " its promise" + ("" if self.is_as_expected else " (!)")
        theory = self.system.epsilon_in_theory
        return (
            self.system.name,
            f"{self.trials}",
            f"{EPSILON:.3f}",
            f"{self.finding.bound:.3f}",
            "no bound" if theory == inf else f"{theory:.3f}",
            self.finding.event.attack,
            verdict,
        )

    def json(self) -> dict[str, Any]:
        """Return all of it as plain values."""
        theory, finding = self.system.epsilon_in_theory, self.finding
        return {
            "system": self.system.name,
            "trials": self.trials,
            "promised_epsilon": EPSILON,
            "delta": DELTA,
            "epsilon_lower_bound": finding.bound,
            "confidence": CONFIDENCE,
            "epsilon_in_theory": None if theory == inf else theory,
            "attack": finding.event.attack,
            "true_positives": finding.true_positives,
            "false_positives": finding.false_positives,
            "judged_trials_on_each_dataset": finding.trials,
            "keeps_its_promise": self.keeps,
            "expected": self.is_as_expected,
        }


def main(arguments: Sequence[str] | None = None) -> int:
    """Run everything, and say whether all is as it must be."""
    options = _parser().parse_args(arguments)
    trials = options.trials or (QUICK_TRIALS if options.quick else TRIALS)
    cells = QUICK_CELLS if options.quick else 1
    work = batches([*HONEST, *WEAKENED], trials, cells)
    began = time.monotonic()
    rows = [Row(system, 2 * len(found), found.finding()) for system, found in _run(work, options.processes).items()]
    seconds = time.monotonic() - began
    print(json.dumps([row.json() for row in rows], indent=1) if options.json else _table(rows, seconds))
    return 0 if all(row.is_as_expected for row in rows) else 1


def _run(work: Sequence[Batch], processes: int) -> dict[System, Trials]:
    found: dict[System, Trials] = {}
    began, done, total = time.monotonic(), 0, sum(2 * batch.pairs * batch.cells for batch in work)
    for batch, trials in run_all(work, processes):
        found.setdefault(batch.system, Trials()).add(trials)
        done += 2 * len(trials)
        rate = done / (time.monotonic() - began)
        _progress(f"{done} of {total} trials, {rate:.0f} a second: {batch.system.name}", last=done == total)
    return found


def _progress(text: str, *, last: bool) -> None:
    """Show one line that changes on a terminal, and lines in a log."""
    terminal = sys.stderr.isatty()
    sys.stderr.write(("\r\x1b[K" if terminal else "") + text + ("" if terminal and not last else "\n"))
    sys.stderr.flush()


def _table(rows: Sequence[Row], seconds: float) -> str:
    lines = [HEADERS, *(row.cells() for row in rows)]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    numbers = {HEADERS.index(name) for name in ("trials", "promised", "proved", "in theory")}
    table = "\n".join(
        "  ".join(
            cell.rjust(width) if place in numbers else cell.ljust(width)
            for place, (cell, width) in enumerate(zip(line, widths, strict=True))
        ).rstrip()
        for line in lines
    )
    trials = sum(row.trials for row in rows)
    return (
        f"{table}\n\nEpsilon at delta {DELTA:g}. Proved: what the attacker's hits show it to be at least, with "
        f"{CONFIDENCE:.0%} confidence.\nIn theory: what unlimited trials would prove. "
        f"{trials} trials in {seconds:.0f} seconds, {trials / seconds:.0f} a second."
    )


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--trials", type=int, help=f"on each of the two datasets, for each system (default: {TRIALS})")
    parser.add_argument(
        "--quick", action="store_true", help=f"let a ledger be {QUICK_CELLS} trials, one in each cell of a histogram"
    )
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")
    parser.add_argument("--processes", type=int, default=os.cpu_count() or 1, help="how many run side by side")
    return parser


if __name__ == "__main__":
    sys.exit(main())
