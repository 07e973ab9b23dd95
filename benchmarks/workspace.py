"""Where the benchmarks work: a folder on a real disk that is removed afterwards, and filled ledgers in it."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from fractions import Fraction
from itertools import accumulate
from pathlib import Path

from noiseledger.core.noise import rounded_gaussians
from noiseledger.core.path import PATH_UNITS, Case
from noiseledger.core.privacy import UNITS
from noiseledger.core.query import Query
from noiseledger.core.sensitivity import Population
from noiseledger.data import Table
from noiseledger.ledger.local import LocalLedger
from noiseledger.ledger.store import Store, to_text

ROOT = Path(__file__).parent.parent
CELLS = 10_000
#: A tiny dataset: the ledger is measured, not the data engine.
SOURCE = Table(({"x": value} for value in range(10)), {"x": "number"})
QUERY = Query.share("x > 5")
HISTOGRAM = Query.histogram("x", range(CELLS + 1))
#: The stored points lie this far apart. A million of them fit the budget, with room for those that are measured.
STEP = Fraction(1, 10**6)
EPSILON, DELTA = 8, 1e-4

# Files here never reach a disk, and what a durable commit costs could not be seen.
_IN_MEMORY = ("tmpfs", "ramfs")
_CHUNK = 10_000
_STEP_UNITS = int(STEP * UNITS)
# Four records of ten have x > 5, and one record moves that share by a tenth.
_TRUTH = Fraction(4, 10) / Fraction(1, 10)


@dataclass
class Workspace:
    """A temporary folder, and how thorough to be."""

    directory: Path
    quick: bool
    _filled: dict[int, Path] = field(default_factory=dict)

    @property
    def sizes(self) -> tuple[int, ...]:
        """The numbers of stored records to compare; the first is the one that others are compared with."""
        return (10, 100, 1000) if self.quick else (10, 10**4, 10**6)

    def ledger(self, records: int) -> Path:
        """Return the file of a ledger that started with so many records; benchmarks share it."""
        if records not in self._filled:
            file = self.directory / f"{records}.ledger"
            created = LocalLedger.create(
                file,
                epsilon=EPSILON,
                delta=DELTA,
                population=population(),
                queries=[QUERY],
                source=SOURCE,
                second_promise=True,  # the ledgers of all sizes are in one folder
            )
            created.close()
            _fill(file, records)
            self._filled[records] = file
        return self._filled[records]


def population() -> Population:
    """Describe the tiny dataset."""
    return Population.replace(SOURCE.rows)


@contextmanager
def workspace(*, quick: bool) -> Iterator[Workspace]:
    """Make the folder where the system keeps temporary files, or here if they are kept in memory there."""
    candidates = [Path(tempfile.gettempdir()), ROOT]
    parent = next((folder for folder in candidates if file_system(folder) not in _IN_MEMORY), candidates[0])
    with tempfile.TemporaryDirectory(prefix="noiseledger-bench-", dir=parent) as directory:
        yield Workspace(Path(directory), quick)


def file_system(folder: Path) -> str:
    """Return the type of the file system that holds a folder, where Linux tells."""
    mounts = Path("/proc/self/mounts")
    found = "unknown"
    if not mounts.exists():
        return found
    place, longest = folder.resolve(), -1
    for line in mounts.read_text().splitlines():
        _, mount, kind, *_ = line.split()
        # Of two mounts on one place, the later one is seen.
        if place.is_relative_to(mount) and len(mount) >= longest:
            found, longest = kind, len(mount)
    return found


def _fill(file: Path, records: int) -> None:
    """Write the rows that as many purchases of one STEP each would have left behind, all in one transaction.

    A million durable commits would take an hour. Skipping them is fair, since what is measured afterwards depends on
    what the file holds and not on how many commits wrote it; and it holds the same: every row has the shape that
    ``book.write_reveal`` gives it, the points follow the path's law, and the budget is charged for all of them.
    """
    store = Store(file)
    with store.transaction() as run:
        (query,) = run.execute("SELECT id FROM query").fetchone()
        furthest = 0
        for first in range(1, records + 1, _CHUNK):
            numbers = range(first, min(first + _CHUNK, records + 1))
            path = _extensions(furthest, len(numbers))
            furthest = path[-1]
            points = [(query, _precision(n), str(value), n) for n, value in zip(numbers, path, strict=True)]
            run.executemany(
                "INSERT INTO point (query, precision, coordinates, latest_record) VALUES (?, ?, ?, ?)", points
            )
            run.executemany("INSERT INTO record VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", map(_record, numbers))
        run.execute("UPDATE spent SET amount = ?", (_precision(records),))
    store.close()


def _extensions(start: int, count: int) -> list[int]:
    increments = rounded_gaussians([STEP * PATH_UNITS * _TRUTH] * count, STEP * PATH_UNITS**2)
    return list(accumulate(increments, initial=start))[1:]


def _record(number: int) -> tuple[object, ...]:
    case = Case.NEW if number == 1 else Case.EXTEND
    built_from = json.dumps([number - 1] if number > 1 else [])
    time = datetime.now(UTC).isoformat()
    return number, number, "bench", time, None, None, case.value, to_text(STEP), built_from, _precision(number)


def _precision(number: int) -> str:
    """Write ``number * STEP`` as the store does; whole numbers are quicker than fractions, and these are millions."""
    return f"{number * _STEP_UNITS:039d}"
