"""Since when each query is bought and not answered, as the worker sees it."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction

from noiseledger.chain.contract import PrivacyLedgerContract
from noiseledger.chain.values import Terms
from noiseledger.errors import ChainError
from noiseledger.ledger.unanswered import find_unanswered
from noiseledger.progress import DueQuery

#: A query that is due for this long is looked up on the chain. Most are answered sooner, and a lookup reads many events.
LOOKUP_SECONDS = 60.0


@dataclass
class _Seen:
    #: Wall-clock time of the purchase, or of when the worker first saw it.
    since: float
    #: When it is looked up; None if it was. From a clock that never jumps.
    lookup: float | None


class Backlog:
    """Remembers when purchases became due, and finds the time of those that wait for long."""

    def __init__(self, contract: PrivacyLedgerContract, terms: Terms, first_block: int) -> None:
        """Look up purchases from ``first_block`` on."""
        self._contract = contract
        self._terms = terms
        self._first_block = first_block
        self._seen: dict[tuple[str, Fraction], _Seen] = {}

    def update(self, due: Mapping[str, Fraction]) -> tuple[DueQuery, ...]:
        """Return since when each query waits; ``due`` says how far each of them is revealed."""
        now = time.monotonic()
        keys = list(due.items())
        self._seen = {
            key: self._seen[key] if key in self._seen else _Seen(time.time(), now + LOOKUP_SECONDS) for key in keys
        }
        for key, seen in self._seen.items():
            if seen.lookup is not None and now >= seen.lookup:
                self._look_up(key, seen)
        return tuple(DueQuery(query, seen.since) for (query, _), seen in self._seen.items())

    def _look_up(self, key: tuple[str, Fraction], seen: _Seen) -> None:
        try:
            found = find_unanswered(self._contract, [key], self._first_block, reuses=self._terms.reuses)
        except ChainError:
            # It is only shown; the worker's own reads report a chain that does not reply.
            seen.lookup = time.monotonic() + LOOKUP_SECONDS
            return
        seen.lookup = None
        if found:
            seen.since = found[0].since.timestamp()
