"""The whole way in a real browser: from connecting a wallet to an answer, in all of the paper's four cases."""

from __future__ import annotations

import pytest
from playwright.sync_api import Browser, BrowserContext, expect

from browser.visitor import ASK, Visitor, read_answer
from browser.wallet import Wallet
from noiseledger.chain import Key, Rpc, local_chain
from noiseledger.client import connect
from noiseledger.demo.system import DemoSystem


def test_all_four_cases_from_connecting_to_an_answer(ada: Visitor, system: DemoSystem) -> None:
    ada.connect()
    expect(ada.page.get_by_role("button", name="Disconnect")).to_be_visible()

    ada.want("over_60", 0.01)
    ada.expect_quote("1: nobody has asked this query before")
    first_price = ada.price
    assert first_price > 0
    ada.ask()
    for step in ("sent", "mined", "final"):
        ada.expect_step(step)
    value, width = ada.expect_answer()
    assert width == 0.01
    assert abs(value - 0.23) < 0.1

    with connect(system.ledger_file, rpc=system.url) as client:
        best = client.best("over_60")
        assert best is not None
        assert ada.published("#progress") == best.value
        assert abs(best.value - value) <= 0.0005
        (record,) = client.history("over_60")
    assert record.transaction is not None
    assert record.transaction in ada.page.url
    assert ada.wallet is not None
    assert ada.wallet.sent == [record.transaction]

    # The same again and anything less accurate is free, and needs no wallet.
    ada.open()
    ada.want("over_60", 0.01)
    ada.expect_quote("2A: an answer of exactly this accuracy is public")
    ada.expect_quote("Your free answer")
    assert ada.price == 0
    assert read_answer(ada.page.locator("#quote .answer .big").inner_text()) == (value, width)
    ada.want("over_60", 0.03)
    ada.expect_quote("2C: a more accurate answer is public")
    assert ada.price == 0
    assert len(ada.wallet.sent) == 1

    # More accuracy uses the difference.
    ada.want("over_60", 0.005)
    ada.expect_quote("2B: a less accurate answer is public")
    assert abs(ada.price - 3 * first_price) < first_price / 100
    ada.ask()
    _, finer = ada.expect_answer()
    assert finer == 0.005
    assert not ada.complaints


def test_a_histogram_is_answered_with_a_picture_and_a_table(ada: Visitor) -> None:
    ada.connect()
    ada.want_new("ages")
    ada.ask()
    ada.expect_step("answered")
    expect(ada.page.locator("#progress .answer svg")).to_be_visible()
    ada.page.locator("#progress").get_by_text("Published numbers, and sampling error").click()
    expect(ada.page.locator("#progress").get_by_role("rowheader", name="[60, 80)")).to_be_visible()
    assert not ada.complaints


def test_epsilon_and_delta_instead_of_an_error_bar(ada: Visitor) -> None:
    ada.connect()
    ada.choose("white")
    ada.page.get_by_label("(ε, δ)").check()
    ada.page.get_by_label("Epsilon of this answer by itself", exact=True).fill("0.5")
    ada.page.get_by_label("Delta").fill("1e-5")
    ada.expect_quote("1: nobody")
    ada.expect_quote("precision 0.02022")
    ada.ask()
    ada.expect_answer()


def test_another_query_begins_with_an_error_bar_of_its_own(ada: Visitor) -> None:
    ada.want("mean_income", 10000)
    ada.choose("white")
    # A share is between 0 and 1, an income is not.
    assert 0 < float(ada.page.get_by_label("Largest acceptable error", exact=True).input_value()) < 1


def test_the_slider_moves_the_price(ada: Visitor) -> None:
    ada.want("mean_income", 10000)
    dear = ada.page.get_by_label("Largest acceptable error, slider")
    before = ada.price
    with ada.page.expect_response(lambda reply: "/quote?" in reply.url):
        dear.fill("100")
    ada.expect_priced()
    expect(ada.page.get_by_label("Largest acceptable error", exact=True)).not_to_have_value("10000")
    assert ada.price > before


def test_without_a_wallet_what_is_free_works(context: BrowserContext, system: DemoSystem, site: str) -> None:
    with connect(system.ledger_file, rpc=system.url, key=Key.from_hex(local_chain.PLAY_ANALYSTS[1])) as client:
        known = client.ask("citizens", within="0.02")
    reader = Visitor(context, site)
    reader.open()
    reader.want("citizens", 0.05)
    reader.expect_quote("Your free answer")
    value, width = read_answer(reader.page.locator("#quote .answer .big").inner_text())
    assert reader.published("#quote") == known.value
    assert abs(value - known.value) <= 0.0005
    assert width == pytest.approx(known.half_width(), abs=0.0005)
    assert not reader.complaints


def test_a_throw_away_account_on_the_demo_chain(context: BrowserContext, site: str, rpc: Rpc) -> None:
    visitor = Visitor(context, site)
    visitor.open()
    visitor.connect("Throw-away account with test coins")
    expect(visitor.page.locator("#account")).to_contain_text("0x")
    visitor.want_new("ages")
    visitor.ask()
    visitor.expect_step("answered")
    account = visitor.page.locator("#account").get_attribute("title")
    assert int(rpc.call("eth_getTransactionCount", account, "latest"), 16) == 1
    assert not visitor.complaints


def test_two_analysts_in_two_windows_pay_once(browser: Browser, system: DemoSystem, site: str, rpc: Rpc) -> None:
    visitors = []
    for number, key in enumerate(local_chain.PLAY_ANALYSTS[:2]):
        context = browser.new_context()
        wallet = Wallet(Key.from_hex(key), system.url).install(context)
        visitors.append(Visitor(context, site, wallet))
        visitors[number].open()
        visitors[number].connect()
    with connect(system.ledger_file, rpc=system.url) as client:
        before = client.budget().spent
    rpc.call("evm_setAutomine", False)
    try:
        for visitor, within in zip(visitors, (3000, 2000), strict=True):
            visitor.want("mean_income", within)
            visitor.ask()
            visitor.expect_step("sent")
    finally:
        rpc.call("evm_setAutomine", True)
        rpc.call("evm_mine")
    for visitor in visitors:
        _, width = visitor.expect_answer()
        # Both are shown the best that is public by now.
        assert width in (2000, 3000)
        assert not visitor.complaints
        visitor.context.close()
    with connect(system.ledger_file, rpc=system.url) as client:
        spent = client.budget().spent - before
        records = client.history("mean_income")[-2:]
        furthest = client.quote("mean_income", within=2000)
    assert furthest.price.cost == 0
    assert sum(record.cost for record in records) == spent
    assert {record.case.value for record in records} <= {"1", "2B", "2A", "2C"}
    assert spent < sum(record.precision for record in records)


def test_the_keyboard_is_enough(ada: Visitor) -> None:
    page = ada.page
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.textContent") == "Skip to the content"
    for _ in range(20):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.id") == "connect":
            break
    page.keyboard.press("Enter")
    expect(page.get_by_role("dialog")).to_be_visible()
    while page.evaluate("document.activeElement.textContent") != "Test Wallet":
        page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    expect(page.get_by_role("button", name="Disconnect")).to_be_visible()
    page.get_by_label("Query", exact=True).focus()
    with ada.new_query():
        page.keyboard.type("citizens")
    page.get_by_label("Largest acceptable error", exact=True).focus()
    page.keyboard.press("Control+a")
    with page.expect_response(lambda reply: "within=0.003" in reply.url):
        page.keyboard.type("0.003")
    ada.expect_priced()
    page.get_by_role("button", name=ASK).focus()
    page.keyboard.press("Enter")
    ada.expect_answer()
