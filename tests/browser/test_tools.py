"""The browser tests' own tools, on a page of their own: a real Chromium, a real chain, a strict content security policy."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest
from playwright.sync_api import BrowserContext, Page

from browser.axe import violations
from browser.wallet import Wallet
from noiseledger.chain import Key, Rpc, local_chain
from web.system import until

ALICE, BOB, CAROL = (Key.from_hex(key) for key in local_chain.PLAY_KEYS)
HOME = hex(local_chain.CHAIN_ID)
POLICY = "default-src 'none'; script-src 'self'; connect-src 'self'; img-src 'self' data:; style-src 'self'"
SENT = {"from": ALICE.address, "to": BOB.address, "value": "0x7"}

CLEAN = """<!doctype html><html lang="en"><head><title>Clean</title><script src="/page.js"></script></head>
<body><main><h1>Clean</h1><p>Nothing wrong.</p></main></body></html>"""
FLAWED = CLEAN.replace("<p>", "<img id='flaw' src='data:image/gif;base64,R0lGODlhAQABAAAAACw='><p>")
FAINT = CLEAN.replace("<head>", "<head><link rel='stylesheet' href='/faint.css'>")
FILES = {
    "/": ("text/html", CLEAN),
    "/flawed": ("text/html", FLAWED),
    "/faint": ("text/html", FAINT),
    "/faint.css": ("text/css", "p { color: #ccc; background: #fff }"),
    "/page.js": (
        "text/javascript",
        """const wallets = {}, heard = [];
        addEventListener("eip6963:announceProvider", ({ detail }) => {
          if (wallets[detail.info.name]) return;
          wallets[detail.info.name] = detail;
          for (const event of ["accountsChanged", "chainChanged", "disconnect"])
            detail.provider.on(event, (value) => heard.push([event, value.code ?? value]));
        });
        dispatchEvent(new Event("eip6963:requestProvider"));
        // A question that is held by mistake shall fail the test and not stop it for ever.
        const late = () => new Promise((resolve) => setTimeout(resolve, 5000, { late: true }));
        const ask = (name, method, params) =>
          Promise.race([late(), (name ? wallets[name].provider : window.ethereum).request({ method, params }).then(
            (result) => ({ result }),
            (error) => ({ isError: error instanceof Error, code: error.code, message: error.message, data: error.data }))]);
        """,
    ),
}


class Server(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        kind, text = FILES.get(self.path, ("text/plain", ""))
        self.send_response(200 if text else 404)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Security-Policy", POLICY)
        self.end_headers()
        self.wfile.write(text.encode())

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture(scope="module")
def site() -> Iterator[str]:
    with ThreadingHTTPServer(("127.0.0.1", 0), Server) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


@pytest.fixture(scope="module")
def chain() -> Iterator[str]:
    with local_chain.running() as running:
        yield running.url


@pytest.fixture
def wallet(context: BrowserContext, chain: str) -> Wallet:
    return Wallet(ALICE, chain).install(context)


@pytest.fixture
def page(context: BrowserContext, wallet: Wallet, site: str) -> Page:
    return opened(context, site)


def opened(context: BrowserContext, site: str) -> Page:
    page = context.new_page()
    page.goto(site)
    return page


def ask(page: Page, method: str, *params: Any, name: str | None = "Test Wallet") -> Any:
    return page.evaluate("([name, method, params]) => ask(name, method, params)", [name, method, params])


def ask_later(page: Page, wallet: Wallet, method: str, *params: Any) -> None:
    """Ask and do not wait for the answer; it is ``answer`` in the page once it is there."""
    page.evaluate(
        "([method, params]) => { window.answer = null;"
        " setTimeout(() => ask('Test Wallet', method, params).then(answer => { window.answer = answer }), 30) }",
        [method, params],
    )
    wallet.wait_until_asked(method, page)


def answered(page: Page) -> Any:
    return page.wait_for_function("() => window.answer", timeout=5000).json_value()


def heard(page: Page) -> Any:
    return page.evaluate("heard")


def code(reply: Any) -> int:
    """Return an error's code: it must be an Error with a message, as pages expect."""
    assert reply["isError"]
    assert reply["message"]
    return int(reply["code"])


