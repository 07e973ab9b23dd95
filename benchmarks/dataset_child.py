"""The process that is measured: work on a dataset, print time (clock, processor) and peak memory (before, after; KiB)."""

from __future__ import annotations

import json
import sys
from contextlib import closing
from pathlib import Path
from time import perf_counter, process_time

from benchmarks.peak import forget_peak, peak
from noiseledger.data.catalogue import Catalogue, read_catalogue
from noiseledger.data.commitment import SECRET_BYTES, Commitment
from noiseledger.data.engines.files import open_file
from noiseledger.data.source import Source, check_query

QUERIES, READING, COMMITMENT = "five queries", "reading", "commitment"


def main() -> None:
    """Do what the command line says: a data file, a catalogue, and what to do."""
    people, catalogue, work = Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3]
    forget_peak()
    before, clock, processor = peak(), perf_counter(), process_time()
    entries = read_catalogue(catalogue)
    with closing(open_file(people, "parquet", entries.reading)) as source:
        if work == QUERIES:
            _query(source, entries)
        elif work == READING:
            for _ in source.records():
                pass
        else:
            _ = Commitment(source.records(), bytes(SECRET_BYTES)).root
        seconds = perf_counter() - clock, process_time() - processor
    print(json.dumps([*seconds, before, peak()]))


def _query(source: Source, catalogue: Catalogue) -> None:
    for entry in catalogue.entries:
        check_query(entry.query, source.kinds)
        source.totals(entry.query)


if __name__ == "__main__":
    main()
