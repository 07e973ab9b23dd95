"""A real Chromium for every test module, and a fresh profile in it for every test."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack

import pytest
from playwright.sync_api import Browser, BrowserContext

from browser.chromium import chromium
from machine import Missing


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
