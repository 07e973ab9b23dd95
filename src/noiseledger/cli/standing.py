"""How much was spent on each query, and which accuracy is free."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, cast

from noiseledger.core.accuracy import half_width
from noiseledger.core.query import Query
from noiseledger.ledger import LocalLedger

if TYPE_CHECKING:
    from noiseledger.client import Client, Offer


@dataclass(frozen=True)
class Standing:
    """One query: what was spent on it, and the precision that is free for everybody."""

    offer: Offer
    spent: Fraction
    public: Fraction

    @property
    def half_width(self) -> float | None:
        """The error bar (95%) of the best public answer, if there is one."""
        return half_width(self.public, self.offer.sensitivity) if self.public else None


def standings(client: Client) -> list[Standing]:
    """Return the standing of every query, in the order of the catalogue."""
    from noiseledger.ledger.chain import ChainLedger  # noqa: PLC0415 - takes a second

    offers = client.queries()
    if isinstance(client.ledger, ChainLedger):
        meters = client.ledger.contract.meters([offer.query.identifier for offer in offers])
        return [Standing(o, meter.bought, meter.revealed) for o, meter in zip(offers, meters, strict=True)]
    local = cast(LocalLedger, client.ledger)
    spent: defaultdict[Query, Fraction] = defaultdict(Fraction)
    for record in local.records():
        spent[record.query] += record.cost
    return [Standing(offer, spent[offer.query], local.furthest(offer.query)) for offer in offers]
