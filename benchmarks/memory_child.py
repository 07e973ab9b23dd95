"""The process whose memory is measured: open a ledger, ask it, print the peak before and after in KiB."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path

from benchmarks.asker import Asker
from benchmarks.peak import forget_peak, peak
from benchmarks.workspace import DELTA, EPSILON, HISTOGRAM, SOURCE, population
from noiseledger.core.query import Query
from noiseledger.data import Table
from noiseledger.ledger.local import LocalLedger


class _FullCells(Table):
    """A crowd: every cell of a histogram holds records, as cells do, though there is no memory taken by the records."""

    def __init__(self, rows: int) -> None:
        super().__init__(({"x": value} for value in range(rows)), {"x": "number"})

    def totals(self, query: Query) -> Sequence[int]:
        """Pretend."""
        return [1000 + cell for cell in range(query.dimension)]


def main() -> None:
    """Measure what the command line says: a file, its number of records (0 for a new histogram), how many rounds."""
    file, records, rounds = Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
    forget_peak()
    before = peak()
    if records:
        _ask(file, records, rounds)
    else:
        _ask_histogram(file, rounds)
    print(json.dumps([before, peak()]))


def _ask(file: Path, records: int, rounds: int) -> None:
    asker = Asker(file, records)
    for _ in range(rounds):
        for ask in asker.kinds.values():
            ask()
    asker.close()


def _ask_histogram(file: Path, rounds: int) -> None:
    ledger = LocalLedger.create(
        file, epsilon=EPSILON, delta=DELTA, population=population(), queries=[HISTOGRAM], source=_FullCells(SOURCE.rows)
    )
    for turn in range(1, rounds + 1):
        # Bought, then known, then between two known points.
        for precision in (turn / 10, turn / 10, turn / 10 - 0.05):
            _ = ledger.ask(HISTOGRAM, exact_noise=True, precision=precision).values
    ledger.close()


if __name__ == "__main__":
    main()
