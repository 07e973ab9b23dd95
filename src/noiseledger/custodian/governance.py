"""Govern a ledger with the custodian's key: allowances, pausing, the worker's key, the custodian's key.

Why the promise holds: the contract checks who may do this, and nothing here can raise the budget or undo what was spent.
"""

from __future__ import annotations

import os
from contextlib import ExitStack
from dataclasses import dataclass
from fractions import Fraction
from typing import Self

from noiseledger.chain.block import BlockRef
from noiseledger.chain.contract import PrivacyLedgerContract, checksummed
from noiseledger.chain.keys import Key, find_key
from noiseledger.chain.rpc import Rpc
from noiseledger.chain.sender import Receipt, Sender
from noiseledger.chain.values import Event, from_units
from noiseledger.core.numbers import Number
from noiseledger.errors import ChainMismatch, LedgerRefused, RpcFailed
from noiseledger.ledger import governance
from noiseledger.ledger.file import find_on_chain
from noiseledger.ledger.governance import Change
from noiseledger.ledger.mirror import Mirror, read_facts
from noiseledger.ledger.snapshot import Analyst, LedgerSnapshot
from noiseledger.ledger.state import LedgerState
from noiseledger.progress import warn
from noiseledger.settings import RPC

#: The event that the contract emits for each function.
_EVENTS = {
    "allow": "Allowed",
    "pause": "Paused",
    "change_worker": "Appointed",
    "offer_custody": "Appointed",
    "take_custody": "Appointed",
}


@dataclass(frozen=True)
class Done:
    """A change that was made; without a transaction if nothing had to change."""

    change: Change
    transaction: str | None = None
    block: int | None = None
    #: What the custodian should know about how it went.
    notes: tuple[str, ...] = ()


class Custodian:
    """A ledger that its custodian governs; created by :func:`noiseledger.connect_custodian`.

    Make a change at once (``allow``, ``pause``, ...), or see it first: ``propose_allow`` and the like return a
    :class:`Change` that describes what will happen, and ``carry_out`` makes it.
    """

    def __init__(self, contract: PrivacyLedgerContract, first_block: int = 0) -> None:
        """Govern a contract whose first event is in ``first_block``."""
        self.contract = contract
        self._mirror = Mirror(contract, first_block, "latest")

    def close(self) -> None:
        """Close the connection to the chain."""
        self.contract.rpc.close()

    def __enter__(self) -> Self:
        """Stay connected, as a context manager."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close the connection to the chain."""
        self.close()

    def look(self) -> LedgerSnapshot:
        """Return the current state of the ledger."""
        return self._mirror.look()

    def _look_at_roles(self) -> LedgerSnapshot:
        """Return the current state of the ledger; without its record if no node returns that.

        In an emergency a custodian cannot wait for an endpoint that keeps all events, and strangers can make the record long.
        """
        try:
            return self.look()
        except (RpcFailed, ChainMismatch) as error:
            try:
                facts, _, _ = read_facts(self.contract, self.contract.newest())
            except ChainMismatch:
                raise error from None
            return LedgerSnapshot(facts, LedgerState(reuses=facts.terms.reuses), {})

    def analysts(self) -> list[Analyst]:
        """Return how much each analyst may still buy, and has bought. Needs no key."""
        return self.look().analysts()

    def allow(
        self,
        analyst: str,
        *,
        epsilon: Number | None = None,
        delta: Number | None = None,
        precision: Number | None = None,
    ) -> Done:
        """Set how much an analyst may buy from now on: ``epsilon=`` and ``delta=``, or ``precision=`` (0 removes it)."""
        return self.carry_out(self.propose_allow(analyst, epsilon=epsilon, delta=delta, precision=precision))

    def pause(self) -> Done:
        """Stop selling answers; earlier purchases are still answered."""
        return self.carry_out(self.propose_pause())

    def resume(self) -> Done:
        """Sell answers again."""
        return self.carry_out(self.propose_resume())

    def rotate_worker(self, worker: str) -> Done:
        """Let another key reveal answers, instead of the current one."""
        return self.carry_out(self.propose_rotate_worker(worker))

    def hand_over(self, heir: str | None) -> Done:
        """Offer custody to another key, or withdraw the offer with None; nothing changes until it is accepted."""
        return self.carry_out(self.propose_hand_over(heir))

    def accept_custody(self) -> Done:
        """Become the custodian, if custody was offered to this key."""
        return self.carry_out(self.propose_accept_custody())

    def propose_allow(
        self,
        analyst: str,
        *,
        epsilon: Number | None = None,
        delta: Number | None = None,
        precision: Number | None = None,
    ) -> Change:
        """Return what ``allow`` would do."""
        allowance = governance.read_allowance(epsilon, delta, precision)
        return governance.allow(self.look(), analyst, allowance)

    def propose_pause(self) -> Change:
        """Return what ``pause`` would do."""
        return governance.pause(self._look_at_roles(), paused=True)

    def propose_resume(self) -> Change:
        """Return what ``resume`` would do."""
        return governance.pause(self.look(), paused=False)

    def propose_rotate_worker(self, worker: str) -> Change:
        """Return what ``rotate_worker`` would do."""
        address = governance.read_address(worker, "worker")
        balance = int(self.contract.rpc.call("eth_getBalance", address, "latest"), 16)
        return governance.rotate_worker(self._look_at_roles(), address, balance)

    def propose_hand_over(self, heir: str | None) -> Change:
        """Return what ``hand_over`` would do."""
        return governance.hand_over(self._look_at_roles(), heir)

    def propose_accept_custody(self) -> Change:
        """Return what ``accept_custody`` would do."""
        return governance.accept_custody(self._look_at_roles())

    def check_signer(self, change: Change) -> None:
        """Refuse a key that the contract would refuse."""
        change.check_signer(self.contract.sender.address)

    def carry_out(self, change: Change) -> Done:
        """Make a change and check on the chain that it was made; if nothing would change, nothing is sent.

        Raises:
            NotAllowed: this key may not make the change; nothing was sent.
        """
        self.check_signer(change)
        if not change.is_needed:
            return Done(change)
        receipt: Receipt = getattr(self.contract, change.function)(*change.arguments)
        last = BlockRef(receipt.block, receipt.block_hash)
        try:
            events = list(self.contract.events([_EVENTS[change.function], "Asked"], first=change.block + 1, last=last))
        except RpcFailed as error:
            # It is in a block: if we said that it failed, somebody would do it again.
            note = f"The transaction succeeded, but the contract's event could not be read: {error}"
            return Done(change, receipt.transaction, receipt.block, (note,))
        made = [event for event in events if event.name != "Asked" and event.transaction == receipt.transaction]
        if not made:
            raise LedgerRefused(
                f"The transaction {receipt.transaction} succeeded, but the contract emitted no event for the change: check "
                "the ledger before you continue."
            )
        notes = _bought_in_between(change, made[0], events) if change.function == "allow" else ()
        return Done(change, receipt.transaction, receipt.block, notes)