def connected(page: Page) -> Page:
    assert ask(page, "eth_requestAccounts") == {"result": [ALICE.address.lower()]}
    return page


def test_a_page_discovers_the_wallet(page: Page) -> None:
    info = page.evaluate("wallets['Test Wallet'].info")
    assert (info["name"], info["rdns"]) == ("Test Wallet", "org.example.test")
    assert info["icon"].startswith("data:image/")
    assert len(info["uuid"]) == 36
    assert page.evaluate("[wallets['Test Wallet'], wallets['Test Wallet'].info].every(Object.isFrozen)")
    assert page.evaluate("window.ethereum === undefined")


def test_the_page_itself_cannot_reach_the_chain(page: Page, chain: str) -> None:
    assert page.evaluate("url => fetch(url).then(() => 'reached', () => 'blocked')", chain) == "blocked"
    assert ask(page, "eth_blockNumber")["result"].startswith("0x")


def test_two_wallets_are_two(context: BrowserContext, wallet: Wallet, chain: str, site: str) -> None:
    other = Wallet(BOB, chain, "Other", "org.example.other").install(context)
    page = opened(context, site)
    assert page.evaluate("Object.keys(wallets).sort()") == ["Other", "Test Wallet"]
    assert ask(page, "eth_requestAccounts", name="Other")["result"] == [BOB.address.lower()]
    assert ask(page, "eth_accounts")["result"] == []
    assert (wallet.asked, other.asked) == (["eth_accounts"], ["eth_requestAccounts"])
    other.move_to(1)
    assert heard(page) == [["chainChanged", "0x1"]]
    assert ask(page, "eth_chainId")["result"] == HOME


def test_a_legacy_wallet_is_not_announced(context: BrowserContext, chain: str, site: str) -> None:
    Wallet(ALICE, chain, announce=False, legacy=True).install(context)
    page = opened(context, site)
    assert page.evaluate("Object.keys(wallets)") == []
    assert ask(page, "eth_requestAccounts", name=None)["result"] == [ALICE.address.lower()]


def test_accounts_are_shown_once_granted_and_to_that_origin_only(page: Page, context: BrowserContext) -> None:
    assert ask(page, "eth_accounts") == {"result": []}
    connected(page).reload()
    assert ask(page, "eth_accounts") == {"result": [ALICE.address.lower()]}
    elsewhere = opened(context, page.url.replace("127.0.0.1", "localhost"))
    assert ask(elsewhere, "eth_accounts") == {"result": []}
    ask(page, "wallet_revokePermissions", {"eth_accounts": {}})
    assert ask(page, "eth_accounts") == {"result": []}


def test_a_rejection_is_4001_and_holds_once(page: Page, wallet: Wallet) -> None:
    wallet.reject_next()
    assert code(ask(page, "eth_requestAccounts")) == 4001
    connected(page)
    wallet.reject_next()
    assert code(ask(page, "eth_sendTransaction", SENT)) == 4001
    assert "result" in ask(page, "eth_sendTransaction", SENT)
    assert len(wallet.sent) == 1


def test_a_busy_wallet_says_so_even_while_it_is_held(page: Page, wallet: Wallet) -> None:
    wallet.hold()
    ask_later(page, wallet, "eth_requestAccounts")
    wallet.busy_next()
    assert code(ask(page, "eth_requestAccounts")) == -32002
    wallet.release()
    assert answered(page)["result"]


def test_a_held_question_waits_for_the_user(page: Page, wallet: Wallet) -> None:
    wallet.hold()
    ask_later(page, wallet, "eth_requestAccounts")
    page.wait_for_timeout(100)
    assert page.evaluate("window.answer") is None
    assert ask(page, "eth_chainId") == {"result": HOME}
    wallet.release()
    assert answered(page) == {"result": [ALICE.address.lower()]}
    assert wallet.asked == ["eth_requestAccounts", "eth_chainId"]


