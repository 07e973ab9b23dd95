"""Signed requests: check one before anybody pays to bring it to the chain, and find it on the chain afterwards.

Why nothing is charged by mistake: nothing here decides. The contract checks signature, nonce, deadline, limit, allowance and
budget again; these checks only say beforehand, and in more words, what it would say.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from noiseledger.chain import abi
from noiseledger.chain.address import checksummed
from noiseledger.chain.contract import PrivacyLedgerContract, encode_signed
from noiseledger.chain.refusals import typed
from noiseledger.errors import AllowanceExceeded, RpcFailed, SignatureRefused

if TYPE_CHECKING:
    from noiseledger.chain.signed_ask import SignedAsk

_NOTHING = " Nothing was charged."


@dataclass(frozen=True)
class SignerState:
    """What the chain says about the analyst of a signed request."""

    #: The nonce of the next request that the contract accepts.
    nonce: int
    #: The later of two clocks: the newest block's, and this machine's.
    now: float
    is_contract: bool
    #: The newest block: a request with this nonce is in a later one, or in none.
    block: int


@dataclass(frozen=True)
class Brought:
    """Where a signed request is on the chain."""

    transaction: str
    block: int


def find_signer(contract: PrivacyLedgerContract, analyst: str) -> SignerState:
    """Read what a check needs, in one exchange."""
    call = {"to": contract.address, "data": abi.encode_call("nonce", analyst)}
    block, nonce, code = contract.rpc.batch(
        [
            ("eth_getBlockByNumber", ["latest", False]),
            ("eth_call", [call, "latest"]),
            ("eth_getCode", [analyst, "latest"]),
        ]
    )
    for reply in (block, nonce, code):
        if isinstance(reply, RpcFailed):
            raise reply
    (number,) = abi.decode_result("nonce", nonce)
    now = max(float(int(block["timestamp"], 16)), time.time())
    return SignerState(number, now, code != "0x", int(block["number"], 16))


def check_place(contract: PrivacyLedgerContract, signed: SignedAsk) -> None:
    """Refuse a request for another chain or another ledger."""
    if signed.data.chain_id != contract.rpc.chain_id:
        raise SignatureRefused(
            f"The request was signed for chain {signed.data.chain_id}, and this is chain {contract.rpc.chain_id}."
            f"{_NOTHING}"
        )
    if signed.data.ledger != contract.address:
        raise SignatureRefused(
            f"The request was signed for the ledger {signed.data.ledger}, and this is {contract.address}.{_NOTHING}"
        )


def check_signer(signed: SignedAsk, signer: SignerState, *, before: int = 0, seconds: float = 0) -> None:
    """Refuse a request that is altered, late or out of order.

    ``before`` is how many requests of the analyst will come first, and ``seconds`` how much time is needed.
    """
    if not signed.is_signed_by_key and not signer.is_contract:
        raise SignatureRefused(f"The request was altered: the signature is not that of {signed.analyst}.{_NOTHING}")
    if signed.data.deadline < signer.now + seconds:
        raise SignatureRefused(f"The signed request has passed its deadline, or is about to: sign it again.{_NOTHING}")
    next_one = signer.nonce + before
    if signed.data.nonce < next_one:
        raise SignatureRefused(
            f"The signature was used already, or another one of {signed.analyst} in its place: it has nonce "
            f"{signed.data.nonce}, and the next is {next_one}. Sign it again, if the answer is still missing.{_NOTHING}"
        )
    if signed.data.nonce > next_one:
        raise SignatureRefused(
            f"Another signed request of {signed.analyst} must come first, the one with nonce {next_one}: this one has nonce "
            f"{signed.data.nonce}.{_NOTHING}"
        )


def simulate(contract: PrivacyLedgerContract, signed: SignedAsk, bringer: str, contact: str = "") -> int:
    """Return the gas that the purchase needs, if ``bringer`` sends it; raise the contract's error if it would refuse."""
    call: dict[str, Any] = {"from": bringer, "to": contract.address, "data": encode_signed(signed)}
    try:
        return int(contract.rpc.call("eth_estimateGas", call), 16)
    except RpcFailed as error:
        refused = typed(error)
    if isinstance(refused, AllowanceExceeded):
        who = signed.analyst, checksummed(contract.custodian()), contact
        raise AllowanceExceeded(refused.requested, refused.remaining, *who)
    raise refused


def check_signed(contract: PrivacyLedgerContract, signed: SignedAsk, bringer: str, contact: str = "") -> int:
    """Check everything that the contract will check, and return the gas that the purchase needs."""
    check_place(contract, signed)
    check_signer(signed, find_signer(contract, signed.analyst))
    return simulate(contract, signed, bringer, contact)


def find_brought(contract: PrivacyLedgerContract, signed: SignedAsk, first: int) -> Brought | None:
    """Return where a signed request is, whoever has brought it; None if no transaction from block ``first`` on contains it.

    A transaction counts if its data is the request to the last bit: nobody's word is taken for it.
    """
    (query, *_), expected = signed.requests[0], encode_signed(signed)
    asked = contract.events(["Asked"], query.hex(), first)
    ours = {event.transaction: event.block for event in asked if _is_by(signed.analyst, event.fields)}
    names = list(ours)
    replies = contract.rpc.batch([("eth_getTransactionByHash", [name]) for name in names])
    for name, reply in zip(names, replies, strict=True):
        if isinstance(reply, dict) and str(reply.get("input")).lower() == expected:
            return Brought(name, ours[name])
    return None


def _is_by(analyst: str, fields: dict[str, Any]) -> bool:
    return checksummed(fields["analyst"]) == analyst
