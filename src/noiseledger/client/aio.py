"""The same calls for asynchronous programs: each runs in a thread, so that nothing else waits."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Sequence
from typing import Any, Self, Unpack, overload

from noiseledger.client.client import Ask, Client, Named, Offer
from noiseledger.client.connect import connect
from noiseledger.core.answer import Answer
from noiseledger.core.budget import Budget
from noiseledger.core.request import Accuracy
from noiseledger.ledger.admission import Admission
from noiseledger.ledger.interface import Quote, Record


async def connect_async(ledger: str | os.PathLike[str], **options: Any) -> AsyncClient:
    """Connect as :func:`noiseledger.connect` does, with the same options."""
    return AsyncClient(await asyncio.to_thread(connect, ledger, **options))


class AsyncClient:
    """A :class:`Client` whose calls are awaited."""

    def __init__(self, client: Client) -> None:
        """Make a client's calls awaitable."""
        self.client = client

    async def __aenter__(self) -> Self:
        """Stay connected for the length of a block."""
        return self

    async def __aexit__(self, *_: object) -> None:
        """Let go of the ledger."""
        await asyncio.to_thread(self.client.close)

    async def queries(self) -> list[Offer]:
        """Return what may be asked."""
        return await asyncio.to_thread(self.client.queries)

    async def budget(self) -> Budget:
        """Return what was promised, what is spent and what is left."""
        return await asyncio.to_thread(self.client.budget)

    async def admission(self) -> Admission | None:
        """Return who may ask, what this key may still buy, and whom to ask for more."""
        return await asyncio.to_thread(self.client.admission)

    async def quote(self, query: Named, **accuracy: Unpack[Accuracy]) -> Quote:
        """Return what a request would cost and give."""
        return await asyncio.to_thread(self.client.quote, query, **accuracy)

    @overload
    async def ask(self, query: Named, *, exact_noise: bool = False, **accuracy: Unpack[Accuracy]) -> Answer: ...

    @overload
    async def ask(self, query: Sequence[Ask], *, exact_noise: bool = False) -> list[Answer]: ...

    async def ask(
        self, query: Named | Sequence[Ask], *, exact_noise: bool = False, **accuracy: Unpack[Accuracy]
    ) -> Answer | list[Answer]:
        """Pay for an answer, or for a list of them in one transaction."""
        call: Any = self.client.ask
        answer: Answer | list[Answer] = await asyncio.to_thread(call, query, exact_noise=exact_noise, **accuracy)
        return answer

    async def best(self, query: Named) -> Answer | None:
        """Return the most accurate answer that is public."""
        return await asyncio.to_thread(self.client.best, query)

    async def history(self, query: Named | None = None, after: int = 0) -> list[Record]:
        """Return who asked what, what it cost and what came out."""
        return await asyncio.to_thread(self.client.history, query, after)
