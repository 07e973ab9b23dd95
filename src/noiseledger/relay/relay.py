"""Accept signed requests, and bring each to the chain once, those of one analyst in order.

Why nothing is charged by mistake: the contract accepts a signature once, as it was signed, and decides everything itself. The
checks here protect the relay's coins: a request is simulated before it is stored, and again before it is sent; gas is bounded
per request and per day.
Why nothing is lost or sent twice: ``store.py`` has each step before it is made, and the outcome is read from the chain.
"""

from __future__ import annotations

import threading
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime

from noiseledger.chain.contract import PrivacyLedgerContract, checksummed, encode_signed
from noiseledger.chain.heads import find_heads
from noiseledger.chain.node_errors import concerns_the_call, lacks_funds
from noiseledger.chain.signed_ask import SignedAsk
from noiseledger.chain.values import from_units
from noiseledger.errors import (
    AllowanceExceeded,
    ChainError,
    InvalidInput,
    NoFunds,
    NoiseledgerError,
    NotAllowed,
    RequestRefused,
    RpcFailed,
    SignatureRefused,
    TransactionDisplaced,
    TransactionPending,
)
from noiseledger.ledger.signed import SignerState, check_place, check_signer, find_brought, find_signer, simulate
from noiseledger.relay.store import OPEN, RelayedRequest, RelayStore, State
from noiseledger.web.guard import Allowance

#: A request must still count for so long when it arrives, or it would be too late when it is in a block.
_SPARE_SECONDS = 30.0
#: How long one step waits for blocks.
_WAIT_SECONDS = 5.0
#: The sender gives a transaction a fifth more gas than was estimated.
_MARGIN = 1.2
#: How often a request is sent: a second time if the state changed between simulation and block.
_ATTEMPTS = 2
_HOUR = 3600.0


@dataclass(frozen=True)
class Limits:
    """What protects the relay's coins and disk."""

    gas_per_request: int = 5_000_000
    gas_per_day: int = 50_000_000
    #: Requests of one analyst that are not in a block yet, and new ones in an hour.
    pending: int = 10
    per_hour: float = 60.0
    #: Requests of all analysts that are not in a block yet.
    all_pending: int = 1000


