"""Govern a ledger with the custodian's key: who may ask, whether anything is sold, which key reveals, who is custodian.

Why the promise holds: the contract decides who may do this, and none of it can raise the budget or take back what was spent.
"""

from __future__ import annotations

import os
from contextlib import ExitStack
from dataclasses import dataclass
from fractions import Fraction
from typing import Self

from noiseledger.chain.block import BlockRef
from noiseledger.chain.contract import PrivacyLedgerContract, checksummed
from noiseledger.chain.keys import KEY_VARIABLE, Key, load_key
from noiseledger.chain.rpc import Rpc
from noiseledger.chain.sender import Receipt, Sender
from noiseledger.chain.values import Event, Terms, from_units
from noiseledger.chain.watch import warn
from noiseledger.core.numbers import Number
from noiseledger.errors import ChainMismatch, LedgerRefused, RpcFailed
from noiseledger.ledger import governance
from noiseledger.ledger.file import find_on_chain
from noiseledger.ledger.governance import Change
from noiseledger.ledger.mirror import Mirror
from noiseledger.ledger.snapshot import Analyst, Facts, LedgerSnapshot
from noiseledger.ledger.state import LedgerState

DEFAULT_RPC = "http://127.0.0.1:8545"
RPC_VARIABLE = "NOISELEDGER_RPC"

#: What the contract writes down when a function has done its work.
_EVENTS = {
    "allow": "Allowed",
    "pause": "Paused",
    "change_worker": "Appointed",
    "offer_custody": "Appointed",
    "take_custody": "Appointed",
}


@dataclass(frozen=True)
class Done:
    """A change that was made; without a transaction if there was nothing to do."""

    change: Change
    transaction: str | None = None
    block: int | None = None
    #: What happened on the way that the custodian should know.
    notes: tuple[str, ...] = ()


class Custodian:
    """A ledger as its custodian governs it; use :func:`noiseledger.connect_custodian`.

    Each change can be made at once (``allow``, ``pause``, ...), or be looked at first: ``propose_allow`` and the like return a
    :class:`Change` that says what will happen, and ``carry_out`` makes it.
    """

    def __init__(self, contract: PrivacyLedgerContract, first_block: int = 0) -> None:
        """Govern a contract, whose events begin at ``first_block``."""
        self.contract = contract
        self._mirror = Mirror(contract, first_block, "latest")

    def close(self) -> None:
        """Let go of the chain."""
        self.contract.rpc.close()

    def __enter__(self) -> Self:
        """Stay connected, as a context manager."""
        return self

    def __exit__(self, *_: object) -> None:
        """Let go of the chain."""
        self.close()

    def look(self) -> LedgerSnapshot:
        """Return the ledger as it is now."""
        return self._mirror.look()

    def _look_at_roles(self) -> LedgerSnapshot:
        """Return the ledger as it is now; without its record, if no node gives that.

        Who must stop a ledger cannot wait for an endpoint that keeps all events, and strangers can make the record long.
        """
        try:
            return self.look()
        except (RpcFailed, ChainMismatch):
            contract, newest = self.contract, self.contract.newest()
            names = ("terms", "paused", "custodian", "worker", "heir")
            found = contract.read_many([(name, [], newest.hash) for name in names])
            if None in found:
                raise
            fixed, paused, custodian, worker, heir = (reply[0] for reply in found if reply)
            terms = Terms.decode(fixed)
            roles = checksummed(custodian), checksummed(worker)
            offered = checksummed(heir) if int(heir, 16) else None
            where = contract.rpc.chain_id, contract.address
            facts = Facts(*where, terms, *roles, paused, newest.number, None, offered)
            return LedgerSnapshot(facts, LedgerState(reuses=terms.reuses), {})

    def analysts(self) -> list[Analyst]:
        """Return who may still buy how much, and who has bought how much. Needs no key."""
        return self.look().analysts()

    def allow(
        self,
        analyst: str,
        *,
        epsilon: Number | None = None,
        delta: Number | None = None,
        precision: Number | None = None,
    ) -> Done:
        """Set how much an analyst may buy from now on: ``epsilon=`` and ``delta=``, or ``precision=`` (0 takes it away)."""
        return self.carry_out(self.propose_allow(analyst, epsilon=epsilon, delta=delta, precision=precision))

    def pause(self) -> Done:
        """Stop selling; what was bought is still answered."""
        return self.carry_out(self.propose_pause())

    def resume(self) -> Done:
        """Go on selling."""
        return self.carry_out(self.propose_resume())

    def rotate_worker(self, worker: str) -> Done:
        """Give the right to reveal to another key."""
        return self.carry_out(self.propose_rotate_worker(worker))

    def hand_over(self, heir: str | None) -> Done:
        """Offer custody to another key, or, with None, take the offer back; nothing changes until it is accepted."""
        return self.carry_out(self.propose_hand_over(heir))

    def accept_custody(self) -> Done:
        """Take over what was offered to this key."""
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
        """Refuse if this key is not the one that the contract would listen to."""
        change.check_signer(self.contract.sender.address)

    def carry_out(self, change: Change) -> Done:
        """Make a change, and see on the chain that it was made; where things are so already, nothing is sent.

        Raises:
            NotAllowed: this is not the key that may do it; nothing was sent.
        """
        self.check_signer(change)
        if not change.is_needed:
            return Done(change)
        receipt: Receipt = getattr(self.contract, change.function)(*change.arguments)
        last = BlockRef(receipt.block, receipt.block_hash)
        try:
            events = list(self.contract.events([_EVENTS[change.function], "Asked"], first=change.block + 1, last=last))
        except RpcFailed as error:
            # It is in a block: to say that it failed would be wrong, and somebody would do it again.
            note = f"The transaction succeeded, but what the contract noted could not be read: {error}"
            return Done(change, receipt.transaction, receipt.block, (note,))
        made = [event for event in events if event.name != "Asked" and event.transaction == receipt.transaction]
        if not made:
            raise LedgerRefused(
                f"The transaction {receipt.transaction} succeeded, but the contract did not note the change: look at the "
                "ledger again before you go on."
            )
        notes = _bought_in_between(change, made[0], events) if change.function == "allow" else ()
        return Done(change, receipt.transaction, receipt.block, notes)


