"""Take a picture of every web page, light and dark, desktop and mobile, and two for the README (docs/images).

Run it with ``make screenshots``. Everything is real: a chain, a worker, the web process, Debian's Chromium, a wallet.
"""

from __future__ import annotations

import sys
from itertools import product
from pathlib import Path
from typing import Literal

from playwright.sync_api import Browser, FloatRect, Page, ViewportSize, expect

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT / "tests"))

from browser.chromium import chromium  # noqa: E402 - from the tests' tools
from browser.visitor import Visitor  # noqa: E402
from browser.wallet import Wallet  # noqa: E402
from noiseledger.chain import Key, local_chain  # noqa: E402
from noiseledger.client import connect  # noqa: E402
from noiseledger.demo.scenario import ANALYSTS, REQUESTS  # noqa: E402
from noiseledger.demo.system import DemoSystem, census_system, web_pages  # noqa: E402

OUT = ROOT / "build" / "screenshots"
#: The pictures in the README: name, page, and the height to which it is cut.
IN_README = (("ask", "/?query=over_60", 790), ("budget", "/budget", 990))
SIZES: dict[str, ViewportSize] = {"desktop": {"width": 1280, "height": 900}, "mobile": {"width": 390, "height": 844}}
SCHEMES: tuple[Literal["light", "dark"], ...] = ("light", "dark")
ADA = Key.from_hex(local_chain.PLAY_ANALYSTS[0])


def main() -> None:
    """Start a system, and take the pictures."""
    OUT.mkdir(parents=True, exist_ok=True)
    with census_system() as system, web_pages(system, "--play", "--rate", "1000") as site, chromium() as browser:
        transaction = _live(system)
        for (size, viewport), scheme in product(SIZES.items(), SCHEMES):
            context = browser.new_context(viewport=viewport, color_scheme=scheme)
            visitor = Visitor(context, site, Wallet(ADA, system.url).install(context))
            _visit(visitor, transaction, f"{size}-{scheme}")
            context.close()
        _take_for_readme(browser, system, site)
        _trouble(browser, system, site)
    print(f"{len(list(OUT.glob('*.png')))} pictures in {OUT}")


def _live(system: DemoSystem) -> str:
    """Let the demo's analysts ask, and return a transaction that was answered."""
    keys = dict(zip(ANALYSTS, local_chain.PLAY_ANALYSTS, strict=True))
    transaction = ""
    for analyst, name, accuracy in REQUESTS:
        with connect(system.ledger_file, rpc=system.url, key=Key.from_hex(keys[analyst])) as client:
            answer = client.ask(name, **accuracy)
        transaction = answer.transaction or transaction
    return transaction


def _visit(visitor: Visitor, transaction: str, kind: str) -> None:
    pages = {
        "ask-to-pay": "/?query=over_60",
        "ask-free": "/?query=mean_income&way=accuracy&within=5000",
        "ask-histogram": "/?query=ages&way=privacy&epsilon=1",
        "ask-too-much": "/?query=over_60&way=accuracy&within=0.0001",
        "budget": "/budget",
        "custodian": "/custodian",
        "query": "/queries/ages",
        "account": f"/accounts/{ADA.address}",
        "answer": f"/transactions/{transaction}",
        "api": "/api",
        "nothing-there": "/nowhere",
    }
    for name, path in pages.items():
        _shoot(visitor.open(path), name, kind)
    visitor.open("/?query=over_60")
    visitor.page.get_by_role("button", name="Connect a wallet").click()
    _shoot(visitor.page, "wallets", kind)


def _take_for_readme(browser: Browser, system: DemoSystem, site: str) -> None:
    """Take the README's pictures: the top of two pages without their margins."""
    context = browser.new_context(viewport=SIZES["desktop"], color_scheme="light")
    visitor = Visitor(context, site, Wallet(ADA, system.url).install(context))
    for name, path, height in IN_README:
        page = visitor.open(path)
        page.wait_for_load_state("networkidle")
        clip: FloatRect = {"x": 40, "y": 0, "width": 1200, "height": height}
        page.screenshot(path=ROOT / "docs" / "images" / f"{name}.png", full_page=True, clip=clip)
    context.close()


def _trouble(browser: Browser, system: DemoSystem, site: str) -> None:
    """Take pictures of what is shown while the worker is stopped."""
    context = browser.new_context(viewport=SIZES["desktop"])
    visitor = Visitor(context, site, Wallet(ADA, system.url).install(context))
    visitor.open("/?query=citizens")
    visitor.connect()
    system.stop_worker()
    visitor.ask()
    expect(visitor.page.locator("#progress")).to_contain_text("The worker does not respond")
    _shoot(visitor.page, "worker-stopped", "desktop-light")
    _shoot(visitor.open("/custodian"), "custodian-worker-stopped", "desktop-light")
    system.start_worker()
    context.close()


def _shoot(page: Page, name: str, kind: str) -> None:
    page.wait_for_load_state("networkidle")
    page.screenshot(path=OUT / f"{name}-{kind}.png", full_page=True)


if __name__ == "__main__":
    main()
