"""Deploy at most once, whatever happens in between.

The address of a new contract follows from its sender and the nonce, so it can be written down before anything is sent.
After a crash a second run looks there first: it adopts what it finds, or sends the same again with the same nonce, of which
the chain takes one only.
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
    """Who is about to publish where."""

    chain_id: int
    sender: str
    nonce: int

    @property
    def address(self) -> str:
        """Where the ledger comes to be."""
        return create_address(self.sender, self.nonce)

    @classmethod
    def read(cls, file: Path) -> Intent | None:
        """Return what was written down, or None."""
        try:
            return cls(**json.loads(file.read_text(encoding="utf-8")))
        except FileNotFoundError:
            return None
        except (ValueError, TypeError):
            raise InvalidInput(f"{file} is not what was written there: look whether a ledger was published.") from None


def deploy_once(file: Path, sender: Sender, terms: Terms, worker: str) -> PrivacyLedgerContract:
    """Return the ledger that a run before this one published, or publish it."""
    intent = Intent.read(file)
    if intent is not None:
        # The count first: if the nonce was used by then, what used it is there to be seen.
        is_used = _count(sender.rpc, intent) > intent.nonce
        found = _find(intent, sender, terms)
        if found is not None:
            return found
        if is_used:
            intent = None
        elif intent.sender != sender.address:
            raise NotAllowed(
                f"Publishing was begun with the key of {intent.sender} and may still succeed: go on with that key."
            )
    if intent is None:
        intent = Intent(sender.rpc.chain_id, sender.address, sender.next_nonce())
        write_durably(file, json.dumps(asdict(intent)) + "\n")
    try:
        return PrivacyLedgerContract.deploy(sender, terms, worker, nonce=intent.nonce)
    except RpcFailed:
        # What the run before this one sent may have come into a block since we looked.
        found = _find(intent, sender, terms)
        if found is None:
            raise
        return found


def _count(rpc: Rpc, intent: Intent) -> int:
    if intent.chain_id != rpc.chain_id:
        raise ChainMismatch(
            f"Publishing was begun on chain {intent.chain_id}, and this is chain {rpc.chain_id}: finish it there first."
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
            f"A ledger with other terms was published at {contract.address} before, for ever: put epsilon, delta, "
            "neighbours and access in the catalogue back."
        )
    return contract
