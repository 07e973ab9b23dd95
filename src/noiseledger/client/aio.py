"""The client for asynchronous programs: each call runs in a thread, so that it does not block the event loop."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Self, Unpack, overload

from noiseledger.client.client import Client, Named, Offer
from noiseledger.client.connect import connect
from noiseledger.core.answer import Answer
from noiseledger.core.budget import Budget
from noiseledger.core.request import Accuracy, Request
from noiseledger.core.zone_budget import ZoneBudget
from noiseledger.ledger.admission import Admission
from noiseledger.ledger.interface import Quote, Record
from noiseledger.ledger.unanswered import Unanswered

if TYPE_CHECKING:
    from noiseledger.chain.signed_ask import SignedAsk


async def connect_async(ledger: str | os.PathLike[str], **options: Any) -> AsyncClient:
    """Connect as :func:`noiseledger.connect` does, with the same options."""
    return AsyncClient(await asyncio.to_thread(connect, ledger, **options))


class AsyncClient:
    """A :class:`Client` whose calls are awaited."""

    def __init__(self, client: Client) -> None:
        """Make a client's calls awaitable."""
        self.client = client

    async def __aenter__(self) -> Self:
        """Use the client as a context manager."""
        return self

    async def __aexit__(self, *_: object) -> None:
        """Close the connection."""
        await asyncio.to_thread(self.client.close)

    async def queries(self) -> list[Offer]:
        """Return the queries that may be asked."""
        return await asyncio.to_thread(self.client.queries)

    async def budget(self) -> Budget:
        """Return the privacy guarantee, the amount spent and the amount left."""
        return await asyncio.to_thread(self.client.budget)

    async def zone_budget(self, edition: int = 0) -> ZoneBudget:
        """Return what each zone has spent in an edition of the data."""
        return await asyncio.to_thread(self.client.zone_budget, edition)

    async def zones(self) -> list[str]:
        """Return what the zones are called, in their order."""
        return await asyncio.to_thread(self.client.zones)

    async def reaches(self, query: Named) -> list[str]:
        """Return the names of the zones that a query is charged to."""
        return await asyncio.to_thread(self.client.reaches, query)

    async def admission(self) -> Admission | None:
        """Return who may buy, how much this key may still buy, and whom to ask for more."""
        return await asyncio.to_thread(self.client.admission)

    async def resolve(self, query: Named, **accuracy: Unpack[Accuracy]) -> Request:
        """Return a request, for a list of several."""
        return await asyncio.to_thread(self.client.resolve, query, **accuracy)

    @overload
    async def quote(self, query: Named, **accuracy: Unpack[Accuracy]) -> Quote: ...

    @overload
    async def quote(self, query: Sequence[Request], *, exact_noise: bool = False) -> list[Quote]: ...

    async def quote(self, query: Named | Sequence[Request], **options: Any) -> Quote | list[Quote]:
        """Return the price and the expected error of a request, or of each in a list."""
        call: Any = self.client.quote
        quote: Quote | list[Quote] = await asyncio.to_thread(call, query, **options)
        return quote

    @overload
    async def ask(self, query: Named, *, exact_noise: bool = False, **accuracy: Unpack[Accuracy]) -> Answer: ...

    @overload
    async def ask(self, query: Sequence[Request], *, exact_noise: bool = False) -> list[Answer]: ...

    async def ask(
        self, query: Named | Sequence[Request], *, exact_noise: bool = False, **accuracy: Unpack[Accuracy]
    ) -> Answer | list[Answer]:
        """Get an answer, or a list of answers that are bought in one transaction."""
        call: Any = self.client.ask
        answer: Answer | list[Answer] = await asyncio.to_thread(call, query, exact_noise=exact_noise, **accuracy)
        return answer

    async def sign(self, query: Named | Sequence[Request], **options: Any) -> SignedAsk:
        """Sign a request, or a list of requests, so that somebody else brings it to the chain."""
        call: Any = self.client.sign
        signed: SignedAsk = await asyncio.to_thread(call, query, **options)
        return signed

    async def best(self, query: Named) -> Answer | None:
        """Return the most accurate answer that is public."""
        return await asyncio.to_thread(self.client.best, query)

    async def unanswered(self) -> list[Unanswered]:
        """Return the oldest unanswered purchase of each query, oldest first."""
        return await asyncio.to_thread(self.client.unanswered)

    async def history(self, query: Named | None = None, after: int = 0) -> list[Record]:
        """Return the requests with their analysts, costs and answers."""
        return await asyncio.to_thread(self.client.history, query, after)
