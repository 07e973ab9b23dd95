"""Buy with signed requests: a relay brings them to the chain, or the analyst does and pays the fee.

Why nothing is bought twice: both ways use the analyst's next nonce, of which the contract accepts one signature. If a request
was handed over and the analyst then pays the fee for another one, whichever comes first counts and the other is refused.
Why no relay is believed: a purchase counts when the chain shows a transaction with exactly what was signed.
"""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Sequence
from contextlib import suppress
from datetime import UTC, datetime
from fractions import Fraction
from typing import TYPE_CHECKING

from noiseledger.chain.contract import PrivacyLedgerContract
from noiseledger.chain.sender import RECEIPT_SECONDS, Receipt
from noiseledger.chain.typed_data import AskData
from noiseledger.chain.values import encode_request, to_units
from noiseledger.core.request import Request
from noiseledger.errors import ChainError, RelayFailed, RpcFailed, SignatureRefused
from noiseledger.ledger.relay_client import RelayClient
from noiseledger.ledger.signed import find_brought, find_signer, simulate
from noiseledger.progress import HandedOver, Listener

if TYPE_CHECKING:
    from noiseledger.chain.signed_ask import SignedAsk

#: What is handed to a relay counts until the next full ten minutes that are at least so far away. So the same request that is
#: sent again, after an interruption, is signed with the same deadline, and is the same request to the relay.
_VALID_SECONDS = 600
#: How long to look for a transaction after the nonce was used: a node may have the new state a moment before the events.
_LAG_SECONDS = 3.0
_FIRST_POLL_SECONDS, _LAST_POLL_SECONDS = 0.05, 1.0
#: How often a relay is asked whether it has refused a request.
_ASK_RELAY_SECONDS = 3.0

_ANOTHER = (
    "Another request that was signed with this key was brought to the chain in place of this one, or this one was "
    "brought in a way that is not recognised: ask again. Whatever was bought is free for you then; nothing is charged twice."
)
_OTHERWISE = "Try again later, or pay the chain's fee yourself (--pay-fee; in Python, pay_fee=True)"


def ask_data(
    contract: PrivacyLedgerContract, requests: Sequence[Request], limit: Fraction, nonce: int, deadline: int
) -> AskData:
    """Return what an analyst signs to buy some requests for at most ``limit``."""
    structs = [encode_request(one.query.identifier, one.precision, one.epsilon, one.delta) for one in requests]
    return AskData(contract.rpc.chain_id, contract.address, tuple(structs), to_units(limit), nonce, deadline)


def soon(now: float) -> int:
    """Return the deadline of a request that is handed to a relay now, in seconds since 1970."""
    return math.ceil((now + _VALID_SECONDS) / _VALID_SECONDS) * _VALID_SECONDS


class Bringer:
    """Buys on one ledger with signed requests, one after the other."""

    def __init__(self, relay: RelayClient | None) -> None:
        """Hand requests to a relay or, without one, send them with the analyst's own coins."""
        self.relay = relay
        # Signatures count in order: the next one is made when the one before is in a block.
        self._lock = threading.Lock()

    def close(self) -> None:
        """Close the connection to the relay."""
        if self.relay is not None:
            self.relay.close()

    def buy(
        self,
        contract: PrivacyLedgerContract,
        batches: Sequence[tuple[Sequence[Request], Fraction]],
        listener: Listener,
        contact: str = "",
    ) -> list[Receipt | None]:
        """Buy in several transactions, each all or nothing, and each for at most the price beside it.

        None stands for one that the relay did not take, because by then somebody had bought all of it.
        """
        with self._lock:
            return [self._buy_one(contract, requests, limit, listener, contact) for requests, limit in batches]

    def _buy_one(
        self,
        contract: PrivacyLedgerContract,
        requests: Sequence[Request],
        limit: Fraction,
        listener: Listener,
        contact: str,
    ) -> Receipt | None:
        from noiseledger.chain.signed_ask import SignedAsk  # noqa: PLC0415 - free answers need no signature

        sender = contract.sender
        signer = find_signer(contract, sender.address)
        deadline = soon(signer.now)
        data = ask_data(contract, requests, limit, signer.nonce, deadline)
        signed = SignedAsk(data, sender.address, sender.sign_digest(data.digest))
        if self.relay is None:
            return _send(contract, signed)
        simulate(contract, signed, sender.address, contact)  # the contract's own refusal, whatever the relay would say
        try:
            self.relay.hand_over(signed)
        except RelayFailed as error:
            if _somebody_was_faster(contract, requests, signed):
                return None
            raise RelayFailed(f"{error}. {so_far(signed)} {_OTHERWISE}.") from None
        listener(HandedOver(self.relay.address, deadline))
        return contract.sender.wait(_RelayWait(contract, self.relay, signed, signer.block).wait())


