"""The purchases on a ledger that the custodian's worker has not answered."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, cast

if TYPE_CHECKING:
    from noiseledger.client import Client
    from noiseledger.ledger.chain import ChainLedger
    from noiseledger.ledger.unanswered import Unanswered


def unanswered(client: Client, first_block: int) -> list[Unanswered]:
    """Return the oldest unanswered purchase of each query, oldest first."""
    from noiseledger.ledger.unanswered import find_unanswered  # noqa: PLC0415 - takes a second

    ledger = cast("ChainLedger", client.ledger)
    # Not all read at one block: the result is only shown, and read again the next time.
    identifiers = [query.identifier for query in ledger.queries()]
    meters = zip(identifiers, ledger.contract.meters(identifiers), strict=True)
    waiting = [(identifier, meter.revealed) for identifier, meter in meters if meter.revealed < meter.bought]
    return find_unanswered(ledger.contract, waiting, first_block, reuses=ledger.reuses)


def waited(purchase: Unanswered) -> float:
    """Return how many seconds a purchase has waited."""
    return purchase.seconds(time.time())
