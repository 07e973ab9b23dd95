"""How long purchases have waited for the custodian's worker."""

from __future__ import annotations

import time
from fractions import Fraction
from typing import TYPE_CHECKING, cast

from noiseledger.errors import ChainUnreachable

if TYPE_CHECKING:
    from noiseledger.client import Client
    from noiseledger.ledger.chain import ChainLedger


def oldest_wait(client: Client, first_block: int) -> float | None:
    """Return how many seconds the oldest unanswered purchase has waited; None if all are answered."""
    ledger = cast("ChainLedger", client.ledger)
    # Not all read at one block: the result is only shown, and read again the next time.
    identifiers = [query.identifier for query in ledger.queries()]
    meters = zip(identifiers, ledger.contract.meters(identifiers), strict=True)
    waiting = [(identifier, meter.revealed) for identifier, meter in meters if meter.revealed < meter.bought]
    blocks = [_first_unanswered(ledger, identifier, revealed, first_block) for identifier, revealed in waiting]
    oldest = min((block for block in blocks if block is not None), default=None)
    if oldest is None:
        return None
    found = ledger.contract.rpc.call("eth_getBlockByNumber", hex(oldest), False)
    if found is None:
        raise ChainUnreachable(f"The endpoint no longer has block {oldest}: try again.")
    return max(time.time() - int(found["timestamp"], 16), 0.0)


def _first_unanswered(ledger: ChainLedger, identifier: str, revealed: Fraction, first_block: int) -> int | None:
    """Return the block of the first request of a query that is not revealed completely."""
    from noiseledger.ledger.query_state import fold  # noqa: PLC0415 - takes a second

    state = fold(ledger.contract.events(["Asked"], identifier, first_block), reuses=ledger.reuses)
    return next((request.block for request in state.purchases if request.stretch[1] > revealed), None)
