"""The web application in this process, on a real chain with a real worker beside it."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

from fastapi import FastAPI
from starlette.testclient import TestClient

from noiseledger.chain import Key, PrivacyLedgerContract, Rpc, Sender, local_chain
from noiseledger.demo.system import DemoSystem
from noiseledger.ledger.file import LedgerFile
from noiseledger.web.app import create_app
from noiseledger.web.settings import Settings
from noiseledger.web.site import Site

CUSTODIAN, WORKER, ANALYST = (Key.from_hex(key) for key in local_chain.PLAY_KEYS)
SECOND_ANALYST, THIRD_ANALYST = (Key.from_hex(key) for key in local_chain.PLAY_ANALYSTS[1:])
HERE = "http://127.0.0.1"
#: Everything that a visitor can see without knowing a name or a hash.
PAGES = ("/", "/budget", "/custodian", "/api")
PARTS = ("/quote", "/accuracy", "/budget/live", "/custodian/live", "/custodian/change?action=accept-custody")
DOWNLOADS = (
    "/ledger.json",
    "/budget/spending.csv",
    "/budget/spending.json",
    "/budget/queries.csv",
    "/budget/queries.json",
    "/budget/records.csv",
)
API = ("/api/v1/ledger", "/api/v1/analysts", "/api/v1/queries", "/api/v1/budget", "/api/v1/history", "/api/v1/health")
_PATIENCE_SECONDS = 30.0

_T = TypeVar("_T")


def settings_of(system: DemoSystem, **others: Any) -> Settings:
    """Return what a web application on this system is told; it looks often, so that tests need not wait."""
    told: dict[str, Any] = {
        "ledger": LedgerFile.read(system.ledger_file),
        "rpc": system.url,
        "head": "latest",
        "worker_health": system.worker_health,
        "rate": 1e6,
        "seconds": 0.05,
    }
    return Settings(**told | others)


@contextmanager
def visiting(app: FastAPI) -> Iterator[TestClient]:
    """Run an application as a context manager; unexpected errors are answered, not raised."""
    with TestClient(app, base_url=HERE, raise_server_exceptions=False) as visitor:
        yield visitor


@contextmanager
def visiting_site(settings: Settings) -> Iterator[TestClient]:
    """Run the application of some settings, as a context manager."""
    with visiting(create_app(Site(settings))) as visitor:
        yield visitor


@contextmanager
def contract_of(system: DemoSystem, key: Key) -> Iterator[PrivacyLedgerContract]:
    """Return the system's ledger as the holder of a key sees it."""
    with Rpc(system.url) as rpc:
        address = LedgerFile.read(system.ledger_file).address
        yield PrivacyLedgerContract(rpc, address, Sender(rpc, key))


def until(look: Callable[[], _T | None]) -> _T:
    """Look again and again until there is something; fail if there never is."""
    give_up = time.monotonic() + _PATIENCE_SECONDS
    while time.monotonic() < give_up:
        found = look()
        if found:
            return found
        time.sleep(0.02)
    raise AssertionError(f"not within {_PATIENCE_SECONDS:g} seconds: {look}")


def newest_block(rpc: Rpc) -> int:
    """Return the number of the chain's newest block."""
    return int(rpc.call("eth_blockNumber"), 16)


def caught_up(visitor: TestClient, system: DemoSystem) -> None:
    """Wait until a visitor is shown what is on the chain now."""
    with Rpc(system.url) as rpc:
        newest = newest_block(rpc)
    until(lambda: visitor.get("/api/v1/health").json()["block"] >= newest)
