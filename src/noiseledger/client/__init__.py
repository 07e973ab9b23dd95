"""The side that asks: connect to a ledger, see the price, get a number with its error bar."""

from noiseledger.client.aio import AsyncClient, connect_async
from noiseledger.client.client import Ask, Client, Offer
from noiseledger.client.connect import connect

__all__ = ["Ask", "AsyncClient", "Client", "Offer", "connect", "connect_async"]
