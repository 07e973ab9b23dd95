"""The settings of the web application."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from noiseledger.ledger.file import LedgerFile

#: The loopback names of this machine; any other name in a Host header may be another site that points here.
LOOPBACK_NAMES = ("localhost", "127.0.0.1", "[::1]")


@dataclass(frozen=True)
class Settings:
    """The settings of the web application."""

    ledger: LedgerFile
    #: The chain's endpoint, or several separated by commas. It may contain a password, so it is never shown.
    rpc: str
    #: Blocks up to this one count as final.
    head: str = "finalized"
    #: The worker's health endpoint, such as http://127.0.0.1:9100/health.
    worker_health: str | None = None
    #: The public endpoint to suggest to a wallet that does not know the chain.
    wallet_rpc: str | None = None
    #: The address of a block explorer's page for a transaction, with {} for the hash.
    explorer: str | None = None
    #: Host names under which the pages may be served, besides this machine's own.
    hosts: tuple[str, ...] = ()
    #: Requests per second that one visitor may make; twice as many in a burst.
    rate: float = 20.0
    #: Offer throw-away accounts with coins without value, on a local development chain.
    play: bool = False
    #: Seconds between polls of the chain and of the ledger file.
    seconds: float = 0.5
    #: Where the ledger file is, to notice a newer one.
    ledger_file: Path | None = None
