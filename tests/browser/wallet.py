"""A browser wallet for tests: a real key, real signatures, and a user who does what the test says.

The page sees an EIP-1193 provider (wallet.js). Its requests travel over a binding into this process, since a page's
content security policy lets it talk to nobody else.
"""

from __future__ import annotations

import json
import re
import time
import uuid
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self
from urllib.parse import urlsplit

from eth_account import Account
from eth_account.messages import encode_typed_data
from playwright.sync_api import BrowserContext, Page
from playwright.sync_api import Error as PageGone

from noiseledger.chain import Key, Rpc, local_chain
from noiseledger.chain.fees import GWEI, Market
from noiseledger.errors import ChainUnreachable, RpcFailed

SCRIPT = Path(__file__).with_name("wallet.js").read_text(encoding="utf-8")
ICON = "data:image/svg+xml,%3Csvg xmlns='http://www.w3.org/2000/svg'%3E%3Crect width='9' height='9'/%3E%3C/svg%3E"

REJECTED, UNAUTHORIZED, UNSUPPORTED, DISCONNECTED, NO_NODE, UNKNOWN_CHAIN = 4001, 4100, 4200, 4900, 4901, 4902
REVERTED, PENDING, INVALID, INTERNAL = 3, -32002, -32602, -32603

#: What is passed on to the node: what reads, and nothing that a real wallet would not pass on.
READS = re.compile(
    "eth_(call|estimateGas|blockNumber|gasPrice|maxPriorityFeePerGas|feeHistory|get[A-Z][A-Za-z]+)|web3_clientVersion"
)
BOUND_GWEI = 200
ASKED_SECONDS, POLL_MILLISECONDS = 10, 10


class Refusal(Exception):
    """An error as EIP-1193 and EIP-1474 define it; the page gets it as an Error with a code."""

    def __init__(self, code: int, message: str, data: str | None = None) -> None:
        super().__init__(message)
        self.body = {"code": code, "message": message, "data": data}


class Held(Exception):
    """The user has not decided yet."""


@dataclass(frozen=True)
class Question:
    """What a page asks."""

    origin: str
    method: str
    params: Any
    #: Held before and released since: the user decides now.
    is_released: bool

    @property
    def only_param(self) -> dict[str, Any]:
        """The one object that most methods take."""
        if not isinstance(self.params, list) or len(self.params) != 1 or not isinstance(self.params[0], dict):
            raise Refusal(INVALID, f"Expected one object as the parameter of {self.method}.")
        found: dict[str, Any] = self.params[0]
        return found


