"""What goes wrong while somebody asks: each time the page says what happened and what to do, and nothing is lost."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from fractions import Fraction

import pytest
from playwright.sync_api import BrowserContext, Route, expect

from browser.visitor import ASK, Visitor
from browser.wallet import Wallet
from noiseledger.chain import Key, Rpc, abi, local_chain
from noiseledger.chain.values import encode_request
from noiseledger.client import connect
from noiseledger.core.access import Access
from noiseledger.core.budget import Budget
from noiseledger.core.privacy import whole_units
from noiseledger.demo.system import DemoSystem, census_system, web_pages

HIGH_FEE = {"maxFeePerGas": hex(10**12), "maxPriorityFeePerGas": hex(10**11)}
BEN = Key.from_hex(local_chain.PLAY_ANALYSTS[1])


@pytest.fixture(scope="module")
def system() -> Iterator[DemoSystem]:
    """A ledger that anyone may ask: here some take more than a fair share, and are quicker than others."""
    with census_system(access=Access.OPEN) as running:
        yield running


@pytest.fixture
def paused_chain(rpc: Rpc) -> Iterator[None]:
    """A chain whose blocks the test makes."""
    rpc.call("evm_setAutomine", False)
    yield
    rpc.call("evm_setAutomine", True)
    rpc.call("evm_mine")


def _budget(system: DemoSystem) -> Budget:
    with connect(system.ledger_file, rpc=system.url) as client:
        return client.budget()


def test_too_much_is_refused_before_anybody_pays(ada: Visitor, system: DemoSystem) -> None:
    before = _budget(system)
    ada.want("over_60", 0.0001)
    ada.expect_quote("Not enough budget.")
    ada.expect_quote("is missing")
    ada.expect_quote("Allow a larger error")
    expect(ada.page.get_by_role("button", name=ASK)).to_have_count(0)
    assert _budget(system) == before


def test_somebody_was_quicker_and_the_contract_refuses(ada: Visitor, system: DemoSystem, rpc: Rpc) -> None:
    ada.connect()
    # Everything that is left but a little; two such requests do not fit.
    share = _budget(system).remaining * 6 / 10
    ada.open(f"/?query=white&way=accuracy&within={_within(system, 'white', share)}&confidence=0.95")
    rpc.call("evm_setAutomine", False)
    try:
        ada.ask()
        ada.expect_step("sent")
        rpc.call("eth_sendTransaction", _purchase(system, "citizens", share))
    finally:
        rpc.call("evm_mine")
        rpc.call("evm_setAutomine", True)
    expect(ada.page.locator("#progress")).to_contain_text("The contract refused the request.")
    expect(ada.page.locator("#progress")).to_contain_text("is missing")
    expect(ada.page.locator("#progress")).to_contain_text("Nothing was spent")


def test_whoever_declines_in_the_wallet_has_lost_nothing(ada: Visitor, system: DemoSystem) -> None:
    assert ada.wallet is not None
    ada.wallet.reject_next()
    ada.connect()
    ada.expect_message("You declined in your wallet.")
    ada.connect()
    before = _budget(system)
    ada.want_new("ages")
    ada.wallet.reject_next()
    ada.ask()
    ada.expect_message("You declined in your wallet. Nothing was sent or spent")
    expect(ada.page.get_by_role("button", name=ASK)).to_be_enabled()
    assert _budget(system) == before
    ada.ask()
    ada.expect_step("answered")


def test_a_wallet_that_is_busy_says_so(ada: Visitor) -> None:
    assert ada.wallet is not None
    ada.wallet.busy_next()
    ada.connect()
    ada.expect_message("already waiting for you")


def test_a_wallet_on_the_wrong_chain_is_offered_to_switch(ada: Visitor) -> None:
    assert ada.wallet is not None
    ada.wallet.chain_id = 1
    ada.connect()
    ada.expect_message("is on another chain. This ledger is on chain 31337")
    ada.want_new("ages")
    ada.clear_message()
    ada.ask()
    ada.expect_message("is on another chain")
    assert "eth_sendTransaction" not in ada.wallet.asked
    ada.wallet.reject_next()
    ada.page.get_by_role("button", name="Switch to chain 31337").click()
    ada.expect_message("You declined")
    ada.ask()
    ada.page.get_by_role("button", name="Switch to chain 31337").click()
    ada.expect_message("on the right chain now")
    ada.ask()
    ada.expect_step("answered")
    # And when the user moves away again, the page notices.
    ada.wallet.move_to(5)
    ada.expect_message("is on another chain")
    ada.wallet.move_to(31337)
    expect(ada.page.locator("#message")).to_be_empty()


def test_a_wallet_that_does_not_know_the_chain_learns_it(ada: Visitor) -> None:
    assert ada.wallet is not None
    ada.wallet.chain_id, ada.wallet.unknown_chains = 1, {31337}
    ada.connect()
    ada.page.get_by_role("button", name="Switch to chain 31337").click()
    ada.expect_message("on the right chain now")
    assert ada.wallet.asked.count("wallet_addEthereumChain") == 1
    assert ada.wallet.chain_id == 31337


def test_fields_that_come_late_come_all_the_same_and_nothing_typed_is_lost(ada: Visitor) -> None:
    late: list[Route] = []
    ada.page.route("**/accuracy?*", lambda route: late.append(route))  # noqa: PLW0108 - Playwright takes no built-in
    number = ada.page.get_by_label("Largest acceptable error", exact=True)
    with ada.new_query():
        ada.page.get_by_label("Query", exact=True).select_option("ages")
        expect(number).to_be_disabled()
        expect(ada.page.get_by_role("button", name=ASK)).to_be_disabled()
        # Longer than the page waits before it asks for a price: that question once stopped this one.
        ada.page.wait_for_timeout(500)
        late.pop().continue_()
    expect(number).to_be_enabled()
    with ada.page.expect_response(lambda reply: "/quote?query=ages&" in reply.url and "within=77&" in reply.url):
        number.fill("77")
    assert not ada.complaints


def test_loading_the_page_again_in_the_middle_loses_nothing(ada: Visitor, rpc: Rpc, paused_chain: None) -> None:
    ada.connect()
    ada.want_new("ages")
    ada.ask()
    ada.expect_step("sent")
    ada.page.reload()
    ada.expect_step("sent")
    expect(ada.page.get_by_role("button", name="Disconnect")).to_be_visible()
    rpc.call("evm_setAutomine", True)
    rpc.call("evm_mine")
    ada.expect_step("mined")
    ada.expect_step("answered")


def test_loading_again_while_the_wallet_asks_finds_the_request_later(ada: Visitor, system: DemoSystem) -> None:
    assert ada.wallet is not None
    ada.connect()
    within = ada.want_new("ages")
    ada.wallet.hold()
    ada.ask()
    ada.wallet.wait_until_asked("eth_sendTransaction", ada.page)
    expect(ada.page.get_by_role("button", name="Confirm in your wallet")).to_be_disabled()
    ada.page.reload()
    # The user confirms in the wallet, and the page that asked is gone: the request is on the chain all the same.
    with connect(system.ledger_file, rpc=system.url, key=Key.from_hex(local_chain.PLAY_ANALYSTS[0])) as client:
        answer = client.ask("ages", within=within)
    ada.page.reload()
    mine = ada.page.locator("#mine")
    assert answer.transaction is not None
    expect(mine.get_by_role("link", name=f"{answer.transaction[:6]}…{answer.transaction[-4:]}")).to_be_visible()


def test_a_request_made_elsewhere_appears_without_loading_again(ada: Visitor, system: DemoSystem) -> None:
    ada.connect()
    within = ada.want_new("ages")
    with connect(system.ledger_file, rpc=system.url, key=Key.from_hex(local_chain.PLAY_ANALYSTS[0])) as client:
        answer = client.ask("ages", within=within)
    assert answer.transaction is not None
    link = f"{answer.transaction[:6]}…{answer.transaction[-4:]}"
    expect(ada.page.locator("#mine").get_by_role("link", name=link)).to_be_visible()


def test_a_worker_that_is_stopped_and_started(ada: Visitor, system: DemoSystem) -> None:
    ada.connect()
    system.stop_worker()
    try:
        ada.want_new("ages")
        ada.ask()
        ada.expect_step("mined")
        progress = ada.page.locator("#progress")
        expect(progress).to_contain_text("The worker does not respond")
        expect(progress).to_contain_text("Nothing is lost")
    finally:
        system.start_worker()
    ada.expect_step("answered")
    expect(ada.page.locator("#progress")).not_to_contain_text("The worker does not respond")


def test_a_transaction_that_never_arrived(ada: Visitor, system: DemoSystem) -> None:
    assert ada.wallet is not None
    ada.connect()
    before = _budget(system)
    ada.want_new("ages")
    ada.wallet.swallow_next()
    ada.ask()
    progress = ada.page.locator("#progress")
    expect(progress).to_contain_text("our node has not seen it yet")
    (name,) = ada.wallet.swallowed
    ada.open(f"/transactions/{name}?sent={time.time() - 3600}")
    expect(progress).to_contain_text("The transaction was not found on the chain.")
    expect(progress).to_contain_text("Nothing was spent")
    assert _budget(system) == before


def test_a_transaction_that_was_dropped_or_displaced(ada: Visitor, rpc: Rpc, paused_chain: None) -> None:
    assert ada.wallet is not None
    ada.connect()
    ada.want_new("ages")
    ada.ask()
    ada.expect_step("sent")
    rpc.call("anvil_dropTransaction", ada.wallet.sent[-1])
    expect(ada.page.locator("#progress")).to_contain_text("The transaction was not found on the chain.")
    ada.open()
    ada.want_new("ages")
    ada.ask()
    ada.expect_step("sent")
    # The user cancels in the wallet: an empty transaction of the same number, for a higher fee.
    sender = ada.wallet.key.address
    nonce = hex(int(rpc.call("eth_getTransactionCount", sender, "latest"), 16))
    rpc.call("eth_sendTransaction", {"from": sender, "to": sender, "nonce": nonce, "gas": hex(21_000), **HIGH_FEE})
    rpc.call("evm_mine")
    expect(ada.page.locator("#progress")).to_contain_text("Another transaction replaced this one.")


def test_the_wallets_account_changes_and_goes(ada: Visitor) -> None:
    assert ada.wallet is not None
    ada.connect()
    account = ada.page.locator("#account")
    expect(account).to_have_attribute("title", ada.wallet.accounts[0])
    ada.wallet.change_account(BEN)
    expect(account).to_have_attribute("title", BEN.address.lower())
    ada.wallet.lock()
    expect(ada.page.get_by_role("button", name="Connect a wallet")).to_be_visible()


def test_a_wallet_from_before_eip_6963(context: BrowserContext, system: DemoSystem, site: str) -> None:
    wallet = Wallet(BEN, system.url, announce=False, legacy=True).install(context)
    ben = Visitor(context, site, wallet)
    ben.open()
    ben.connect("Browser wallet")
    expect(ben.page.locator("#account")).to_have_attribute("title", BEN.address.lower())


def test_no_wallet_at_all(context: BrowserContext, system: DemoSystem) -> None:
    with web_pages(system) as site:
        reader = Visitor(context, site)
        reader.open()
        reader.page.get_by_role("button", name="Connect a wallet").click()
        expect(reader.page.get_by_role("dialog")).to_contain_text("No wallet was found in this browser")


def test_the_site_goes_away_and_comes_back(context: BrowserContext, system: DemoSystem) -> None:
    reader = Visitor(context, "")
    with web_pages(system) as site:
        reader.site = site
        reader.open("/budget")
    reader.expect_message("The site does not respond; this page tries again automatically.")
    with web_pages(system, port=int(site.rpartition(":")[2])):
        expect(reader.page.locator("#message")).to_be_empty()


def _within(system: DemoSystem, query: str, precision: Fraction) -> str:
    with connect(system.ledger_file, rpc=system.url) as client:
        return repr(client.quote(query, precision=precision).half_width())


def _purchase(system: DemoSystem, query: str, precision: Fraction) -> dict[str, str]:
    """Write a purchase of Ben's that goes first, since it offers the higher fee."""
    with connect(system.ledger_file, rpc=system.url) as client:
        request = encode_request(client.find(query).identifier, whole_units(precision))
    data = abi.encode_call("ask", [request], 2**112)
    address = json.loads(system.ledger_file.read_text())["address"]
    return {"from": BEN.address, "to": address, "data": data, "gas": hex(300_000), **HIGH_FEE}
