"""The state of a transaction: seen, in a block, final, answered; or refused, displaced, dropped."""

from __future__ import annotations

import time
from collections import OrderedDict
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from noiseledger.chain.contract import PrivacyLedgerContract, checksummed
from noiseledger.chain.refusals import typed
from noiseledger.errors import InvalidInput, NoiseledgerError, RpcFailed
from noiseledger.ledger.query_state import LoggedRequest
from noiseledger.ledger.snapshot import LedgerSnapshot

#: A transaction may reach another node first; after this time, one that our node has not seen is probably lost.
PATIENCE_SECONDS = 60.0
#: The number of pending transactions that are remembered, to recognise later that they were displaced.
_REMEMBERED = 10_000


class TransactionState(StrEnum):
    """The state of a transaction."""

    UNSEEN = "unseen"
    SENT = "sent"
    MINED = "mined"
    FINAL = "final"
    ANSWERED = "answered"
    REFUSED = "refused"
    DROPPED = "dropped"
    DISPLACED = "displaced"

    @property
    def is_over(self) -> bool:
        """Whether this state is final."""
        return self in (TransactionState.REFUSED, TransactionState.DROPPED, TransactionState.DISPLACED)


@dataclass(frozen=True)
class TransactionStatus:
    """The state of one transaction, with its details."""

    transaction: str
    state: TransactionState
    block: int | None = None
    sender: str | None = None
    asked: tuple[LoggedRequest, ...] = ()
    #: Whether its block is final.
    is_final: bool = False
    #: Why it was refused.
    reason: NoiseledgerError | None = None

    @property
    def is_over(self) -> bool:
        """Say whether nothing more will come."""
        return self.state.is_over or (self.state is TransactionState.ANSWERED and self.is_final)


@dataclass(frozen=True)
class _Waiting:
    sender: str
    nonce: int


class TransactionFollower:
    """Follows transactions to one ledger; remembers those that it saw pending."""

    def __init__(self, contract: PrivacyLedgerContract) -> None:
        """Start with no transactions."""
        self._contract = contract
        self._waiting: OrderedDict[str, _Waiting] = OrderedDict()

    def follow(self, snapshot: LedgerSnapshot, transaction: str, sent_at: float | None) -> TransactionStatus:
        """Return the state of a transaction; ``sent_at`` is when the wallet sent it, in seconds since 1970."""
        receipt, found = self._contract.rpc.batch(
            [("eth_getTransactionReceipt", [transaction]), ("eth_getTransactionByHash", [transaction])]
        )
        for reply in (receipt, found):
            if isinstance(reply, RpcFailed):
                raise reply
        if receipt is not None and found is not None:
            return self._mined(snapshot, transaction, receipt, found)
        if found is not None:
            self._check(found)
            self._remember(transaction, found)
            return TransactionStatus(transaction, TransactionState.SENT, sender=checksummed(found["from"]))
        return self._gone(transaction, sent_at)

    def _mined(
        self, snapshot: LedgerSnapshot, transaction: str, receipt: dict[str, Any], found: dict[str, Any]
    ) -> TransactionStatus:
        self._check(found)
        block, sender = int(receipt["blockNumber"], 16), checksummed(found["from"])
        is_final = snapshot.facts.final is not None and block <= snapshot.facts.final
        if int(receipt["status"], 16) == 0:
            reason = self._why(found, block)
            return TransactionStatus(transaction, TransactionState.REFUSED, block, sender, (), is_final, reason)
        asked = tuple(snapshot.requests_in(transaction))
        state = TransactionState.FINAL if is_final else TransactionState.MINED
        if asked and all(snapshot.is_answered(request) for request in asked):
            state = TransactionState.ANSWERED
        return TransactionStatus(transaction, state, block, sender, asked, is_final)

    def _gone(self, transaction: str, sent_at: float | None) -> TransactionStatus:
        """Return the probable state of a transaction that the node does not know."""
        waiting = self._waiting.get(transaction)
        if waiting is not None:
            count = int(self._contract.rpc.call("eth_getTransactionCount", waiting.sender, "latest"), 16)
            state = TransactionState.DISPLACED if count > waiting.nonce else TransactionState.DROPPED
            return TransactionStatus(transaction, state, sender=waiting.sender)
        is_new = sent_at is not None and 0 <= time.time() - sent_at < PATIENCE_SECONDS
        return TransactionStatus(transaction, TransactionState.UNSEEN if is_new else TransactionState.DROPPED)

    def _check(self, found: dict[str, Any]) -> None:
        if (found.get("to") or "").lower() != self._contract.address.lower():
            raise InvalidInput("This transaction was not sent to this ledger.")

    def _remember(self, transaction: str, found: dict[str, Any]) -> None:
        self._waiting[transaction] = _Waiting(checksummed(found["from"]), int(found["nonce"], 16))
        self._waiting.move_to_end(transaction)
        while len(self._waiting) > _REMEMBERED:
            self._waiting.popitem(last=False)

    def _why(self, found: dict[str, Any], block: int) -> NoiseledgerError:
        """Return why the contract refused, by simulating the same call at the same block."""
        call = {"from": found["from"], "to": found["to"], "data": found["input"]}
        try:
            self._contract.rpc.call("eth_call", call, hex(block))
        except RpcFailed as error:
            reason = typed(error)
            # An error that is not the contract's is the node's own text, which is not for the public.
            if not isinstance(reason, RpcFailed):
                return reason
        return InvalidInput(
            "The transaction failed, probably because it ran out of gas; nothing was spent from the budget."
        )