def _bought_in_between(change: Change, made: Event, events: list[Event]) -> tuple[str, ...]:
    """Say what an analyst bought with the old allowance after it was looked at: it does not count against the new one."""
    analyst = change.arguments[0]
    earlier = [event for event in events if (event.block, event.index) < (made.block, made.index)]
    asked = [e for e in earlier if e.name == "Asked" and checksummed(e.fields["analyst"]) == analyst]
    bought = sum((from_units(event.fields["cost"]) for event in asked), Fraction(0))
    if not bought:
        return ()
    return (
        f"Meanwhile {analyst} bought precision {float(bought):.6g} with the old allowance, and may now buy the new one on top: "
        "set it again if that is too much.",
    )


def connect_custodian(
    ledger: str | os.PathLike[str], *, rpc: str | None = None, key: Key | str | os.PathLike[str] | None = None
) -> Custodian:
    """Connect to a ledger on a chain in order to govern it.

    Args:
        ledger: The ledger file that ``publish`` wrote, or the contract's address.
        rpc: The chain's endpoint, or several that are separated by commas. Default: the variable NOISELEDGER_RPC, then a node
            on this machine.
        key: The custodian's key or keystore file; default: the variable NOISELEDGER_KEY. Reading needs none.
    """
    found = find_on_chain(os.fspath(ledger))
    with ExitStack() as stack:
        where = rpc or os.environ.get(RPC_VARIABLE) or DEFAULT_RPC
        endpoint = stack.enter_context(Rpc(where, found.chain_id, watch=warn))
        signer = None
        if key is not None or os.environ.get(KEY_VARIABLE):
            signer = Sender(endpoint, key if isinstance(key, Key) else load_key(key))
        custodian = Custodian(PrivacyLedgerContract(endpoint, found.address, signer), found.block)
        stack.pop_all()
    return custodian
