"""How long purchases have waited for the custodian's worker."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from noiseledger.client import Client
    from noiseledger.ledger.unanswered import Unanswered


def waited(purchase: Unanswered) -> float:
    """Return how many seconds a purchase has waited."""
    return purchase.seconds(time.time())


def listed(client: Client, waiting: list[Unanswered]) -> str:
    """Return since when queries are bought and not answered, as a phrase; the oldest comes first."""
    from noiseledger.ledger.unanswered import moment  # noqa: PLC0415 - takes a second

    names = {query.identifier: client.name(query) for query in client.ledger.queries()}
    each = ", ".join(f"{names.get(late.query, late.query[:12])} (block {late.block})" for late in waiting)
    return f"bought and not answered since {moment(waiting[0].since)}: {each}"
