"""Signed requests of visitors: prepared for a wallet to sign, handed to the relay, and found on the chain.

Why the promise holds: nothing is signed or bought here. The contract accepts exactly what the wallet signed, and once; a
purchase is shown only when the chain has it, whatever the relay says.
"""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import TYPE_CHECKING

from noiseledger.chain.contract import PrivacyLedgerContract, checksummed
from noiseledger.chain.typed_data import AskData
from noiseledger.errors import InvalidInput, RelayFailed, RequestRefused, SignatureRefused
from noiseledger.ledger.bringing import ask_data, so_far, soon, until
from noiseledger.ledger.interface import Quote
from noiseledger.ledger.relay_client import RelayClient
from noiseledger.ledger.signed import check_place, check_signer, find_brought, find_signer

if TYPE_CHECKING:
    from noiseledger.chain.signed_ask import SignedAsk

#: How many requests are remembered, and how many may be on their way to the relay at once: it may be slow.
_REMEMBERED, _AT_ONCE = 10_000, 8
#: How often the relay is asked whether it has refused a request, and how long its first reply is waited for.
_ASK_RELAY_SECONDS = 3.0
#: A node may have the new nonce of an analyst a moment before the events.
_LAG_SECONDS = 5.0
_INSTEAD = "Try again later, or pay the fee yourself"


class HandedState(StrEnum):
    """What became of a request that was handed to the relay."""

    WAITING = "waiting"
    BROUGHT = "brought"
    #: Another request with the same nonce was brought instead.
    REPLACED = "replaced"
    #: Its deadline has passed.
    EXPIRED = "expired"


@dataclass(frozen=True)
class HandedRequest:
    """A request, and what became of it."""

    signed: SignedAsk
    #: The address of the relay, and the newest block, when it was handed over.
    relay: str
    first_block: int
    state: HandedState = HandedState.WAITING
    transaction: str | None = None
    #: Why the relay says that it will not bring it.
    refusal: str | None = None
    asked_relay_at: float = 0.0
    #: Since when the nonce is used, on this machine's clock.
    used_since: float | None = None

    @property
    def until(self) -> str:
        """The time after which it cannot be brought any more."""
        return until(self.signed)


class Handing:
    """Hands visitors' signed requests to the relay, and follows them."""

    def __init__(self, contract: PrivacyLedgerContract) -> None:
        """Start with no requests."""
        self._contract = contract
        self._requests: OrderedDict[str, HandedRequest] = OrderedDict()
        self._relays: dict[str, RelayClient] = {}
        self._free_places = threading.BoundedSemaphore(_AT_ONCE)
        self._lock = threading.Lock()

    def close(self) -> None:
        """Close the connections to relays."""
        for relay in self._relays.values():
            relay.close()

    def prepare(self, quote: Quote, analyst: str) -> AskData:
        """Return what a wallet signs to buy what was quoted, for at most the quoted price."""
        address = checksummed(analyst)
        signer = find_signer(self._contract, address)
        return ask_data(self._contract, [quote.request], quote.price.cost, signer.nonce, soon(signer.now))

    def hand_over(self, signed: SignedAsk, relay: str) -> HandedRequest:
        """Give a signed request to the relay; raise an error with one sentence if it cannot be brought."""
        check_place(self._contract, signed)
        signer = find_signer(self._contract, signed.analyst)
        if not signed.is_signed_by_key and not signer.is_contract:
            raise SignatureRefused(
                f"The wallet did not sign this request with the account {signed.analyst}: choose that account in "
                "the wallet, and ask again. Nothing was charged."
            )
        check_signer(signed, signer)
        if not self._free_places.acquire(blocking=False):
            raise RequestRefused("Too many requests are on their way to the relay: try again in a moment.", 503)
        try:
            self._relay(relay).hand_over(signed)
        except RelayFailed as error:
            raise RelayFailed(f"{error}. {so_far(signed)} {_INSTEAD}.") from None
        finally:
            self._free_places.release()
        with self._lock:
            found = self._requests.setdefault(signed.identifier, HandedRequest(signed, relay, signer.block))
            while len(self._requests) > _REMEMBERED:
                self._requests.popitem(last=False)
        return found

    def follow(self, identifier: str) -> HandedRequest:
        """Return what became of a request; read the chain for it unless its fate is known."""
        with self._lock:
            found = self._requests.get(identifier)
        if found is None:
            raise RequestRefused(
                "This site does not remember that request. If it was brought to the chain, it is among the requests of your "
                "account.",
                404,
            )
        if found.state in (HandedState.BROUGHT, HandedState.REPLACED):
            return found
        now = self._look(found)
        with self._lock:
            self._requests[identifier] = now
        return now

    def _look(self, handed: HandedRequest) -> HandedRequest:
        signed = handed.signed
        signer = find_signer(self._contract, signed.analyst)
        if signer.nonce > signed.data.nonce:
            brought = find_brought(self._contract, signed, handed.first_block)
            if brought is not None:
                return replace(handed, state=HandedState.BROUGHT, transaction=brought.transaction)
            since = handed.used_since or time.monotonic()
            is_replaced = time.monotonic() - since > _LAG_SECONDS
            return replace(handed, used_since=since, state=HandedState.REPLACED if is_replaced else handed.state)
        if signer.now > signed.data.deadline:
            return replace(handed, state=HandedState.EXPIRED, used_since=None)
        if time.monotonic() - handed.asked_relay_at < _ASK_RELAY_SECONDS or not self._free_places.acquire(
            blocking=False
        ):
            return replace(handed, used_since=None)
        try:
            refusal = self._relay(handed.relay).refusal(signed)
        finally:
            self._free_places.release()
        return replace(handed, used_since=None, refusal=refusal, asked_relay_at=time.monotonic())

    def _relay(self, address: str) -> RelayClient:
        if not address:
            raise InvalidInput("The ledger file of this site names no relay: send a transaction instead.")
        with self._lock:
            return self._relays.setdefault(address, RelayClient(address))
