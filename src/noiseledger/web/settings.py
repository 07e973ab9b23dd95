"""What a web application is told when it starts."""

from __future__ import annotations

from dataclasses import dataclass

from noiseledger import settings
from noiseledger.ledger.file import LedgerFile

#: What others find in a process's environment as long as it runs, also after it was unset: no web process has these.
SECRETS = tuple(setting.variable for setting in settings.SECRETS)
#: Names under which this machine calls itself; anything else in a Host header is another site that points here.
LOOPBACK_NAMES = ("localhost", "127.0.0.1", "[::1]")


@dataclass(frozen=True)
class Settings:
    """Everything that can be chosen."""

    ledger: LedgerFile
    #: The chain's endpoint, or several that are separated by commas. It may carry a password, so it is never shown.
    rpc: str
    #: What is at or below this block is final.
    head: str = "finalized"
    #: Where the worker tells how it is, as in http://127.0.0.1:9100/health.
    worker_health: str | None = None
    #: The endpoint that a wallet may be told if it does not know the chain.
    wallet_rpc: str | None = None
    #: Where transactions can be looked up, with {} for the hash.
    explorer: str | None = None
    #: Host names under which the pages may be served, besides this machine's own.
    hosts: tuple[str, ...] = ()
    #: Requests a second that one visitor may make of what costs work; twice as many in a burst.
    rate: float = 20.0
    #: Offer throw-away accounts with play money, on a local development chain.
    play: bool = False
    #: Seconds between looks at the chain.
    seconds: float = 0.5
