"""The analyst's side: connect to a ledger, see the price, get a number with its error bar."""

from typing import TYPE_CHECKING, Any

from noiseledger.client.client import Client, Offer
from noiseledger.client.connect import connect

if TYPE_CHECKING:
    from noiseledger.client.aio import AsyncClient, connect_async

__all__ = ["AsyncClient", "Client", "Offer", "connect", "connect_async"]


if not TYPE_CHECKING:  # to a type checker, a name that is not imported above does not exist

    def __getattr__(name: str) -> Any:
        """Load the asynchronous client on first use: few programs need it, and asyncio is slow to import."""
        if name in ("AsyncClient", "connect_async"):
            from noiseledger.client import aio  # noqa: PLC0415 - see above

            return getattr(aio, name)
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
