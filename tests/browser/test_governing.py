"""The custodian governs a ledger from the web page, with their own wallet; nobody else's is asked to sign."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, BrowserContext, expect

from browser.visitor import Visitor
from browser.wallet import Wallet
from noiseledger.chain import Key, PrivacyLedgerContract, Rpc, local_chain
from noiseledger.core.privacy import precision_for
from noiseledger.demo.system import DemoSystem
from noiseledger.ledger.file import LedgerFile

CUSTODIAN = Key.from_hex(local_chain.PLAY_KEYS[0])
ADA = Key.from_hex(local_chain.PLAY_ANALYSTS[0])
#: Has test coins, and was invited by nobody.
DORA = Key.from_hex("0x8b3a350cf5c34c9194ca85829a2df0ec3153be0318b5e2d3348e872092edffba")


@pytest.fixture
def custodian(context: BrowserContext, system: DemoSystem, site: str) -> Visitor:
    visitor = Visitor(context, site, Wallet(CUSTODIAN, system.url).install(context))
    visitor.open("/custodian")
    return visitor


@pytest.fixture
def dora(browser: Browser, system: DemoSystem, site: str) -> Iterator[Visitor]:
    context = browser.new_context()
    yield Visitor(context, site, Wallet(DORA, system.url).install(context))
    context.close()


@pytest.fixture
def contract(rpc: Rpc, system: DemoSystem) -> PrivacyLedgerContract:
    return PrivacyLedgerContract(rpc, LedgerFile.read(system.ledger_file).address)


def test_a_stranger_is_told_whom_to_ask_and_asks_once_invited(
    custodian: Visitor, dora: Visitor, contract: PrivacyLedgerContract
) -> None:
    dora.open()
    dora.connect()
    expect(dora.page.locator("#mine")).to_contain_text(f"has no allowance: ask the custodian, {CUSTODIAN.address}")
    dora.want("citizens", 0.02)
    dora.ask()
    dora.expect_message(f"This ledger is by invitation: {DORA.address} has no allowance")
    assert dora.wallet is not None
    assert "eth_sendTransaction" not in dora.wallet.asked

    custodian.connect()
    page = custodian.page
    expect(page.locator("#role")).to_have_text("Your wallet has the custodian's key.")
    page.get_by_label("Analyst's address").fill(DORA.address)
    page.get_by_label("ε of what they may buy in addition").fill("2")
    page.locator("#show-allow").click()
    expect(page.locator("#change-allow")).to_contain_text(f"{DORA.address} may buy precision")
    expect(page.locator("#change-allow")).to_contain_text("of the privacy budget")
    assert contract.allowance(DORA.address) == 0  # it is only said
    page.get_by_role("button", name="Sign with your wallet").click()
    expect(page.locator("#live")).to_contain_text(DORA.address)
    assert contract.allowance(DORA.address) == precision_for(2, "1e-4")
    assert not custodian.complaints

    dora.ask()
    expect(dora.page.locator("#progress")).to_contain_text("citizens")
    # The browser notes the one refusal, and no script that failed or policy that was broken.
    assert dora.complaints == ["Failed to load resource: the server responded with a status of 403 (Forbidden)"]


def test_selling_is_stopped_and_goes_on(custodian: Visitor, contract: PrivacyLedgerContract) -> None:
    custodian.connect()
    page = custodian.page
    page.get_by_role("button", name="Pause sales").click()
    expect(page.get_by_role("button", name="Resume sales")).to_be_visible()
    assert contract.paused()
    page.get_by_role("button", name="Resume sales").click()
    expect(page.get_by_role("button", name="Pause sales")).to_be_visible()
    assert not contract.paused()
    assert not custodian.complaints


def test_the_wrong_account_is_told_so_and_signs_nothing(dora: Visitor, contract: PrivacyLedgerContract) -> None:
    before = contract.worker()
    page = dora.open("/custodian")
    dora.connect()
    expect(page.locator("#role")).to_contain_text("is not the custodian's")
    page.get_by_label("New worker's address").fill(DORA.address)
    page.locator("#show-rotate-worker").click()
    expect(page.locator("#change-rotate-worker")).to_contain_text(f"only {DORA.address} may reveal answers")
    page.get_by_role("button", name="Sign with your wallet").click()
    dora.expect_message(f"Only the custodian, {CUSTODIAN.address}, can do this, not {DORA.address}.")
    assert dora.wallet is not None
    assert "eth_sendTransaction" not in dora.wallet.asked
    assert contract.worker() == before


def test_what_is_typed_stays_while_the_page_brings_itself_up_to_date(
    custodian: Visitor, contract: PrivacyLedgerContract
) -> None:
    custodian.connect()
    page = custodian.page
    page.get_by_label("New custodian's address").fill(ADA.address)
    page.get_by_role("button", name="Pause sales").click()
    expect(page.get_by_role("button", name="Resume sales")).to_be_visible()
    page.get_by_role("button", name="Resume sales").click()
    expect(page.get_by_role("button", name="Pause sales")).to_be_visible()
    expect(page.get_by_label("New custodian's address")).to_have_value(ADA.address)
    page.locator("#show-hand-over").click()
    page.get_by_role("button", name="Sign with your wallet").click()
    expect(page.locator("#live")).to_contain_text("Custody is offered to")
    assert contract.heir().lower() == ADA.address.lower()
