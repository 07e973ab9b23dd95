"""A real browser for the tests: Chromium from Debian's packages, driven by Playwright."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from playwright.sync_api import Browser, sync_playwright

from machine import Missing, apt_install

#: Nothing leaves the machine that no page asked for; and the shared memory of a container is too small for pages.
OPTIONS = (
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-dev-shm-usage",
)


@contextmanager
def chromium() -> Iterator[Browser]:
    """Run Chromium without a window."""
    program = _program()
    # Chromium refuses to put root into its sandbox.
    options = [*OPTIONS, *(["--no-sandbox"] if os.geteuid() == 0 else [])]
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=options, headless=True)
        try:
            yield browser
        finally:
            browser.close()


def _program() -> Path:
    """Find Chromium; on a Debian machine that is ours, install it."""
    if not _find():
        apt_install("chromium", "fonts-dejavu-core")
    found = _find()
    if not found:
        raise Missing("There is no Chromium on this machine: on Debian, apt-get install chromium fonts-dejavu-core.")
    return found


def _find() -> Path | None:
    packaged, on_path = Path("/usr/bin/chromium"), shutil.which("chromium")
    return packaged if packaged.exists() else Path(on_path) if on_path else None
