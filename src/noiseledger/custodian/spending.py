"""What the worker spends on fees: purchases are gathered into one reveal, and the gas of a day has a limit.

Why the promise holds: this only delays reveals. What was drawn stays in the journal, and the same bytes are sent later.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from fractions import Fraction

from noiseledger.core.query import Query
from noiseledger.custodian.journal import Journal, Sending
from noiseledger.progress import Waiting


@dataclass
class Spending:
    """Decides when the worker may reveal."""

    journal: Journal
    #: The gas that may be used in one day, in UTC; None for no limit.
    gas_per_day: int | None = None
    #: How long to gather purchases after the first one, so that all of them are revealed in one transaction.
    gather_seconds: float = 0.0
    clock: Callable[[], float] = time.monotonic
    today: Callable[[], str] = field(default=lambda: datetime.now(UTC).date().isoformat())
    _first: float | None = None
    #: The gas of the last transactions, which the journal does not have yet, by day.
    _unsaved: tuple[str, int] = ("", 0)

    def note(self, gas: int) -> None:
        """Count the gas of a transaction."""
        day, unsaved = self.today(), self._unsaved
        self._unsaved = day, gas + (unsaved[1] if unsaved[0] == day else 0)

    def before_sending(self, address: str, until: int) -> None:
        """Store durably that nonces below ``until`` may be ours, and the gas so far: a restart forgets one transaction."""
        self.journal.note(Sending(address, until, *self._unsaved))
        self._unsaved = "", 0

    def draw(self, wanted: Sequence[tuple[Query, Fraction]], address: str, until: int) -> None:
        """Draw, and store the same in the same durable step, which takes longer than anything else in a step."""
        self.journal.draw(wanted, Sending(address, until, *self._unsaved))
        self._unsaved = "", 0

    @property
    def used_today(self) -> int:
        """The gas that was used today."""
        day = self.today()
        return self.journal.gas_used(day) + (self._unsaved[1] if self._unsaved[0] == day else 0)

    def limit_reached(self) -> Waiting | None:
        """Return why nothing may be sent any more today, or None."""
        if self.gas_per_day is None or self.used_today < self.gas_per_day:
            return None
        return Waiting(
            "GasLimit",
            f"The limit of {self.gas_per_day:,} gas for one day is reached, so purchases are answered tomorrow (UTC). To "
            "answer them now, restart with a larger --gas-per-day.",
        )

    def still_gathering(self, is_waiting: bool) -> Waiting | None:
        """Return why nothing is revealed yet, or None; ``is_waiting`` says whether something is bought and not revealed."""
        if not is_waiting:
            self._first = None
            return None
        if self._first is None:
            self._first = self.clock()
        if self.clock() - self._first < self.gather_seconds:
            return Waiting(
                "Gathering", f"Purchases are gathered for {self.gather_seconds:g} seconds, to reveal all at once."
            )
        return None

    def revealed(self) -> None:
        """Begin to gather anew."""
        self._first = None
