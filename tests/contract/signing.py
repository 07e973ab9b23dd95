"""What an analyst signs, by the rules of EIP-712, with the field's own library."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import boa
from eth_account import Account
from eth_account.signers.local import LocalAccount

from contract.reference import Request

KEYS: dict[str, LocalAccount] = {}
FOR_EVER = 2**256 - 1

_TYPES = {
    "Request": [
        {"name": "query", "type": "bytes32"},
        {"name": "edition", "type": "uint256"},
        {"name": "precision", "type": "uint256"},
        {"name": "epsilon", "type": "uint256"},
        {"name": "delta", "type": "uint256"},
    ],
    "Ask": [
        {"name": "requests", "type": "Request[]"},
        {"name": "limit", "type": "uint256"},
        {"name": "nonce", "type": "uint256"},
        {"name": "deadline", "type": "uint256"},
    ],
}


def with_key(secret: int) -> str:
    """The address of somebody who can sign."""
    account = Account.from_key(secret.to_bytes(32))
    KEYS[account.address] = account
    return str(account.address)


def domain(ledger: str, **changes: Any) -> dict[str, Any]:
    chain_id = boa.env.evm.patch.chain_id
    return {"name": "noiseledger", "version": "2", "chainId": chain_id, "verifyingContract": ledger, **changes}


def sign(
    who: str,
    where: dict[str, Any],
    requests: Sequence[Request],
    limit: int = FOR_EVER,
    nonce: int = 0,
    deadline: int = FOR_EVER,
) -> bytes:
    message = {"requests": [request._asdict() for request in requests], "limit": limit}
    message |= {"nonce": nonce, "deadline": deadline}
    return bytes(KEYS[who].sign_typed_data(where, _TYPES, message).signature)
