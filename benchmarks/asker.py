"""Ask a filled ledger for answers of each kind, over and over, without ever running out."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from random import Random

from benchmarks.workspace import QUERY, SOURCE, STEP
from noiseledger.core.path import Case
from noiseledger.core.privacy import whole_units
from noiseledger.ledger.local import LocalLedger


class Asker:
    """Asks one ledger; what it asks for is spread over the whole path, so no part of the file is always at hand."""

    def __init__(self, file: Path, records: int) -> None:
        """Open a ledger that started with so many records."""
        self._ledger = LocalLedger.open(file, SOURCE)
        self._records = records
        self._furthest = self._ledger.budget().spent
        # Not seeded: two askers of one file must not bridge the same points.
        self._random = Random()

    @property
    def kinds(self) -> dict[str, Callable[[], None]]:
        """The kinds of requests."""
        return {"paid (2B)": self.paid, "known (2A)": self.known, "bridge (2C)": self.bridge, "quote": self.quote}

    def paid(self) -> None:
        """Buy one more step."""
        self._furthest += STEP
        self._ask(self._furthest, Case.EXTEND)

    def known(self) -> None:
        """Ask again for a point that was stored."""
        self._ask(STEP * self._random.randint(1, self._records), Case.KNOWN)

    def bridge(self) -> None:
        """Ask for a point between two that were stored."""
        self._ask(self._between(), Case.BRIDGE)

    def quote(self) -> None:
        """Ask for a price only."""
        self._ledger.quote(QUERY, precision=self._between())

    def close(self) -> None:
        """Let go of the file."""
        self._ledger.close()

    def _between(self) -> Fraction:
        share = Fraction(self._random.randint(1, 10**12 - 1), 10**12)
        return whole_units(STEP * (self._random.randint(1, self._records - 1) + share))

    def _ask(self, precision: Fraction, expected: Case) -> None:
        case = self._ledger.ask(QUERY, analyst="bench", exact_noise=True, precision=precision).case
        if case is not expected:
            raise RuntimeError(f"The benchmark meant to measure case {expected} and got {case}.")
