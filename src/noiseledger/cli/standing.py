"""How much was spent on each query, and which accuracy is free."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

from noiseledger.cli.output import console, plain
from noiseledger.core.accuracy import half_width
from noiseledger.core.sensitivity import sensitivity

if TYPE_CHECKING:
    from noiseledger.client import Client, Offer


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


def unnamed_in(client: Client, found: Iterable[OfferStanding]) -> str | None:
    """Return the sentence about queries that the ledger file does not name, if there are any."""
    from noiseledger.client.reader import unnamed_note  # noqa: PLC0415 - takes a second

    return unnamed_note(client.unnamed(standing.offer.query for standing in found))


def show_unanswered(found: Iterable[OfferStanding]) -> None:
    """Say which queries are bought and not answered, if there are any."""
    waiting = [standing.offer.name for standing in found if standing.public < standing.spent]
    if waiting:
        names = plain(", ".join(waiting))
        console.print(f"Bought and not answered yet: {names}. Since when: noiseledger doctor", soft_wrap=True)


def standings(client: Client) -> list[OfferStanding]:
    """Return the standing of every query, in the order of the catalogue."""
    from noiseledger.client import Offer  # noqa: PLC0415 - takes a second

    population = client.ledger.population
    return [
        OfferStanding(
            Offer(client.name(now.query), now.query, sensitivity(now.query, population)), now.spent, now.public
        )
        for now in client.ledger.standings()
    ]
