"""Deploy a ledger at most once, even after a crash.

The address of a new contract follows from its sender and the nonce, so it can be stored before anything is sent. After a
crash, a second run checks that address first: it adopts the ledger that it finds there, or sends the same transaction again
with the same nonce. The chain accepts only one transaction with that nonce.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path

from noiseledger.chain.contract import PrivacyLedgerContract
from noiseledger.chain.rpc import Rpc
from noiseledger.chain.sender import Sender, create_address
from noiseledger.chain.values import Terms
from noiseledger.errors import ChainMismatch, DataMismatch, InvalidInput, NotAllowed, RpcFailed
from noiseledger.ledger.durable import write_durably


@dataclass(frozen=True)
class Intent:
    """The sender, chain and nonce of a ledger that is being published."""

    chain_id: int
    sender: str
    nonce: int

    @property
    def address(self) -> str:
        """The address that the ledger will have."""
        return create_address(self.sender, self.nonce)

    @classmethod
    def read(cls, file: Path) -> Intent | None:
        """Return the stored intent, or None."""
        try:
            return cls(**json.loads(file.read_text(encoding="utf-8")))
        except FileNotFoundError:
            return None
        except (ValueError, TypeError):
            raise InvalidInput(f"{file} is damaged: check whether a ledger was published.") from None


def deploy_once(file: Path, sender: Sender, terms: Terms, worker: str, zone_list: str = "") -> PrivacyLedgerContract:
    """Return the ledger that an earlier run published, or publish it."""
    intent = Intent.read(file)
    if intent is not None:
        # Read the count first: if the nonce was used by then, the contract that used it is already visible.
        is_used = _count(sender.rpc, intent) > intent.nonce
        found = _find(intent, sender, terms)
        if found is not None:
            return found
        if is_used:
            intent = None
        elif intent.sender != sender.address:
            raise NotAllowed(
                f"Publishing was started with the key of {intent.sender} and may still succeed: continue with that key."
            )
    if intent is None:
        intent = Intent(sender.rpc.chain_id, sender.address, sender.next_nonce())
        write_durably(file, json.dumps(asdict(intent)) + "\n")
    try:
        return PrivacyLedgerContract.deploy(sender, terms, worker, nonce=intent.nonce, zone_list=zone_list)
    except RpcFailed:
        # The transaction of an earlier run may have been mined since the check above.
        found = _find(intent, sender, terms)
        if found is None:
            raise
        return found


def _count(rpc: Rpc, intent: Intent) -> int:
    if intent.chain_id != rpc.chain_id:
        raise ChainMismatch(
            f"Publishing was started on chain {intent.chain_id}, but this is chain {rpc.chain_id}: finish it there first."
        )
    return int(rpc.call("eth_getTransactionCount", intent.sender, "latest"), 16)


def _find(intent: Intent, sender: Sender, terms: Terms) -> PrivacyLedgerContract | None:
    """Return the ledger at the intended address, if it is ours; None if something else or nothing is there."""
    try:
        contract = PrivacyLedgerContract(sender.rpc, intent.address, sender)
        found = contract.terms()
    except (ChainMismatch, RpcFailed):
        return None
    if found.commitment != terms.commitment:
        return None
    if found != terms:
        raise DataMismatch(
            f"A ledger with other terms was already published at {contract.address}, and its terms are permanent: restore "
            "epsilon, delta, neighbours and access in the catalogue."
        )
    return contract
