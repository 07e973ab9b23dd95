"""Govern a ledger with the custodian's key: allowances, pausing, the worker's key, the custodian's key.

Why the promise holds: the contract checks who may do this, and nothing here can raise the budget or undo what was spent.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from noiseledger.chain.block import BlockRef
from noiseledger.chain.contract import PrivacyLedgerContract
from noiseledger.chain.keys import Key, find_key
from noiseledger.chain.rpc import Rpc
from noiseledger.chain.sender import Sender
from noiseledger.core.address import is_address
from noiseledger.core.numbers import Number
from noiseledger.core.query import Query
from noiseledger.data.hints import did_you_mean
from noiseledger.errors import ChainMismatch, LedgerRefused, NoiseledgerError, RpcFailed, UnknownQuery
from noiseledger.ledger import governance
from noiseledger.ledger.file import catalogue_of, find_on_chain
from noiseledger.ledger.governance import Change
from noiseledger.ledger.mirror import Mirror, read_facts
from noiseledger.ledger.snapshot import Analyst, LedgerSnapshot
from noiseledger.ledger.state import LedgerState
from noiseledger.ledger.unanswered import REASONS
from noiseledger.progress import warn
from noiseledger.settings import RPC

#: The event that the contract emits for each function.
_EVENTS = {
    "allow": "Allowed",
    "pause": "Paused",
    "pause_query": "QueryPaused",
    "close": "Closed",
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

    def __init__(
        self,
        contract: PrivacyLedgerContract,
        first_block: int = 0,
        names: Mapping[str, Query] | None = None,
        ledger_file: Path | None = None,
    ) -> None:
        """Govern a contract whose first event is in ``first_block``; ``names`` are those of the ledger file.

        If the ledger file is in a custody folder, the journal there shows which queries can never be answered.
        """
        self.contract = contract
        self._ledger_file = ledger_file
        self._names = names or {}
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
                facts, _ = read_facts(self.contract, self.contract.newest())
            except ChainMismatch:
                raise error from None
            return LedgerSnapshot(facts, LedgerState(reuses=facts.terms.reuses, zones=facts.terms.zones), {})

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
        """Increase an analyst's allowance: ``epsilon=`` and ``delta=``, or ``precision=``."""
        return self.carry_out(self.propose_allow(analyst, epsilon=epsilon, delta=delta, precision=precision))

    def withdraw(
        self,
        analyst: str,
        *,
        epsilon: Number | None = None,
        delta: Number | None = None,
        precision: Number | None = None,
    ) -> Done:
        """Let an analyst buy less than now; without an amount, nothing."""
        return self.carry_out(self.propose_withdraw(analyst, epsilon=epsilon, delta=delta, precision=precision))

    def pause(self, query: str | None = None) -> Done:
        """Stop selling answers, or those of one query (its name or identifier); earlier purchases are still answered."""
        return self.carry_out(self.propose_pause(query))

    def resume(self, query: str | None = None) -> Done:
        """Sell answers again, or those of one query."""
        return self.carry_out(self.propose_resume(query))

    def close_ledger(self) -> Done:
        """Stop selling for good; earlier purchases are still answered."""
        return self.carry_out(self.propose_close())

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
        return governance.allow(self.look(), analyst, governance.read_allowance(epsilon, delta, precision))

    def propose_withdraw(
        self,
        analyst: str,
        *,
        epsilon: Number | None = None,
        delta: Number | None = None,
        precision: Number | None = None,
    ) -> Change:
        """Return what ``withdraw`` would do."""
        is_all = epsilon is None and delta is None and precision is None
        amount = None if is_all else governance.read_allowance(epsilon, delta, precision)
        return governance.withdraw(self.look(), analyst, amount)

    def propose_pause(self, query: str | None = None) -> Change:
        """Return what ``pause`` would do."""
        if query is None:
            return governance.pause(self._look_at_roles(), paused=True, reasons=self._known_reasons())
        return self._propose_pause_query(query, paused=True)

    def propose_resume(self, query: str | None = None) -> Change:
        """Return what ``resume`` would do."""
        if query is None:
            return governance.pause(self.look(), paused=False, label=self._label, reasons=self._reasons())
        return self._propose_pause_query(query, paused=False)

    def _propose_pause_query(self, query: str, *, paused: bool) -> Change:
        snapshot = self.look()
        identifier = self._names[query].identifier if query in self._names else query.lower()
        # A query that analysts cannot read is registered all the same, and can be paused by its identifier.
        found = [entry.identifier for entry in snapshot.state.registered if entry.identifier.startswith(identifier)]
        if len(found) != 1 or not identifier:
            hint = did_you_mean(query, self._names)
            where = "" if self._names else " Names are in the ledger file: give that instead of the address."
            raise UnknownQuery(f"The ledger has no query {query!r}{hint}: give its name, or its identifier.{where}")
        return governance.pause_query(snapshot, found[0], query, paused, {} if paused else self._reasons())

    def _reasons(self) -> governance.Reasons:
        """Return why queries are never answered, as the journal on this machine knows, if there is one."""
        if self._ledger_file is None or catalogue_of(self._ledger_file) is None:
            return {}
        from noiseledger.custodian.closed import closed_beside  # noqa: PLC0415 - takes a second

        return dict.fromkeys(closed_beside(self._ledger_file), REASONS["QueryClosed"])

    def _known_reasons(self) -> governance.Reasons:
        """Return the same; nothing if the journal cannot be read, because in an emergency sales must stop all the same."""
        try:
            return self._reasons()
        except NoiseledgerError:
            return {}

    def _label(self, identifier: str) -> str:
        """Return what the ledger file calls a query: its last name is the current one."""
        names = {query.identifier: name for name, query in self._names.items()}
        return names.get(identifier, identifier[:12])

    def propose_close(self) -> Change:
        """Return what ``close_ledger`` would do."""
        return governance.close(self._look_at_roles(), self._known_reasons())

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
        receipt = self.contract.transact(change.function, *change.call)
        last = BlockRef(receipt.block, receipt.block_hash)
        try:
            events = list(self.contract.events([_EVENTS[change.function]], first=receipt.block, last=last))
        except RpcFailed as error:
            # It is in a block: if we said that it failed, somebody would do it again.
            note = f"The transaction succeeded, but the contract's event could not be read: {error}"
            return Done(change, receipt.transaction, receipt.block, (note,))
        if not any(event.transaction == receipt.transaction for event in events):
            raise LedgerRefused(
                f"The transaction {receipt.transaction} succeeded, but the contract emitted no event for the change: check "
                "the ledger before you continue."
            )
        return Done(change, receipt.transaction, receipt.block)


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
        contract = PrivacyLedgerContract(endpoint, found.address, signer)
        file = None if is_address(os.fspath(ledger)) else Path(ledger)
        custodian = Custodian(contract, found.block, found.queries, file)
        stack.pop_all()
    return custodian
