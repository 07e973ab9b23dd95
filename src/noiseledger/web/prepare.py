"""Transactions for others to sign: encoded here, simulated on the chain without being sent, and returned.

Why the promise holds: nothing is signed or sent here; the contract sets the price or refuses when the signed transaction
arrives.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from noiseledger.chain.contract import PrivacyLedgerContract, checksummed, encode_ask
from noiseledger.chain.node_errors import lacks_funds
from noiseledger.chain.refusals import typed
from noiseledger.errors import AllowanceExceeded, BudgetExceeded, LedgerPaused, NoFunds, RpcFailed
from noiseledger.ledger.governance import Change
from noiseledger.ledger.interface import Quote
from noiseledger.ledger.snapshot import LedgerSnapshot

#: Other purchases may come first and slightly raise the gas that a transaction uses.
_GAS_RESERVE = 1.25


@dataclass(frozen=True)
class Prepared:
    """A transaction for a wallet to sign."""

    chain_id: int
    to: str
    data: str
    gas: int | None


def prepare_ask(
    contract: PrivacyLedgerContract,
    snapshot: LedgerSnapshot,
    quote: Quote,
    analyst: str | None,
    contact: str = "",
    *,
    pays_fee: bool = True,
) -> Prepared:
    """Encode the quoted purchase; raise the contract's error if it would refuse, with the contact for an allowance.

    An analyst who only signs, so that a relay brings the request to the chain, needs no coins (``pays_fee``).
    """
    if not quote.affordable:
        raise BudgetExceeded(quote.price.cost, quote.budget.remaining)
    if reason := snapshot.not_sold(quote.query):
        raise LedgerPaused(f"{reason} Public answers are still free.")
    try:
        return _tried(contract, encode_ask([quote.request], quote.price.cost), analyst, pays_fee=pays_fee)
    except AllowanceExceeded as refused:
        who = checksummed(analyst or ""), snapshot.facts.custodian, contact
        raise AllowanceExceeded(refused.requested, refused.remaining, *who) from None


def prepare_change(contract: PrivacyLedgerContract, change: Change, sender: str | None) -> Prepared:
    """Encode a change by the custodian; refuse every account but the one that the contract accepts."""
    if sender is not None:
        change.check_signer(sender)
    return _tried(contract, change.data, sender)


def _tried(contract: PrivacyLedgerContract, data: str, sender: str | None, *, pays_fee: bool = True) -> Prepared:
    gas = None if sender is None else _gas(contract, data, sender, pays_fee=pays_fee)
    return Prepared(contract.rpc.chain_id, contract.address, data, gas)


def _gas(contract: PrivacyLedgerContract, data: str, sender: str, *, pays_fee: bool) -> int:
    call: dict[str, Any] = {"from": sender, "to": contract.address, "data": data}
    gas, balance = contract.rpc.batch([("eth_estimateGas", [call]), ("eth_getBalance", [sender, "latest"])])
    if isinstance(gas, RpcFailed):
        if lacks_funds(gas):
            raise _no_funds(sender)
        raise typed(gas)
    if pays_fee and not isinstance(balance, RpcFailed) and int(balance, 16) == 0:
        raise _no_funds(sender)
    return int(int(gas, 16) * _GAS_RESERVE)


def _no_funds(sender: str) -> NoFunds:
    return NoFunds(
        f"The account {sender} has no funds to pay the chain's fee: fund it with the chain's native currency."
    )