def _somebody_was_faster(contract: PrivacyLedgerContract, requests: Sequence[Request], signed: SignedAsk) -> bool:
    """Return whether all of it is free by now, although this request was not brought; False if the chain does not say.

    The nonce is read last: a request that makes itself free by being brought has used it by then.
    """
    with suppress(ChainError):
        is_free = not any(contract.price(item.query.identifier, item.precision)[1] for item in requests)
        return is_free and contract.nonce(signed.analyst) == signed.data.nonce
    return False


def _send(contract: PrivacyLedgerContract, signed: SignedAsk) -> Receipt:
    try:
        return contract.ask_signed(signed)
    except SignatureRefused:
        raise SignatureRefused(_ANOTHER) from None


class _RelayWait:
    """Waits until a request that was handed over is on the chain."""

    def __init__(self, contract: PrivacyLedgerContract, relay: RelayClient, signed: SignedAsk, first: int) -> None:
        self._contract, self._relay, self._signed, self._first = contract, relay, signed, first
        self._used_since: float | None = None

    def wait(self) -> str:
        """Return the hash of the transaction that contains the request; raise an error if none does for too long."""
        give_up, pause = time.monotonic() + RECEIPT_SECONDS, _FIRST_POLL_SECONDS
        ask_relay = time.monotonic() + _ASK_RELAY_SECONDS
        while True:
            # A node that refuses to say now is asked again.
            with suppress(RpcFailed):
                if (found := self._look()) is not None:
                    return found
            if time.monotonic() > give_up:
                raise RelayFailed(
                    f"The relay at {self._relay.address} took the signed request, but has not brought it to the chain within "
                    f"{RECEIPT_SECONDS:g} seconds. {so_far(self._signed)} {_OTHERWISE}."
                )
            if time.monotonic() > ask_relay:
                self._check_refusal()
                ask_relay = time.monotonic() + _ASK_RELAY_SECONDS
            time.sleep(pause)
            pause = min(pause * 1.5, _LAST_POLL_SECONDS)

    def _look(self) -> str | None:
        signed = self._signed
        if self._contract.nonce(signed.analyst) <= signed.data.nonce:
            self._used_since = None  # perhaps again, after a reorganisation
            return None
        found = find_brought(self._contract, signed, self._first)
        if found is not None:
            return found.transaction
        self._used_since = self._used_since or time.monotonic()
        if time.monotonic() - self._used_since > _LAG_SECONDS:
            raise SignatureRefused(_ANOTHER)
        return None

    def _check_refusal(self) -> None:
        reason = self._relay.refusal(self._signed)
        if reason is not None:
            raise RelayFailed(
                f"The relay at {self._relay.address} will not bring the signed request to the chain ({reason}). "
                f"{so_far(self._signed)} {_OTHERWISE}."
            )


def until(signed: SignedAsk) -> str:
    """Return the time after which a request that was handed to a relay cannot be brought any more, for people."""
    return datetime.fromtimestamp(signed.data.deadline, UTC).strftime("%H:%M UTC")


def so_far(signed: SignedAsk) -> str:
    """Say what became of a request, and why neither a later nor another attempt buys anything twice."""
    return (
        f"Nothing was charged so far. If it is brought after all, which is possible until {until(signed)}, it counts once, and "
        "what it buys is free for you afterwards."
    )
