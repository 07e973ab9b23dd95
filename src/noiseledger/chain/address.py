"""Addresses of accounts and contracts: their checksum, and how they are derived."""

from __future__ import annotations

import re

from noiseledger.chain import rlp
from noiseledger.chain.keccak import keccak
from noiseledger.errors import InvalidInput

#: An address is the last 20 bytes of a hash.
_BYTES = 20
_UPPER_CASE_FROM = 8


def checksummed(address: str) -> str:
    """Return an address with its checksum (EIP-55); refuse anything that is not an address.

    >>> checksummed("0x70997970c51812dc3a010c7d01b50e0d17dc79c8")
    '0x70997970C51812dc3A010C7d01b50e0d17dc79C8'
    """
    if not re.fullmatch(r"(0[xX])?[0-9a-fA-F]{40}", address):
        raise InvalidInput(f"{address!r} is not an address: expected 0x and 40 hexadecimal digits.")
    digits = address[-2 * _BYTES :].lower()
    checksum = keccak(digits.encode()).hex()
    return "0x" + "".join(
        digit.upper() if int(check, 16) >= _UPPER_CASE_FROM else digit
        for digit, check in zip(digits, checksum, strict=False)
    )


def address_of(public_key: bytes) -> str:
    """Return the address of a public key, which is given as 64 bytes."""
    return checksummed(keccak(public_key)[-_BYTES:].hex())


def create_address(sender: str, nonce: int) -> str:
    """Return the address of the contract that ``sender`` creates with the transaction that has this nonce."""
    return "0x" + keccak(rlp.encode([bytes.fromhex(sender.removeprefix("0x")), nonce]))[-_BYTES:].hex()