class Relay:
    """Brings the signed requests of one ledger to the chain, with a key that pays the fees."""

    def __init__(
        self,
        contract: PrivacyLedgerContract,
        store: RelayStore,
        limits: Limits,
        *,
        head: str = "finalized",
        contact: str = "",
    ) -> None:
        """Use a contract with a sender of its own; refuse a key that has a role in the ledger."""
        self.contract = contract
        self.store = store
        self.limits = limits
        #: Why nothing is sent, if something keeps the relay from it.
        self.waits: str | None = None
        self._sender = contract.sender
        self._head = head
        self._contact = contact
        self._rates = Allowance(limits.per_hour / _HOUR, burst=limits.per_hour)
        self._accepting = threading.Lock()
        self._names: dict[int, str] = {}
        if self.address in map(checksummed, (contract.custodian(), contract.worker())):
            raise NotAllowed(
                f"The key of {self.address} has a role in this ledger: a relay needs a key of its own, which only pays fees."
            )

    @property
    def address(self) -> str:
        """The address that pays."""
        return self._sender.address

    def accept(self, signed: SignedAsk) -> RelayedRequest:
        """Check a request and store it; return it as it is if it was accepted before.

        Raises the reason if it is refused: then nothing was stored, nothing will be sent, and nobody is charged.
        """
        with self._accepting:
            known = self.store.find(signed.identifier)
            if known is not None and known.state is not State.REFUSED:
                return known
            self._check(signed)
            self._check_rates(signed.analyst)
            self.store.add(signed, self.contract.newest().number)
            return self._entry(signed.identifier)

    def find(self, identifier: str) -> RelayedRequest | None:
        """Return a request by its name; None if it was never accepted."""
        return self.store.find(identifier)

    def _entry(self, identifier: str) -> RelayedRequest:
        found = self.store.find(identifier)
        assert found is not None  # noqa: S101 - it was just stored, and nothing is ever removed
        return found

    def _check(self, signed: SignedAsk) -> None:
        check_place(self.contract, signed)
        waiting = self.store.of(signed.analyst)  # before the chain is read: what is in a block by then is not counted
        signer = find_signer(self.contract, signed.analyst)
        before = sum(entry.nonce >= signer.nonce for entry in waiting)
        check_signer(signed, signer, before=before, seconds=_SPARE_SECONDS)
        prices = [("price", (one.query, one.edition, one.precision), "latest") for one in signed.requests]
        cost = sum(reply[1] for reply in self.contract.read_many(prices) if reply)
        if not cost:
            raise InvalidInput("The answer is free, so there is nothing to bring to the chain: ask for it.")
        # The simulation says that and more, but only of a request whose turn it is.
        allowance = self.contract.allowance(signed.analyst)
        if self.contract.first_terms.requires_allowance and not allowance:
            who = signed.analyst, checksummed(self.contract.custodian()), self._contact
            raise AllowanceExceeded(from_units(cost), allowance, *who)
        if not before:
            self._gas(signed)
        elif not signed.is_signed_by_key:
            raise SignatureRefused(
                "A contract wallet's requests are accepted one at a time, because only the chain can check its signature: wait "
                "until the one before is in a block. Nothing was charged."
            )

    def _gas(self, signed: SignedAsk) -> int:
        """Return the gas that a purchase may use; raise the reason if the contract, or a limit, refuses it."""
        try:
            gas = simulate(self.contract, signed, self.address, self._contact)
        except RpcFailed as error:
            if not concerns_the_call(error):
                raise
            raise SignatureRefused("The chain refuses this request. Nothing was charged.") from None
        if gas * _MARGIN > self.limits.gas_per_request:
            raise InvalidInput(
                f"The request needs about {gas:,} units of gas, more than this relay pays for: split it. Nothing was charged."
            )
        return gas

    def _check_rates(self, analyst: str) -> None:
        if len(self.store.entries(State.QUEUED, State.SENT)) >= self.limits.all_pending or not self._gas_left(0):
            raise RequestRefused("The relay has more to do than it may pay for now: try again later.", 503)
        if len(self.store.of(analyst)) >= self.limits.pending:
            raise RequestRefused("Too many of your requests wait for a block: wait for these first.", 429)
        if not self._rates.take(analyst, 1):
            raise RequestRefused("Too many requests in one hour: wait, then try again.", 429)

    def _gas_left(self, gas: int) -> bool:
        used = self.store.gas_on(_today())
        return used < self.limits.gas_per_day and used + gas <= self.limits.gas_per_day

    def step(self) -> bool:
        """Look after everything that was sent, and send what is next; return whether something is still to be done.

        An error of the chain leaves all as it is: the next step goes on.
        """
        self.waits = None
        self._look()
        trouble = self._send_next()
        self._tend()
        self._look()
        if trouble is not None:
            raise trouble
        return bool(self.store.entries(*OPEN))

    def _look(self) -> None:
        """Read from the chain what became of the transactions."""
        entries = self.store.entries(State.SENT, State.IN_BLOCK)
        if not entries:
            return
        # The account's count before the analysts' nonces: what is counted has had its effect on these.
        count, _ = self._sender.counts()
        for entry in entries:
            signer = find_signer(self.contract, entry.signed.analyst)
            if signer.nonce > entry.nonce:
                self._settle(entry)
            elif entry.state is State.IN_BLOCK:
                self.store.change(entry, State.SENT)  # a reorganisation took it out again
            elif count > max(nonce for nonce, _ in self.store.sendings(entry.identifier)):
                self._failed(entry)

    def _settle(self, entry: RelayedRequest) -> None:
        """Find out who has used the nonce, when somebody has."""
        final = find_heads(self.contract.rpc, self._head).final
        found = find_brought(self.contract, entry.signed, entry.first_block)
        if found is not None:
            state = State.FINAL if final is not None and found.block <= final.number else State.IN_BLOCK
            self.store.change(entry, state, transaction=found.transaction, block=found.block)
        elif final is not None and self.contract.nonce(entry.signed.analyst, final.hash) > entry.nonce:
            self._refuse(entry, "The nonce was used for another request, or for this one by somebody else.")

    def _failed(self, entry: RelayedRequest) -> None:
        """Queue a request again after its transaction had no effect: it was refused, or something took its place."""
        if len(self.store.sendings(entry.identifier)) < _ATTEMPTS:
            self.store.change(entry, State.QUEUED)
        else:
            self._refuse(entry, "The chain refused it each time that it was sent.")

    def _refuse(self, entry: RelayedRequest, reason: str) -> None:
        self.store.change(entry, State.REFUSED, reason=reason)

    def _send_next(self) -> ChainError | None:
        """Send the first queued request of each analyst who has none in flight; return the first error of the chain.

        An error with one analyst's request, such as a contract wallet at which nodes give up, must not hold up the others.
        """
        trouble: ChainError | None = None
        busy = {entry.signed.analyst for entry in self.store.entries(State.SENT)}
        for entry in self.store.entries(State.QUEUED):
            analyst = entry.signed.analyst
            if analyst in busy:
                continue
            busy.add(analyst)
            try:
                self._go_on(entry)
            except NoFunds:
                raise
            except ChainError as error:
                trouble = trouble or error
        return trouble

    def _go_on(self, entry: RelayedRequest) -> None:
        """Send a queued request, if it is its turn."""
        signer = find_signer(self.contract, entry.signed.analyst)
        if signer.nonce > entry.nonce:
            self._settle(entry)
        elif signer.nonce == entry.nonce:
            self._send(entry, signer)
        elif not any(other.nonce < entry.nonce for other in self._unsettled(entry.signed.analyst)):
            self._refuse(entry, "A request that you signed before it was refused: sign it again.")

    def _unsettled(self, analyst: str) -> list[RelayedRequest]:
        return [entry for entry in self.store.entries(*OPEN) if entry.signed.analyst == analyst]

    def _send(self, entry: RelayedRequest, signer: SignerState) -> None:
        try:
            check_signer(entry.signed, signer)
        except SignatureRefused as error:
            self._refuse(entry, str(error))
            return
        try:
            gas = self._gas(entry.signed)
        except ChainError:
            raise
        except SignatureRefused:
            # The signature was right, so somebody else's transaction with it is on its way: the next step sees it in a block.
            return
        except NoiseledgerError as error:
            self._refuse(entry, str(error))
            return
        if not self._gas_left(int(gas * _MARGIN)):
            self.waits = "The gas for today is used up."
            return
        nonce = max(self._sender.next_nonce(), self.store.last_reserved() + 1)
        self.store.reserve(entry, nonce, _today(), int(gas * _MARGIN))
        self._launch(entry, nonce, gas)

    def _launch(self, entry: RelayedRequest, nonce: int, gas: int) -> None:
        """Send the transaction of a request, or send it again: never a different one with this nonce."""
        try:
            self._names[nonce] = self._sender.send(
                self.contract.address, encode_signed(entry.signed), gas=gas, nonce=nonce
            )
        except RpcFailed as error:
            if lacks_funds(error):
                raise NoFunds(f"The relay's account {self.address} has no coins for the fee: fund it.") from None
            # For example that the nonce is used: the next look says by what.
            self.waits = "The node did not take a transaction."

    def _tend(self) -> None:
        """Wait a moment for blocks; send again what this process has not sent, and what the node has dropped."""
        flying: dict[int, RelayedRequest] = {}
        for entry in self.store.entries(State.SENT):
            nonce, gas = self.store.sendings(entry.identifier)[-1]
            flying[nonce] = entry
            if nonce not in self._names:
                self._launch(entry, nonce, int(gas / _MARGIN))
        names = {nonce: self._names[nonce] for nonce in sorted(flying) if nonce in self._names}
        if not names:
            return
        with suppress(TransactionPending, TransactionDisplaced):
            receipts = self._sender.wait_many(list(names.values()), _WAIT_SECONDS)
            for nonce, receipt in zip(names, receipts, strict=True):
                self.store.used(flying[nonce].identifier, nonce, receipt.gas_used)


def _today() -> str:
    return datetime.now(UTC).date().isoformat()
