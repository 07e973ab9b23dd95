"""Throw-away accounts for a local development chain, with coins without value and without keys.

Why no key is involved: the account is a random address that nobody can sign for; the development node is told to impersonate
it. On a ledger by invitation the node also impersonates the custodian, to give such an account a small part of the budget:
anyone who can reach a development node could do the same.
"""

from __future__ import annotations

import secrets
from typing import Annotated
from urllib.parse import urlsplit

from fastapi import APIRouter
from pydantic import BaseModel, ConfigDict, Field

from noiseledger.chain import abi
from noiseledger.chain.contract import PrivacyLedgerContract, checksummed
from noiseledger.chain.endpoint import addresses
from noiseledger.chain.refusals import typed
from noiseledger.chain.rpc import Rpc
from noiseledger.chain.values import to_units
from noiseledger.core.privacy import whole_units
from noiseledger.errors import InvalidInput, NotAllowed, RpcFailed

_MONEY = 10**18
_MOST_ACCOUNTS = 10_000
#: On a ledger by invitation, each account may buy one part in this many of the budget.
_SHARE = 20
_LOOPBACK = ("127.0.0.1", "localhost", "::1")


class Play:
    """Creates accounts on a development node, and sends their requests to one ledger."""

    def __init__(self, rpc: Rpc, ledger: str) -> None:
        """Refuse every chain but a development node on this machine."""
        is_here = all(urlsplit(url).hostname in _LOOPBACK for url in addresses(rpc.url))
        if not is_here or not str(rpc.call("web3_clientVersion")).startswith("anvil/"):
            raise InvalidInput("Play accounts are for a local development chain only (noiseledger chain, an anvil).")
        self._rpc = rpc
        self._ledger = ledger
        self._selector = abi.encode_call("ask", [], 0)[:10]
        self._accounts: set[str] = set()

    def account(self) -> str:
        """Create an account with coins without value, and return its address."""
        if len(self._accounts) >= _MOST_ACCOUNTS:
            raise NotAllowed("There are too many play accounts: restart the web server.")
        address = checksummed("0x" + secrets.token_hex(20))
        self._rpc.call("anvil_setBalance", address, hex(_MONEY))
        self._rpc.call("anvil_impersonateAccount", address)
        self._accounts.add(address)
        self._invite(address)
        return address

    def _invite(self, address: str) -> None:
        """Give an account its allowance, in the custodian's name."""
        contract = PrivacyLedgerContract(self._rpc, self._ledger)
        terms = contract.terms()
        if not terms.requires_allowance:
            return
        custodian = contract.custodian()
        self._rpc.call("anvil_impersonateAccount", custodian)
        data = abi.encode_call("allow", address, to_units(whole_units(terms.budget / _SHARE)))
        self._rpc.call("eth_sendTransaction", {"from": custodian, "to": self._ledger, "data": data})

    def send(self, sender: str, data: str) -> str:
        """Send a request from such an account to this ledger's function ``ask``, and no other; return the hash."""
        if sender not in self._accounts:
            raise NotAllowed("This is not a play account of this site: connect again.")
        if not data.startswith(self._selector):
            raise NotAllowed("A play account may only ask.")
        try:
            return str(self._rpc.call("eth_sendTransaction", {"from": sender, "to": self._ledger, "data": data}))
        except RpcFailed as error:
            raise typed(error) from None


class Transaction(BaseModel):
    """A transaction that a page asks a wallet to send."""

    model_config = ConfigDict(extra="forbid")

    sender: Annotated[str, Field(alias="from", max_length=42)]
    data: Annotated[str, Field(pattern=r"^0x[0-9a-fA-F]*$", max_length=10_000)]


def router(play: Play) -> APIRouter:
    """Return the endpoints of the page's play wallet."""
    routes = APIRouter(prefix="/play", include_in_schema=False)

    @routes.post("/account")
    def account() -> dict[str, str]:
        return {"address": play.account()}

    @routes.post("/send")
    def send(transaction: Transaction) -> dict[str, str]:
        return {"transaction": play.send(transaction.sender, transaction.data)}

    return routes
