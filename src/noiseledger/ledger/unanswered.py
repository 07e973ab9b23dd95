"""Purchases that the custodian's worker has not answered: since when, whether that is too long, and why.

Why nothing false is shown: the time is that of the purchase's block, and a reason is shown only if the worker reports it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from fractions import Fraction

from noiseledger.chain.contract import PrivacyLedgerContract
from noiseledger.errors import ChainUnreachable
from noiseledger.ledger.query_state import LoggedRequest, fold, in_edition

#: A purchase that was not answered for this long is overdue. A worker answers within seconds once a purchase is final, which
#: takes about a quarter of an hour on Ethereum and less on other chains.
OVERDUE_SECONDS = 20 * 60

#: Why a worker does not answer a query, by the kind of error that it reports.
REASONS = {
    "BudgetExceeded": "the worker's journal has no budget left for it",
    "DataUnavailable": "the worker has not read the data for it",
    "InvalidInput": "the worker cannot evaluate it",
    "LedgerRefused": "the contract refuses the worker's answer",
    "QueryClosed": "a lost journal may have answered it already, so it is never answered again",
    "UnknownQuery": "the worker's journal does not contain it",
}


@dataclass(frozen=True)
class Unanswered:
    """The oldest unanswered purchase of one query."""

    #: The query's identifier.
    query: str
    block: int
    since: datetime

    def seconds(self, now: float) -> float:
        """Return how long it has waited, in seconds; ``now`` is in seconds since 1970."""
        return max(now - self.since.timestamp(), 0.0)

    def is_overdue(self, now: float) -> bool:
        """Return whether it has waited too long."""
        return self.seconds(now) >= OVERDUE_SECONDS


def find_unanswered(
    contract: PrivacyLedgerContract, queries: Iterable[tuple[str, Fraction]], first_block: int, *, reuses: bool
) -> list[Unanswered]:
    """Return the oldest unanswered purchase of each query, oldest first; each is given with how far it is revealed."""
    found = []
    for query, revealed in queries:
        state = fold(in_edition(contract.events(["Asked"], query, first_block), query), reuses=reuses)
        purchase = oldest(state.requests, revealed)
        if purchase is not None:
            found.append(Unanswered(query, purchase.block, block_time(contract, purchase.block)))
    return sorted(found, key=lambda waiting: waiting.since)


def oldest(purchases: Sequence[LoggedRequest], revealed: Fraction) -> LoggedRequest | None:
    """Return the first purchase that needs more than is revealed."""
    return next((purchase for purchase in purchases if purchase.stretch[1] > revealed), None)


def block_time(contract: PrivacyLedgerContract, block: int | str) -> datetime:
    """Return the time of a block."""
    found = contract.rpc.call("eth_getBlockByNumber", block if isinstance(block, str) else hex(block), False)
    if found is None:
        raise ChainUnreachable(f"The endpoint no longer has block {block}: try again.")
    return datetime.fromtimestamp(int(found["timestamp"], 16), UTC)


def moment(when: datetime) -> str:
    """Return a time for people.

    >>> moment(datetime(2026, 11, 18, 9, 20, tzinfo=UTC))
    '2026-11-18 09:20 UTC'
    """
    return f"{when:%Y-%m-%d %H:%M} UTC"


def duration(seconds: float) -> str:
    """Return a length of time for people.

    >>> duration(59.6), duration(1800), duration(9000)
    ('1 min 0 s', '30 min 0 s', '2 h 30 min')
    """
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes} min" if hours else f"{minutes} min {rest} s" if minutes else f"{rest} s"
