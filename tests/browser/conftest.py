"""A real Chromium for every test module, and a fresh profile in it for every test."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack

import pytest
from playwright.sync_api import Browser, BrowserContext

from browser.chromium import chromium
from browser.visitor import Visitor
from browser.wallet import Wallet
from machine import Missing
from noiseledger.chain import Key, Rpc, local_chain
from noiseledger.demo.system import DemoSystem, census_system, web_pages


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    # Not for the whole run: while Playwright runs, its event loop is in the way of other tests that have their own.
    with ExitStack() as stack:
        try:
            running = stack.enter_context(chromium())
        except Missing as missing:
            pytest.skip(str(missing))
        yield running


@pytest.fixture
def context(browser: Browser) -> Iterator[BrowserContext]:
    context = browser.new_context()
    yield context
    context.close()


@pytest.fixture(scope="module")
def system() -> Iterator[DemoSystem]:
    """A chain, a published ledger and a real worker beside the census sample."""
    with census_system() as running:
        yield running


@pytest.fixture(scope="module")
def site(system: DemoSystem) -> Iterator[str]:
    """The address of the real web process, on that system."""
    with web_pages(system, "--play", "--seconds", "0.1", "--rate", "1000") as url:
        yield url


@pytest.fixture(scope="module")
def rpc(system: DemoSystem) -> Iterator[Rpc]:
    with Rpc(system.url) as rpc:
        yield rpc


@pytest.fixture
def ada(context: BrowserContext, system: DemoSystem, site: str) -> Visitor:
    """An analyst with a wallet, at the first page."""
    wallet = Wallet(Key.from_hex(local_chain.PLAY_ANALYSTS[0]), system.url).install(context)
    visitor = Visitor(context, site, wallet)
    visitor.open()
    return visitor
