"""Requests and answers on a ledger as they arrive, each as the JSON object that ``noiseledger watch --json`` prints."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias, cast

from noiseledger.core.accuracy import half_width
from noiseledger.core.path import natural_values
from noiseledger.core.query import Query
from noiseledger.ledger.interface import Record
from noiseledger.ledger.shapes import amount, describe_query, groups

if TYPE_CHECKING:
    from noiseledger.chain.values import Event
    from noiseledger.client import Client, Offer
    from noiseledger.ledger.chain import ChainLedger
    from noiseledger.ledger.query_state import LoggedRequest

#: The events that are counted: with registrations, which say what zones pay, and pieces of large answers.
_COUNTED = ("Opened", "Registered", "Asked", "Revealed", "RevealedPiece")
#: A query, and what happened to it as a JSON object.
Happening: TypeAlias = tuple[Query, dict[str, Any]]


class Follower(Protocol):
    """Reads a ledger repeatedly."""

    def look(self) -> Iterator[Happening]:
        """Yield what is new since the last call."""


class LocalFollower:
    """Follows a local ledger file, which contains each answer together with its request."""

    def __init__(self, client: Client) -> None:
        """Start after the newest record."""
        self._client = client
        self._last = max((record.number for record in client.history()), default=0)

    def look(self) -> Iterator[Happening]:
        """Yield what is new since the last call."""
        offers = {offer.query: offer for offer in self._client.queries()}
        total = self._client.budget().total
        for record in self._client.history(after=self._last):
            self._last = record.number
            offer = offers[record.query]
            yield _asked(offer, record, total - record.spent)
            if record.case.touches_data:
                yield _revealed(offer, record.precision, record.values, None, None)


class ChainFollower:
    """Follows a ledger on a chain by its events."""

    def __init__(self, client: Client, first_block: int) -> None:
        """Start after the newest block. Earlier requests are read once, because they distinguish case 2A from 2C."""
        from noiseledger.ledger.state import LedgerState  # noqa: PLC0415 - takes a second

        self._client = client
        self._ledger = ledger = cast("ChainLedger", client.ledger)
        newest = ledger.contract.newest()
        self._block = newest.number
        self._offers = {offer.query.identifier: offer for offer in client.queries()}
        self._state = LedgerState(reuses=ledger.reuses, zones=ledger.terms.zones)
        for event in ledger.contract.events(_COUNTED, first=first_block, last=newest):
            self._take(event)

    def look(self) -> Iterator[Happening]:
        """Yield what is new since the last call."""
        # Each call reads one state of the chain; a block that is replaced after it was reported is not reported again.
        newest = self._ledger.contract.newest()
        # All events are read before the first is counted, so that none counts twice if the node fails in between.
        events = list(self._ledger.contract.events(_COUNTED, first=self._block + 1, last=newest))
        if any(event.name == "Registered" for event in events):
            self._offers = {offer.query.identifier: offer for offer in self._client.queries()}
        self._block = max(newest.number, self._block)
        for event in events:
            happening = self._take(event)
            if happening is not None:
                yield happening

    def _take(self, event: Event) -> Happening | None:
        """Count an event and describe it; one of an unreadable query, or of a later edition, counts and is not described."""
        identifier = event.fields["query"].hex() if "query" in event.fields else ""
        known = len(self._state.query(identifier).ends)
        self._state.take(event)
        offer = self._offers.get(identifier)
        if offer is None or event.fields.get("edition"):
            return None
        if event.name == "Asked":
            newest = self._state.record[-1]
            return _asked(offer, newest.request, self._ledger.terms.budget - newest.spent)
        if event.name in ("Revealed", "RevealedPiece"):
            state = self._state.query(offer.query.identifier)
            if len(state.ends) == known:
                return None  # a piece of a large answer, and not the last one
            values = natural_values(state.points[-1], offer.sensitivity / state.revealed)
            return _revealed(offer, state.revealed, values, event.transaction, event.block)
        where = {"transaction": event.transaction, "block": event.block}
        return offer.query, {"event": "registered", **describe_query(offer.name, offer.query), **where}


def _asked(offer: Offer, request: Record | LoggedRequest, remaining: Fraction) -> Happening:
    return offer.query, {
        "event": "asked",
        "analyst": request.analyst,
        **describe_query(offer.name, offer.query),
        **amount("precision", request.precision),
        "half_width_95": half_width(request.precision, offer.sensitivity),
        "case": request.case.value,
        **amount("cost", request.cost),
        **amount("remaining", remaining),
        "transaction": request.transaction,
        "block": request.block,
    }


def _revealed(
    offer: Offer, precision: Fraction, values: tuple[float, ...], transaction: str | None, block: int | None
) -> Happening:
    return offer.query, {
        "event": "revealed",
        **describe_query(offer.name, offer.query),
        "groups": groups(offer.query),
        "values": list(values),
        **amount("precision", precision),
        "half_width_95": half_width(precision, offer.sensitivity),
        "transaction": transaction,
        "block": block,
    }