def test_what_was_set_before_the_release_counts(page: Page, wallet: Wallet) -> None:
    wallet.hold()
    ask_later(page, wallet, "eth_requestAccounts")
    wallet.reject_next()
    wallet.release()
    assert code(answered(page)) == 4001


def test_a_release_decides_what_was_held_and_not_what_follows(page: Page, wallet: Wallet) -> None:
    # A slow page asks again only when the next hold is there.
    page.evaluate("""() => {
        const name = Object.keys(window).find((key) => /^wallet_[0-9a-f]+$/.test(key)), direct = window[name];
        window[name] = (question) => new Promise((done) => setTimeout(() => done(direct(question)), 50));
    }""")
    wallet.hold()
    ask_later(page, wallet, "eth_requestAccounts")
    wallet.release()
    wallet.hold()
    assert answered(page)["result"]
    ask_later(page, wallet, "eth_sendTransaction", SENT)
    page.wait_for_timeout(100)
    assert page.evaluate("window.answer") is None
    wallet.release()
    assert answered(page)["result"] == wallet.sent[0]


def test_a_wrong_network_can_be_left(page: Page, wallet: Wallet) -> None:
    wallet.chain_id = 1
    assert ask(page, "eth_chainId") == {"result": "0x1"}
    assert code(ask(page, "eth_blockNumber")) == 4901
    wallet.reject_next()
    assert code(ask(page, "wallet_switchEthereumChain", {"chainId": HOME})) == 4001
    assert ask(page, "wallet_switchEthereumChain", {"chainId": HOME}) == {"result": None}
    assert heard(page) == [["chainChanged", HOME]]
    assert wallet.chain_id == local_chain.CHAIN_ID


def test_an_unknown_network_is_4902_until_it_is_added(page: Page, wallet: Wallet, chain: str) -> None:
    wallet.chain_id, wallet.unknown_chains = 1, {local_chain.CHAIN_ID}
    added: dict[str, Any] = {"chainId": HOME, "chainName": "Home", "rpcUrls": [chain]}
    added |= {"nativeCurrency": {"name": "Ether", "symbol": "ETH", "decimals": 18}}
    assert code(ask(page, "wallet_switchEthereumChain", {"chainId": HOME})) == 4902
    assert code(ask(page, "wallet_addEthereumChain", added | {"rpcUrls": ["http://example.org"]})) == -32602
    assert code(ask(page, "wallet_addEthereumChain", {**added, "chainId": local_chain.CHAIN_ID})) == -32602
    assert ask(page, "wallet_addEthereumChain", added) == {"result": None}
    assert ask(page, "wallet_switchEthereumChain", {"chainId": HOME}) == {"result": None}
    assert ask(page, "eth_chainId") == {"result": HOME}


def test_every_page_hears_of_another_network(page: Page, wallet: Wallet, context: BrowserContext, site: str) -> None:
    second = opened(context, site)
    wallet.move_to(5)
    assert heard(page) == heard(second) == [["chainChanged", "0x5"]]
    wallet.disconnect()
    assert heard(page)[-1] == ["disconnect", 4900]


def test_connected_pages_hear_of_accounts(page: Page, wallet: Wallet, context: BrowserContext) -> None:
    stranger = opened(context, page.url.replace("127.0.0.1", "localhost"))
    connected(page)
    wallet.change_account(CAROL)
    wallet.lock()
    assert ask(page, "eth_accounts") == {"result": []}
    wallet.unlock()
    carol = CAROL.address.lower()
    assert heard(page) == [["accountsChanged", accounts] for accounts in ([carol], [], [carol])]
    assert heard(stranger) == []


def test_a_listener_can_be_removed_and_a_broken_one_is_reported(page: Page, wallet: Wallet) -> None:
    page.evaluate("""() => {
        const { provider } = wallets["Test Wallet"];
        const listener = () => heard.push("removed");
        provider.on("chainChanged", listener).removeListener("chainChanged", listener);
        provider.on("chainChanged", () => { throw new Error("broken listener") });
    }""")
    with page.expect_event("pageerror") as error:
        wallet.move_to(5)
    assert "broken listener" in str(error.value)
    assert heard(page) == [["chainChanged", "0x5"]]