def _bought_in_between(change: Change, made: Event, events: list[Event]) -> tuple[str, ...]:
    """Warn about what an analyst bought with the old allowance after it was read: it does not count against the new one."""
    analyst = change.arguments[0]
    earlier = [event for event in events if (event.block, event.index) < (made.block, made.index)]
    asked = [e for e in earlier if e.name == "Asked" and checksummed(e.fields["analyst"]) == analyst]
    bought = sum((from_units(event.fields["cost"]) for event in asked), Fraction(0))
    if not bought:
        return ()
    return (
        f"Meanwhile {analyst} bought precision {float(bought):.6g} with the old allowance, and may now use the new one too: "
        "set it again if that is too much.",
    )


def connect_custodian(
    ledger: str | os.PathLike[str], *, rpc: str | None = None, key: Key | str | os.PathLike[str] | None = None
) -> Custodian:
    """Connect to a ledger on a chain, to govern it.

    Args:
        ledger: The ledger file that ``publish`` wrote, or the contract's address.
        rpc: The chain's endpoint, or several separated by commas. Default: the variable NOISELEDGER_RPC, then a node
            on this machine.
        key: The custodian's key or keystore file; default: the variable NOISELEDGER_KEY. Reading needs none.
    """
    return connect_custodian_with(ledger, RPC.find(rpc), find_key(key))


def connect_custodian_with(ledger: str | os.PathLike[str], rpc: str, key: Key | None) -> Custodian:
    """Connect as :func:`connect_custodian` does, with these arguments only: no environment variable is read."""
    found = find_on_chain(os.fspath(ledger))
    with ExitStack() as stack:
        endpoint = stack.enter_context(Rpc(rpc, found.chain_id, listener=warn))
        signer = None if key is None else Sender(endpoint, key)
        custodian = Custodian(PrivacyLedgerContract(endpoint, found.address, signer), found.block)
        stack.pop_all()
    return custodian
