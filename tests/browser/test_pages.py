"""The pages as people see them: the public's budget, the custodian's switches, and whether everybody can use them."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from fractions import Fraction
from typing import Literal, TypeAlias

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, ViewportSize, expect

from browser import axe
from browser.visitor import ASK, Visitor
from browser.wallet import Wallet
from noiseledger.chain import Key, local_chain
from noiseledger.client import connect
from noiseledger.demo.system import DemoSystem
from noiseledger.errors import AnswerPending
from noiseledger.ledger.chain import ChainLedger

CUSTODIAN, ADA = Key.from_hex(local_chain.PLAY_KEYS[0]), Key.from_hex(local_chain.PLAY_ANALYSTS[0])
Scheme: TypeAlias = Literal["light", "dark"]
PHONE: ViewportSize = {"width": 360, "height": 740}


@pytest.fixture(scope="module", autouse=True)
def asked(system: DemoSystem) -> str:
    """Let something have happened; return a transaction."""
    with connect(system.ledger_file, rpc=system.url, key=ADA) as client:
        client.ask("ages", within=30)
        answer = client.ask("over_60", epsilon="0.5", delta="1e-5")
    assert answer.transaction is not None
    return answer.transaction


@pytest.fixture
def reader(context: BrowserContext, site: str) -> Visitor:
    return Visitor(context, site)


@pytest.fixture
def custodian(context: BrowserContext, system: DemoSystem, site: str) -> Visitor:
    visitor = Visitor(context, site, Wallet(CUSTODIAN, system.url).install(context))
    visitor.open("/custodian")
    return visitor


def test_the_budget_page_brings_itself_up_to_date(reader: Visitor, system: DemoSystem) -> None:
    page = reader.open("/budget")
    expect(page.get_by_role("img", name="Privacy budget used over time")).to_be_visible()
    tile = page.locator(".tile", has_text="used").first
    before = tile.inner_text()
    page.evaluate("window.notReloaded = true")
    with connect(system.ledger_file, rpc=system.url, key=ADA) as client:
        answer = client.ask("citizens", within="0.01")
        spent = client.budget().spent
    expect(page.get_by_role("cell", name="citizens")).to_be_visible()
    expect(tile).not_to_have_text(before)
    assert f"{float(spent):.4g}"[:5] in tile.inner_text()
    left = page.locator(".tile", has_text="left").first.inner_text()
    used, rest = (Fraction(text.split("%")[0].split()[-1]) for text in (tile.inner_text(), left))
    assert used + rest == 100
    assert page.evaluate("window.notReloaded")
    assert answer.transaction is not None
    link = page.get_by_role("link", name=f"{answer.transaction[:6]}…{answer.transaction[-4:]}")
    link.click()
    expect(page).to_have_url(f"{reader.site}/transactions/{answer.transaction}")
    expect(page.locator(".answer")).to_contain_text("citizens")
    assert not reader.complaints


def test_what_the_public_can_check_is_named(reader: Visitor, system: DemoSystem) -> None:
    page = reader.open("/budget")
    with connect(system.ledger_file, rpc=system.url) as client:
        assert isinstance(client.ledger, ChainLedger)
        commitment = client.ledger.terms.commitment
    expect(page.locator("#main")).to_contain_text("0x" + commitment.hex())
    with page.expect_download() as download:
        page.get_by_role("link", name="ledger.json").click()
    with connect(download.value.path(), rpc=system.url) as again:
        assert again.budget().spent > 0


def test_every_chart_offers_its_numbers(reader: Visitor) -> None:
    page = reader.open("/budget")
    for place in range(3):
        link = page.get_by_role("link", name="CSV").nth(place)
        with page.expect_download() as download:
            link.click()
        lines = download.value.path().read_text().splitlines()
        assert len(lines) > 1
        assert "," in lines[0]


def test_the_custodian_stops_selling_and_goes_on(
    custodian: Visitor, browser: Browser, system: DemoSystem, site: str
) -> None:
    page = custodian.page
    expect(page.locator("#live")).to_contain_text("The worker is healthy")
    custodian.connect()
    page.get_by_role("button", name="Pause sales").click()
    expect(page.get_by_role("button", name="Resume sales")).to_be_visible()
    context = browser.new_context()
    ada = Visitor(context, site, Wallet(ADA, system.url).install(context))
    ada.open()
    ada.want("mean_income", 8000)
    ada.expect_quote("The custodian has paused sales")
    expect(ada.page.get_by_role("button", name=ASK)).to_have_count(0)
    page.get_by_role("button", name="Resume sales").click()
    expect(page.get_by_role("button", name="Pause sales")).to_be_visible()
    ada.want("mean_income", 8001)
    expect(ada.page.get_by_role("button", name=ASK)).to_be_visible()
    assert not custodian.complaints
    context.close()


def test_nobody_else_can_stop_selling(context: BrowserContext, system: DemoSystem, site: str) -> None:
    ada = Visitor(context, site, Wallet(ADA, system.url).install(context))
    ada.open("/custodian")
    ada.connect()
    ada.page.get_by_role("button", name="Pause sales").click()
    ada.expect_message(f"Only the custodian, {CUSTODIAN.address}, can do this, not {ADA.address}.")
    assert ada.wallet is not None
    assert "eth_sendTransaction" not in ada.wallet.asked


def test_the_custodian_sees_what_waits(custodian: Visitor, system: DemoSystem) -> None:
    system.stop_worker()
    try:
        expect(custodian.page.locator("#live")).to_contain_text("The worker does not respond")
        with (
            connect(system.ledger_file, rpc=system.url, key=ADA, answer_seconds=0) as client,
            pytest.raises(AnswerPending),
        ):
            client.ask("white", within="0.01")
        expect(custodian.page.get_by_role("row", name="white").first).to_contain_text("0x")
        expect(custodian.page.locator("#live")).to_contain_text("Bought, but not yet answered")
    finally:
        system.start_worker()
    expect(custodian.page.locator("#live")).to_contain_text("The worker is healthy")
    expect(custodian.page.locator("#live")).not_to_contain_text("Bought, but not yet answered")


def test_a_chain_that_does_not_answer_is_said(reader: Visitor, system: DemoSystem) -> None:
    page = reader.open("/budget")
    # Frozen, not stopped: its state is wanted by the tests that follow.
    system.chain.process.send_signal(signal.SIGSTOP)
    try:
        expect(page.get_by_text("The chain does not reply.")).to_be_visible()
        expect(page.locator("#main")).to_contain_text("This page shows the state at block")
    finally:
        system.chain.process.send_signal(signal.SIGCONT)
    expect(page.get_by_text("The chain does not reply.")).to_have_count(0)


def test_no_request_goes_to_another_host_and_no_policy_is_broken(reader: Visitor, asked: str) -> None:
    reader.context.add_init_script(
        "document.addEventListener('securitypolicyviolation', e => console.error('policy: ' + e.violatedDirective))"
    )
    for path in _paths(asked):
        reader.open(path)
        reader.page.wait_for_load_state("networkidle")
    assert reader.hosts == {reader.site.removeprefix("http://")}
    assert not reader.complaints


def test_the_policy_stops_what_is_written_into_the_page(reader: Visitor) -> None:
    page = reader.open()
    page.evaluate("""() => {
        const script = document.createElement('script');
        script.textContent = 'window.broken = true';
        document.body.append(script);
        document.body.insertAdjacentHTML('beforeend', '<img src=x onerror="window.broken = true">');
    }""")
    page.wait_for_timeout(200)
    assert page.evaluate("window.broken") is None
    assert page.evaluate("fetch('http://127.0.0.1:1/').then(() => 'sent', () => 'stopped')") == "stopped"
    assert any("Content Security Policy" in text for text in reader.complaints)


def test_a_wallet_with_a_hostile_name_is_text(context: BrowserContext, system: DemoSystem, site: str) -> None:
    name = "<img src=x onerror='window.broken = true'>"
    visitor = Visitor(context, site, Wallet(ADA, system.url, name=name).install(context))
    visitor.open()
    visitor.page.get_by_role("button", name="Connect a wallet").click()
    expect(visitor.page.get_by_role("dialog")).to_contain_text(name)
    assert visitor.page.evaluate("window.broken") is None


@pytest.mark.parametrize(
    ("device", "scheme"),
    [
        ("desktop", "light"),
        ("phone", "dark"),
        pytest.param("desktop", "dark", marks=pytest.mark.deep),
        pytest.param("phone", "light", marks=pytest.mark.deep),
    ],
)
def test_axe_finds_nothing_serious(
    browser: Browser, site: str, asked: str, scheme: Literal["light", "dark"], device: str
) -> None:
    with _page(browser, scheme, PHONE if device == "phone" else None) as page:
        for path in _paths(asked):
            page.goto(site + path)
            page.wait_for_load_state("networkidle")
            assert axe.violations(page) == [], path
        page.goto(site)
        page.get_by_role("button", name="Connect a wallet").click()
        assert axe.violations(page) == []


def test_nothing_is_wider_than_a_phone(browser: Browser, site: str, asked: str) -> None:
    with _page(browser, "light", PHONE) as page:
        for path in _paths(asked):
            page.goto(site + path)
            page.wait_for_load_state("networkidle")
            assert page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"], path
            small = page.eval_on_selector_all(
                "button, select, input:not([type=radio])",
                "all => all.filter(e => e.offsetParent && e.getBoundingClientRect().height < 40).map(e => e.outerHTML)",
            )
            assert small == [], path


def test_pages_can_be_printed(reader: Visitor) -> None:
    page = reader.open("/budget")
    page.emulate_media(media="print", color_scheme="dark")
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    expect(page.get_by_role("img", name="Privacy budget used over time")).to_be_visible()
    expect(page.get_by_role("button", name="Connect a wallet")).to_be_hidden()


def test_without_scripts_the_price_is_shown_all_the_same(browser: Browser, site: str) -> None:
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(site)
    page.get_by_label("Query", exact=True).select_option("over_60")
    page.get_by_label("Largest acceptable error", exact=True).fill("0.02")
    page.get_by_role("button", name="Show privacy and accuracy").click()
    expect(page.locator("#quote")).to_contain_text("Your free answer")
    context.close()


def _paths(asked: str) -> list[str]:
    pages = ["/", "/?way=privacy&query=ages", "/budget", "/custodian", "/api", "/queries/ages"]
    return [*pages, f"/transactions/{asked}", f"/accounts/{ADA.address}"]


@contextmanager
def _page(browser: Browser, scheme: Scheme, viewport: ViewportSize | None = None) -> Iterator[Page]:
    context = browser.new_context(color_scheme=scheme, viewport=viewport or {"width": 1280, "height": 900})
    try:
        yield context.new_page()
    finally:
        context.close()