def test_a_page_that_loads_itself_anew_is_waited_for(page: Page, wallet: Wallet) -> None:
    page.evaluate("wallets['Test Wallet'].provider.on('chainChanged', () => location.reload()); undefined")
    with page.expect_event("load"):
        wallet.move_to(5)
    assert ask(page, "eth_chainId") == {"result": "0x5"}


def test_a_transaction_is_signed_and_reaches_the_chain(page: Page, wallet: Wallet, chain: str) -> None:
    name = ask(connected(page), "eth_sendTransaction", SENT)["result"]
    assert wallet.sent == [name]
    # A wallet returns the hash once the node has the transaction; the block comes a moment later.
    assert until(lambda: ask(page, "eth_getTransactionReceipt", name)["result"])["status"] == "0x1"
    with Rpc(chain) as rpc:
        found = rpc.call("eth_getTransactionByHash", name)
    assert found["from"] == ALICE.address.lower()
    assert (found["to"], found["value"]) == (BOB.address.lower(), "0x7")


def test_a_swallowed_transaction_is_in_no_chain(page: Page, wallet: Wallet, chain: str) -> None:
    connected(page)
    wallet.swallow_next()
    lost = ask(page, "eth_sendTransaction", SENT)["result"]
    assert (wallet.swallowed, wallet.sent) == ([lost], [])
    with Rpc(chain) as rpc:
        assert rpc.call("eth_getTransactionByHash", lost) is None
    # It was a correct transaction: the same one, sent, has the same hash.
    assert ask(page, "eth_sendTransaction", SENT)["result"] == lost


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({"from": BOB.address}, 4100),
        ({"chainId": "0x1"}, -32602),
        ({"value": 7}, -32602),
        ({"to": "0x12", "gas": "0x5208"}, -32602),
        ({"value": hex(10**30)}, -32603),
        ({"to": None, "data": "0x60016000fd"}, 3),
    ],
)
def test_a_wrong_transaction_is_refused(page: Page, wallet: Wallet, change: dict[str, Any], expected: int) -> None:
    assert code(ask(connected(page), "eth_sendTransaction", {**SENT, **change})) == expected
    assert wallet.sent == []


def test_nothing_is_sent_for_a_page_that_is_not_connected_or_on_another_chain(page: Page, wallet: Wallet) -> None:
    assert code(ask(page, "eth_sendTransaction", SENT)) == 4100
    connected(page)
    wallet.move_to(1)
    assert code(ask(page, "eth_sendTransaction", SENT)) == 4901
    wallet.move_to(local_chain.CHAIN_ID)
    wallet.lock()
    assert code(ask(page, "eth_sendTransaction", SENT)) == 4100
    assert wallet.sent == []


def test_a_revert_brings_its_data(page: Page) -> None:
    # Writes one word to memory and reverts with it.
    reply = ask(page, "eth_call", {"data": "0x602a60005260206000fd"}, "latest")
    assert code(reply) == 3
    assert reply["data"] == "0x" + f"{0x2A:064x}"


@pytest.mark.parametrize("method", ["personal_sign", "eth_sign", "anvil_setBalance", "eth_sendRawTransaction", "x"])
def test_what_the_wallet_does_not_know_is_4200(method: str, page: Page, wallet: Wallet) -> None:
    assert code(ask(page, method, "0x")) == 4200
    assert wallet.asked == [method]


def test_axe_passes_a_clean_page(page: Page) -> None:
    assert violations(page, minimum="minor") == []


@pytest.mark.parametrize(
    ("path", "rule", "where"), [("flawed", "image-alt (critical)", "#flaw"), ("faint", "color-contrast (serious)", "p")]
)
def test_axe_finds_what_is_wrong(path: str, rule: str, where: str, context: BrowserContext, site: str) -> None:
    (found,) = violations(opened(context, f"{site}/{path}"))
    assert found.startswith(rule)
    assert found.endswith(f": {where}")


def test_axe_leaves_out_what_matters_less(context: BrowserContext, site: str) -> None:
    faint = opened(context, f"{site}/faint")
    assert violations(faint, minimum="critical") == []