class Wallet:
    """A wallet in a browser context; whatever the test sets holds for the next question to the user.

    A page that is connected, or on the right network, is not asked again: only a question that a real wallet would show in
    a window can be held, rejected or called pending.
    """

    def __init__(
        self,
        key: Key,
        url: str,
        name: str = "Test Wallet",
        rdns: str = "org.example.test",
        *,
        chain_id: int = local_chain.CHAIN_ID,
        announce: bool = True,
        legacy: bool = False,
    ) -> None:
        """Sign with ``key`` for the chain at ``url``; tell pages by EIP-6963, or as ``window.ethereum``, or both."""
        self.key = key
        #: The network that the user has chosen. Setting it tells no page; ``move_to`` does.
        self.chain_id = chain_id
        #: What a switch is refused for with 4902, until it is added.
        self.unknown_chains: set[int] = set()
        #: Hashes of what was sent, and of what was signed only.
        self.sent: list[str] = []
        self.swallowed: list[str] = []
        #: The typed data that was signed; whether the wallet can do that; and another account's key, if it uses that one.
        self.signed: list[dict[str, Any]] = []
        self.signs_data = True
        self.signing_key: Key | None = None
        #: The methods that pages have called, in order.
        self.asked: list[str] = []
        self._url, self._node_chain = url, chain_id
        identity = uuid.uuid4()
        self._channel = f"wallet_{identity.hex}"
        self._about = {
            "channel": self._channel,
            "info": {"uuid": str(identity), "name": name, "icon": ICON, "rdns": rdns},
            "announce": announce,
            "legacy": legacy,
        }
        self._context: BrowserContext | None = None
        self._connected: set[str] = set()
        self._is_locked = self._is_held = False
        self._rejections = self._busy = self._swallows = 0

    @property
    def accounts(self) -> list[str]:
        """What a connected page sees: in small letters, as most wallets show it to pages."""
        return [] if self._is_locked else [self.key.address.lower()]

    def install(self, context: BrowserContext) -> Self:
        """Be in every page that the context opens from now on."""
        self._rpc = Rpc(self._url, self._node_chain, attempts=1)
        self._context = context
        context.on("close", lambda _: self._rpc.close())
        context.expose_binding(self._channel, self._answer)
        context.add_init_script(f"({SCRIPT.strip().removesuffix(';')})({json.dumps(self._about)})")
        return self

    # What the user does.

    def reject_next(self) -> None:
        """Say no to the next question."""
        self._rejections += 1

    def busy_next(self) -> None:
        """Answer the next question at once, held or not: another one is still open in the wallet's window."""
        self._busy += 1

    def swallow_next(self) -> None:
        """Sign the next transaction and return its hash, but send it to nobody."""
        self._swallows += 1

    def hold(self) -> None:
        """Leave questions open until ``release``; what was set by then counts."""
        self._is_held = True

    def release(self) -> None:
        """Decide what was held, even if the next ``hold`` follows at once."""
        self._is_held = False
        self._emit("released by the test")

    def move_to(self, chain_id: int) -> None:
        """Choose another network, and tell every page."""
        self.chain_id = chain_id
        self._emit("chainChanged", hex(chain_id))

    def change_account(self, key: Key) -> None:
        """Choose another account, and tell every page that is connected."""
        self.key = key
        self._emit_accounts()

    def lock(self) -> None:
        """Show no account any more, until the user is asked for one or unlocks."""
        self._is_locked = True
        self._emit_accounts()

    def unlock(self) -> None:
        """Show the account again."""
        self._is_locked = False
        self._emit_accounts()

    def disconnect(self) -> None:
        """Tell every page that the wallet has lost its node."""
        self._emit("disconnect", {"code": DISCONNECTED, "message": "The wallet has lost its node."})

    def wait_until_asked(self, method: str, page: Page, times: int = 1) -> None:
        """Wait until pages have called a method so often: what they do after a click takes its time."""
        give_up = time.monotonic() + ASKED_SECONDS
        while self.asked.count(method) < times:
            assert time.monotonic() < give_up, f"No page calls {method}; they called {self.asked}."
            page.wait_for_timeout(POLL_MILLISECONDS)

    def _emit_accounts(self) -> None:
        self._emit("accountsChanged", self.accounts, only=self._connected)

    def _emit(self, event: str, *values: Any, only: set[str] | None = None) -> None:
        for page in self._context.pages if self._context else ():
            if only is None or _origin(page) in only:
                _notify(page, f"{self._channel}_emit", [event, *values])

    # What a page asks.

    def _answer(self, source: dict[str, Any], asked: dict[str, Any]) -> dict[str, Any]:
        question = Question(_origin(source["frame"]), str(asked["method"]), asked["params"], asked["again"])
        if not question.is_released:
            self.asked.append(question.method)
        try:
            return {"result": self._result(question)}
        except Held:
            return {"wait": True}
        except Refusal as refusal:
            return {"error": refusal.body}
        except RpcFailed as failed:
            # A revert has its own code at geth's and anvil's endpoints, which wallets pass on.
            return {"error": Refusal(REVERTED if failed.data else INTERNAL, failed.reason, failed.data).body}
        except ChainUnreachable as unreachable:
            return {"error": Refusal(INTERNAL, str(unreachable)).body}

    def _result(self, question: Question) -> Any:
        match question.method:
            case "eth_chainId":
                return hex(self.chain_id)
            case "net_version":
                return str(self.chain_id)
            case "eth_accounts":
                return self.accounts if question.origin in self._connected else []
            case "eth_requestAccounts":
                return self._connect(question)
            case "wallet_revokePermissions":
                return self._connected.discard(question.origin)
            case "wallet_switchEthereumChain":
                return self._switch(question)
            case "wallet_addEthereumChain":
                return self._add(question)
            case "eth_sendTransaction":
                return self._send(question)
            case "eth_signTypedData_v4":
                return self._sign_data(question)
        if not READS.fullmatch(question.method):
            raise Refusal(UNSUPPORTED, f"The wallet does not support {question.method}.")
        self._check_node()
        return self._rpc.call(question.method, *question.params)

    def _ask_user(self, question: Question) -> None:
        if self._busy:
            self._busy -= 1
            raise Refusal(PENDING, "A request is already pending. Please wait.")
        if self._is_held and not question.is_released:
            raise Held
        if self._rejections:
            self._rejections -= 1
            raise Refusal(REJECTED, "User rejected the request.")

    def _connect(self, question: Question) -> list[str]:
        if self._is_locked or question.origin not in self._connected:
            self._ask_user(question)
            self._is_locked = False
            self._connected.add(question.origin)
        return self.accounts

    def _switch(self, question: Question) -> None:
        chain_id = _quantity(question.only_param, "chainId")
        if chain_id in self.unknown_chains:
            raise Refusal(UNKNOWN_CHAIN, f"Unrecognized chain ID {hex(chain_id)}. Try adding the chain first.")
        if chain_id != self.chain_id:
            self._ask_user(question)
            self.move_to(chain_id)

    def _add(self, question: Question) -> None:
        """Add a chain and do not go there: EIP-3085 leaves that to the wallet, so a page must not rely on it."""
        chain = question.only_param
        chain_id, currency = _quantity(chain, "chainId"), chain.get("nativeCurrency") or {}
        if not chain.get("chainName") or not currency.get("symbol") or currency.get("decimals") != 18:
            raise Refusal(INVALID, "Expected chainName, and a nativeCurrency with a symbol and 18 decimals.")
        if not any(map(_is_safe, chain.get("rpcUrls") or [])):
            raise Refusal(INVALID, "Expected rpcUrls with an address by https, or on this machine.")
        self._ask_user(question)
        self.unknown_chains.discard(chain_id)

    def _send(self, question: Question) -> str:
        wanted = question.only_param
        account = str(wanted.get("from", "")).lower()
        if question.origin not in self._connected or account not in self.accounts:
            raise Refusal(UNAUTHORIZED, "The requested account has not been authorized by the user.")
        if "chainId" in wanted and _quantity(wanted, "chainId") != self.chain_id:
            raise Refusal(INVALID, f"The wallet is on chain {self.chain_id}, and not on that of the transaction.")
        self._check_node()
        transaction = self._completed(wanted)
        self._ask_user(question)
        raw, name = self._sign(transaction)
        if self._swallows:
            self._swallows -= 1
            self.swallowed.append(name)
            return name
        self._rpc.call("eth_sendRawTransaction", raw)
        self.sent.append(name)
        return name

    def _sign_data(self, question: Question) -> str:
        """Sign typed data, hashed by another program than ours; wallets refuse data for another chain than their own."""
        if not self.signs_data:
            raise Refusal(UNSUPPORTED, "The wallet does not support eth_signTypedData_v4.")
        account, text = question.params
        if question.origin not in self._connected or str(account).lower() not in self.accounts:
            raise Refusal(UNAUTHORIZED, "The requested account has not been authorized by the user.")
        data = json.loads(text)
        if data["domain"]["chainId"] != self.chain_id:
            raise Refusal(INVALID, f"Provided chainId must match the active chainId {self.chain_id}.")
        self._ask_user(question)
        self.signed.append(data)
        key = Account.from_key((self.signing_key or self.key)._private.secret)
        signature: bytes = key.sign_message(encode_typed_data(full_message=data)).signature
        return f"0x{bytes(signature).hex()}"

    def _completed(self, wanted: dict[str, Any]) -> dict[str, Any]:
        """Fill in what a page leaves to the wallet: nonce, gas and fees."""
        transaction: dict[str, Any] = {"type": 2, "chainId": self.chain_id, "value": 0}
        transaction |= Market(self._rpc, BOUND_GWEI * GWEI).offer().fields()
        for name in ("value", "gas", "maxFeePerGas", "maxPriorityFeePerGas"):
            transaction |= {name: _quantity(wanted, name)} if name in wanted else {}
        transaction |= {"to": wanted["to"]} if wanted.get("to") else {}
        transaction["data"] = wanted.get("data") or wanted.get("input") or "0x"
        call = {name: wanted[name] for name in ("from", "to", "value") if wanted.get(name)}
        if "gas" not in transaction:
            transaction["gas"] = int(self._rpc.call("eth_estimateGas", call | {"data": transaction["data"]}), 16)
        transaction["nonce"] = int(self._rpc.call("eth_getTransactionCount", self.key.address, "pending"), 16)
        return transaction

    def _sign(self, transaction: dict[str, Any]) -> tuple[str, str]:
        try:
            return self.key.sign(transaction)
        except (TypeError, ValueError) as error:
            raise Refusal(INVALID, f"This is no transaction: {error}") from None

    def _check_node(self) -> None:
        if self.chain_id != self._node_chain:
            raise Refusal(NO_NODE, f"The wallet is on chain {self.chain_id}, where the test has no node.")


def _notify(page: Page, emit: str, event: list[Any]) -> None:
    try:
        page.evaluate("([emit, event]) => window[emit]?.(...event)", [emit, event])
    except PageGone:
        # Some pages load themselves anew at once, and then ask how things are.
        if not page.is_closed():
            page.wait_for_load_state()


def _origin(place: Any) -> str:
    """Return who asks, as wallets tell pages apart: a reload is the same, another server is not."""
    parts = urlsplit(place.url)
    return f"{parts.scheme}://{parts.netloc}"


def _quantity(values: dict[str, Any], name: str) -> int:
    text = values.get(name)
    if not isinstance(text, str) or not re.fullmatch("0x(0|[1-9a-fA-F][0-9a-fA-F]*)", text):
        raise Refusal(INVALID, f"Expected {name} as a hexadecimal number without leading zeros.")
    return int(text, 16)


def _is_safe(address: Any) -> bool:
    parts = urlsplit(str(address))
    return parts.scheme == "https" or (parts.scheme == "http" and parts.hostname in ("127.0.0.1", "localhost", "::1"))
