"""How much was spent on each query, and which accuracy is free."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

from noiseledger.cli.waiting import listed
from noiseledger.core.accuracy import half_width

if TYPE_CHECKING:
    from noiseledger.client import Client, Offer
    from noiseledger.core.query import Query


#: A table names so many zones of a query.
SHOWN_ZONES = 5


@dataclass(frozen=True)
class OfferStanding:
    """One query: what was spent on it, and the precision that is free for everybody."""

    offer: Offer
    spent: Fraction
    public: Fraction

    @property
    def half_width(self) -> float | None:
        """The error bar (95%) of the best public answer, if there is one."""
        return half_width(self.public, self.offer.sensitivity) if self.public else None


def reach_words(reach: Sequence[str], zones: Sequence[str]) -> str:
    """Return the zones that a query reaches, in words that fit a table.

    >>> reach_words(["a", "b"], ["a", "b", "c"]), reach_words(["a", "b"], ["a", "b"])
    ('a, b', 'every zone')
    """
    if len(reach) == len(zones):
        return "every zone"
    more = f" and {len(reach) - SHOWN_ZONES:,} more" if len(reach) > SHOWN_ZONES else ""
    return ", ".join(reach[:SHOWN_ZONES]) + more


def remarks(client: Client, found: Sequence[OfferStanding]) -> list[str]:
    """Return what readers of a list of queries should know: which are not answered, and which the ledger file does not name."""
    from noiseledger.client.reader import unnamed_note  # noqa: PLC0415 - takes a second

    said = [unnamed_note(client.unnamed(standing.offer.query for standing in found))]
    said += not_sold(client, [standing.offer.query for standing in found])
    waiting = client.unanswered()
    if waiting:
        text = listed(client, waiting)
        said.append(f"{text[0].upper()}{text[1:]}. What to do about it: noiseledger doctor")
    return [sentence for sentence in said if sentence is not None]


def not_sold(client: Client, queries: Sequence[Query]) -> list[str]:
    """Return, as sentences, what is not sold now. Public answers stay free."""
    from noiseledger.ledger.snapshot import QUERY_PAUSED  # noqa: PLC0415 - takes a second

    stopped = client.ledger.sales(queries).stopped
    if alone := [client.name(query) for query, reason in stopped.items() if reason == QUERY_PAUSED]:
        return [f"The custodian has paused sales of {', '.join(alone)}. Public answers are still free."]
    return [f"{reason} Public answers are still free." for reason in dict.fromkeys(stopped.values())]


def standings(client: Client) -> list[OfferStanding]:
    """Return the standing of every query, in the order of the catalogue."""
    from noiseledger.client import Offer  # noqa: PLC0415 - takes a second

    ledger = client.ledger
    return [
        OfferStanding(Offer(client.name(now.query), now.query, ledger.sensitivity(now.query)), now.spent, now.public)
        for now in ledger.standings()
    ]
