"""Encrypted key files, in the format that Ethereum programs share (Web3 Secret Storage, version 3).

A key is derived from the password with scrypt or PBKDF2, which are slow on purpose; it encrypts the private key and
authenticates the result, so a wrong password is detected.
"""

from __future__ import annotations

import hmac
import secrets
from collections.abc import Mapping
from hashlib import pbkdf2_hmac, scrypt
from typing import Any
from uuid import uuid4

from coincurve import PrivateKey
from Crypto.Cipher import AES

from noiseledger.chain.address import address_of
from noiseledger.chain.keccak import keccak

_VERSION = 3
_CIPHER, _PRF = "aes-128-ctr", "hmac-sha256"
#: The parameters of go-ethereum: a quarter of a GiB of memory, and about a second.
_SCRYPT = {"dklen": 32, "n": 2**18, "r": 8, "p": 1}
#: More than any program uses by default.
_MOST_MEMORY = 2**30
#: Eight times the work of usual key files: more is a mistake, or an attempt to keep us busy.
_MOST_SCRYPT, _MOST_PASSES, _MOST_ROUNDS = 2**24, 2**6, 2**21
_KEY_BYTES = 32
_IV_BYTES, _SALT_BYTES = 16, 32


class NotOpened(ValueError):
    """The password is wrong, or this is not a supported key file."""


def encrypt(private: PrivateKey, address: str, password: str) -> dict[str, Any]:
    """Return the content of a key file."""
    salt, iv = secrets.token_bytes(_SALT_BYTES), secrets.token_bytes(_IV_BYTES)
    parameters = {**_SCRYPT, "salt": salt.hex()}
    derived = _derive("scrypt", parameters, password)
    encrypted = _cipher(derived, iv).encrypt(private.secret)
    crypto = {
        "cipher": _CIPHER,
        "cipherparams": {"iv": iv.hex()},
        "ciphertext": encrypted.hex(),
        "kdf": "scrypt",
        "kdfparams": parameters,
        "mac": _mac(derived, encrypted).hex(),
    }
    return {"version": _VERSION, "id": str(uuid4()), "address": address.removeprefix("0x").lower(), "crypto": crypto}


def decrypt(content: Mapping[str, Any], password: str) -> bytes:
    """Return the private key in a key file; refuse a wrong password, and anything that is not a key file."""
    # Some programs write names with capital letters.
    file = {name.lower(): value for name, value in content.items()}
    crypto = file["crypto"]
    if file["version"] != _VERSION or crypto["cipher"] != _CIPHER:
        raise NotOpened("not a key file of version 3")
    derived = _derive(crypto["kdf"], crypto["kdfparams"], password)
    encrypted = bytes.fromhex(crypto["ciphertext"])
    if not hmac.compare_digest(_mac(derived, encrypted), bytes.fromhex(crypto["mac"])):
        raise NotOpened("wrong password")
    private: bytes = _cipher(derived, bytes.fromhex(crypto["cipherparams"]["iv"])).decrypt(encrypted)
    # The checksum does not cover the initialisation vector; the address does.
    if "address" in file and _address(private) != str(file["address"]).lower().removeprefix("0x"):
        raise NotOpened("the key does not belong to the address in the file")
    return private


def _address(private: bytes) -> str:
    return address_of(PrivateKey(private).public_key.format(compressed=False)[1:]).lower().removeprefix("0x")


def _derive(method: str, parameters: Mapping[str, Any], password: str) -> bytes:
    secret, salt, size = password.encode(), bytes.fromhex(parameters["salt"]), parameters["dklen"]
    # With a shorter key, the checksum would not depend on the password.
    if size != _KEY_BYTES:
        raise NotOpened("an unusual length of the derived key")
    if method == "scrypt":
        n, r, p = (parameters[name] for name in ("n", "r", "p"))
        if n * r * p > _MOST_SCRYPT or p > _MOST_PASSES:
            raise NotOpened("too much work to derive the key")
        return scrypt(secret, salt=salt, n=n, r=r, p=p, maxmem=_MOST_MEMORY, dklen=size)
    if method == "pbkdf2" and parameters["prf"] == _PRF and parameters["c"] <= _MOST_ROUNDS:
        return pbkdf2_hmac("sha256", secret, salt, parameters["c"], size)
    raise NotOpened("unsupported key derivation")


def _cipher(derived: bytes, iv: bytes) -> Any:
    return AES.new(derived[:16], AES.MODE_CTR, nonce=b"", initial_value=int.from_bytes(iv))


def _mac(derived: bytes, encrypted: bytes) -> bytes:
    return keccak(derived[16:32] + encrypted)
