"""Signed transactions of the only type that we send: with a maximum fee and a tip (EIP-1559)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from coincurve import PrivateKey

from noiseledger.chain import rlp
from noiseledger.chain.address import checksummed
from noiseledger.chain.keccak import keccak

#: The number of this transaction type, which is the first byte.
_KIND = 2
#: The fields in the order in which they are signed; an access list and the signature follow.
_NUMBERS = ("chainId", "nonce", "maxPriorityFeePerGas", "maxFeePerGas", "gas")
_FIELDS = frozenset({"type", *_NUMBERS, "to", "value", "data"})
_SIGNATURE_HALF = 32


def sign(key: PrivateKey, transaction: Mapping[str, Any]) -> tuple[bytes, bytes]:
    """Return the bytes of a signed transaction, and its hash; without ``to`` it creates a contract."""
    if transaction.get("type") != _KIND or not transaction.keys() <= _FIELDS:
        raise ValueError(f"Only transactions of type {_KIND} are signed, with the fields {', '.join(sorted(_FIELDS))}.")
    fields: list[rlp.Item] = [_number(transaction[name]) for name in _NUMBERS]
    fields += [_receiver(transaction.get("to")), _number(transaction["value"]), _bytes(transaction["data"]), []]
    # 65 bytes: r, s, and the recovery bit, which selects one of two points.
    signature = key.sign_recoverable(keccak(_encoded(fields)), hasher=None)
    r, s = signature[:_SIGNATURE_HALF], signature[_SIGNATURE_HALF:-1]
    raw = _encoded([*fields, signature[-1], int.from_bytes(r), int.from_bytes(s)])
    return raw, keccak(raw)


def _encoded(fields: list[rlp.Item]) -> bytes:
    return bytes([_KIND]) + rlp.encode(fields)


def _number(value: Any) -> int:
    if not isinstance(value, int) or value < 0:
        raise TypeError("A number in a transaction must be a whole number and not negative.")
    return int(value)


def _receiver(address: str | None) -> bytes:
    if address is None:
        return b""
    # Without the checksum, one wrong digit would send to another address.
    if address != checksummed(address):
        raise ValueError("The receiver of a transaction must be an address with its checksum.")
    return _bytes(address)


def _bytes(text: str) -> bytes:
    if not text.startswith("0x"):
        raise ValueError("Bytes must be given in hexadecimal, after 0x.")
    return bytes.fromhex(text[2:])
