"""Asking with a wallet that owns no coins: it signs, and the relay that the ledger file names does the rest."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import httpx2
import pytest
from playwright.sync_api import BrowserContext, expect

from browser.visitor import Visitor
from browser.wallet import Wallet
from noiseledger.chain import Key, PrivacyLedgerContract, Rpc, Sender, local_chain
from noiseledger.chain.values import from_units
from noiseledger.demo.system import DemoSystem, census_system, web_pages
from noiseledger.ledger.file import LedgerFile

ADA = Key.from_hex(local_chain.PLAY_ANALYSTS[0])


@pytest.fixture(scope="module")
def system() -> Iterator[DemoSystem]:
    """Analysts without coins, and a relay."""
    with census_system(has_relay=True) as running:
        yield running


@pytest.fixture(scope="module")
def site(system: DemoSystem) -> Iterator[str]:
    with web_pages(system, "--seconds", "0.1", "--rate", "1000") as url:
        yield url


@pytest.fixture(scope="module")
def contract(system: DemoSystem, rpc: Rpc) -> PrivacyLedgerContract:
    return PrivacyLedgerContract(rpc, LedgerFile.read(system.ledger_file).address)


def test_from_signing_to_the_answer(ada: Visitor, contract: PrivacyLedgerContract, rpc: Rpc) -> None:
    assert ada.wallet is not None
    ada.connect()
    ada.want_new("over_60")
    ada.expect_quote("You sign, and need no coins")
    price = ada.price
    ada.ask()
    for step in ("mined", "final", "answered"):
        ada.expect_step(step)
    assert "/transactions/0x" in ada.page.url
    # What the wallet was shown: this ledger, the price as the limit, and nothing to send.
    (shown,) = ada.wallet.signed
    assert shown["domain"]["verifyingContract"] == contract.address
    assert float(from_units(int(shown["message"]["limit"]))) == pytest.approx(float(price), rel=1e-3)
    assert ada.wallet.sent == []
    assert "eth_sendTransaction" not in ada.wallet.asked
    assert int(rpc.call("eth_getBalance", ADA.address, "latest"), 16) == 0
    (asked,) = contract.events(["Asked"])
    assert asked.fields["analyst"] == ADA.address.lower()
    # After a reload, the page still shows the same request; and what is free needs no signature.
    ada.page.reload()
    ada.expect_step("answered")
    ada.open()
    ada.want("over_60", 0.05)
    ada.expect_quote("Your free answer")
    assert len(ada.wallet.signed) == 1
    assert not ada.complaints
    assert ada.hosts == {ada.site.removeprefix("http://")}  # the page talks to nobody else


def test_declined_another_account_another_chain_or_no_typed_data(
    ada: Visitor, contract: PrivacyLedgerContract, rpc: Rpc
) -> None:
    assert ada.wallet is not None
    spent, nonce = contract.spent(), contract.nonce(ADA.address)
    ada.connect()
    ada.want_new("white")
    ada.wallet.reject_next()
    ada.ask()
    ada.expect_message("You declined in your wallet. Nothing was sent or spent")
    ada.wallet.signing_key = Key.new()
    ada.ask()
    ada.expect_message(f"The wallet did not sign this request with the account {ADA.address}")
    ada.wallet.signing_key = None
    ada.wallet.move_to(1)
    ada.expect_message(f"This ledger is on chain {local_chain.CHAIN_ID}")
    ada.clear_message()
    ada.ask()
    ada.expect_message(f"This ledger is on chain {local_chain.CHAIN_ID}")
    ada.wallet.move_to(local_chain.CHAIN_ID)
    ada.wallet.signs_data = False
    ada.ask()
    ada.expect_message("If it cannot sign typed data, pay the fee yourself")
    # Which an account without coins cannot.
    ada.clear_message()
    ada.page.get_by_role("button", name="Pay the fee yourself").click()
    ada.expect_message("has no funds to pay the chain's fee")
    assert (contract.spent(), contract.nonce(ADA.address)) == (spent, nonce)


def test_somebody_who_was_not_invited_is_told_before_signing(
    context: BrowserContext, system: DemoSystem, site: str
) -> None:
    wallet = Wallet(Key.new(), system.url).install(context)
    stranger = Visitor(context, site, wallet)
    stranger.open()
    stranger.connect()
    stranger.want_new("white")
    stranger.ask()
    stranger.expect_message("has no allowance")
    assert wallet.signed == []


def test_a_relay_that_is_away_and_comes_back(ada: Visitor, system: DemoSystem, contract: PrivacyLedgerContract) -> None:
    assert ada.wallet is not None
    ada.connect()
    ada.want_new("citizens")
    system.stop_relay()
    try:
        before = contract.spent()
        ada.ask()
        ada.expect_message("The relay at http://127.0.0.1")
        ada.expect_message("Nothing was charged so far.")
        assert contract.spent() == before
    finally:
        system.start_relay()
    ada.ask()
    ada.expect_answer()


def test_while_it_waits_for_a_block_the_page_can_be_loaded_again(ada: Visitor, rpc: Rpc) -> None:
    assert ada.wallet is not None
    ada.connect()
    ada.want_new("mean_income")
    rpc.call("evm_setAutomine", False)
    try:
        ada.ask()
        expect(ada.page.locator('#progress [data-step="handed"].done')).to_be_visible()
        assert re.search(r"/requests/[0-9a-f]{64}$", ada.page.url)
        ada.page.reload()  # the page still follows it
        expect(ada.page.locator('#progress [data-step="handed"].done')).to_be_visible()
    finally:
        rpc.call("evm_setAutomine", True)
        rpc.call("evm_mine")
    ada.expect_answer()


def test_only_our_own_pages_may_hand_over(site: str, contract: PrivacyLedgerContract, system: DemoSystem) -> None:
    body = {"query": "ages", "within": 10, "analyst": ADA.address}
    prepared = httpx2.post(f"{site}/api/v1/sign", json=body).json()["to_sign"]["request"]
    request = {**prepared, "signature": "0x" + "11" * 65}
    foreign = httpx2.post(f"{site}/api/v1/requests", json=request, headers={"Origin": "https://evil.example"})
    assert (foreign.status_code, foreign.json()["error"]["type"]) == (403, "RequestRefused")
    altered = httpx2.post(f"{site}/api/v1/requests", json=request)
    assert (altered.status_code, altered.json()["error"]["type"]) == (409, "SignatureRefused")
    elsewhere = httpx2.post(f"{site}/api/v1/requests", json={**request, "chain_id": 1})
    assert "signed for chain 1" in elsewhere.json()["error"]["message"]
    assert httpx2.get(f"{site}/api/v1/requests/{'0' * 64}").status_code == 404
    assert Path(system.folder, "relay.sqlite").exists()
    assert Sender(contract.rpc, ADA).counts() == (0, 0)
