"""Private keys: from an encrypted keystore file or an environment variable, never printed.

Why the promise holds: a key never appears in a message, a ``repr`` or a traceback of ours; only addresses do. An
error leaves this module without a variable that holds a key or a password, for tools that print the variables of a traceback:
secrets are used in functions that return, and an error is raised after them, with no other error as its context.
"""

from __future__ import annotations

import json
import os
import re
import secrets
from contextlib import suppress
from pathlib import Path
from typing import Any

from coincurve import PrivateKey

from noiseledger.chain import keystore as keystores
from noiseledger.chain.address import address_of
from noiseledger.chain.transaction import sign
from noiseledger.errors import InvalidInput
from noiseledger.settings import KEY, PASSWORD

_KEY_DIGITS = 64
_DIGITS = f"[0-9a-fA-F]{{{_KEY_DIGITS}}}"


class Key:
    """A key that signs and shows only its address."""

    def __init__(self, private: PrivateKey) -> None:
        """Store the private key in a private attribute."""
        self._private = private
        self._address = address_of(private.public_key.format(compressed=False)[1:])

    @classmethod
    def from_hex(cls, private: str) -> Key:
        """Read 64 hexadecimal digits."""
        found = _parsed(private)
        del private
        if found is None:
            raise InvalidInput(f"This is not a private key: expected {_KEY_DIGITS} hexadecimal digits.") from None
        return cls(found)

    @classmethod
    def new(cls) -> Key:
        """Draw a new key from the operating system's random numbers."""
        return cls(PrivateKey(secrets.token_bytes(_KEY_DIGITS // 2)))

    @property
    def address(self) -> str:
        """The account's address."""
        return self._address

    def sign(self, transaction: dict[str, Any]) -> tuple[str, str]:
        """Return the signed transaction as raw bytes in hexadecimal, and its hash."""
        raw, name = sign(self._private, transaction)
        return f"0x{raw.hex()}", f"0x{name.hex()}"

    def sign_digest(self, digest: bytes) -> bytes:
        """Sign the digest of typed data: r, s, and 27 or 28, as the contract expects them."""
        signature = self._private.sign_recoverable(digest, hasher=None)
        return signature[:-1] + bytes([27 + signature[-1]])

    def encrypt(self, password: str) -> dict[str, Any]:
        """Return the content of an encrypted keystore file."""
        with suppress(ValueError, MemoryError):
            return keystores.encrypt(self._private, self.address, password)
        del password
        raise InvalidInput(
            "The key cannot be encrypted: that takes half a GiB of memory, and a password of valid characters."
        ) from None

    def save(self, keystore: str | os.PathLike[str], password: str) -> None:
        """Write an encrypted keystore file that only its owner can read; refuse to overwrite."""
        content = json.dumps(self.encrypt(password))
        del password
        _write_new(keystore, content)

    def __repr__(self) -> str:
        """Show the address only."""
        return f"Key({self.address})"


def load_key(keystore: str | os.PathLike[str] | None = None, password: str | None = None) -> Key:
    """Return the key in an encrypted keystore file or, without one, the key in NOISELEDGER_KEY.

    The password of a keystore is taken from the argument or from NOISELEDGER_PASSWORD.
    """
    if keystore is None:
        if not KEY.is_in_environment:
            raise InvalidInput(f"No key: give an encrypted keystore file, or set {KEY.variable}.")
        return Key.from_hex(KEY.find())
    found = _opened(keystore, password)
    del keystore, password
    if isinstance(found, InvalidInput):
        raise found from None
    return found


def find_key(key: Key | str | os.PathLike[str] | None) -> Key | None:
    """Return a key as it is, or the one in a keystore file, or the one in NOISELEDGER_KEY; None if that is not set."""
    if isinstance(key, Key):
        return key
    return load_key(key) if key is not None or KEY.is_in_environment else None


def save_key(key: Key, keystore: str | os.PathLike[str], password: str) -> None:
    """Write an encrypted keystore file that only its owner can read; refuse to overwrite."""
    content = json.dumps(key.encrypt(password))
    del password
    _write_new(keystore, content)


def _write_new(keystore: str | os.PathLike[str], content: str) -> None:
    try:
        descriptor = os.open(keystore, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        raise InvalidInput(f"{keystore} already exists and is not overwritten: choose another name.") from None
    except OSError as error:
        raise InvalidInput(f"The keystore {keystore} cannot be written: {error.strerror}.") from None
    with os.fdopen(descriptor, "w", encoding="utf-8") as stream:
        stream.write(content)
        stream.flush()
        # Whoever has seen the address may send coins to it: the key must be on the disk by then.
        os.fsync(stream.fileno())


def _parsed(private: str) -> PrivateKey | None:
    """Read 64 hexadecimal digits; None if they are no key."""
    try:
        digits = private.strip().removeprefix("0x")
        return PrivateKey(bytes.fromhex(digits)) if re.fullmatch(_DIGITS, digits) else None
    except Exception:
        return None


def _opened(keystore: str | os.PathLike[str], password: str | None) -> Key | InvalidInput:
    """Return the key in a keystore file, or the error to raise: it quotes neither the file's content nor the password."""
    if re.fullmatch(f"(0x)?{_DIGITS}", str(keystore).strip()):
        return InvalidInput(f"This is a private key, not the name of a keystore file: put it into {KEY.variable}.")
    secret = password if password is not None else PASSWORD.in_environment()
    if secret is None:
        return InvalidInput(f"The keystore {keystore} needs a password: give it, or set {PASSWORD.variable}.")
    try:
        content = json.loads(Path(keystore).read_text(encoding="utf-8"))
        return Key(PrivateKey(keystores.decrypt(content, secret)))
    except OSError as error:
        return InvalidInput(f"The keystore {keystore} cannot be read: {error.strerror}.")
    except Exception:
        return InvalidInput(f"The keystore {keystore} cannot be opened: wrong password, or not a keystore.")
