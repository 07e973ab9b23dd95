"""Private keys: from an encrypted keystore file or an environment variable, never printed.

Why the promise holds: a key never appears in a message, a ``repr`` or a traceback of ours; only addresses do.
"""

from __future__ import annotations

import json
import os
import re
import secrets
from pathlib import Path
from typing import Any

from coincurve import PrivateKey

from noiseledger.chain import keystore as keystores
from noiseledger.chain.address import address_of
from noiseledger.chain.transaction import sign
from noiseledger.errors import InvalidInput
from noiseledger.settings import KEY, PASSWORD

_KEY_DIGITS = 64


class Key:
    """A key that signs and shows only its address."""

    def __init__(self, private: PrivateKey) -> None:
        """Store the private key in a private attribute."""
        self._private = private
        self._address = address_of(private.public_key.format(compressed=False)[1:])

    @classmethod
    def from_hex(cls, private: str) -> Key:
        """Read 64 hexadecimal digits."""
        digits = private.strip().removeprefix("0x")
        try:
            if re.fullmatch(f"[0-9a-fA-F]{{{_KEY_DIGITS}}}", digits):
                return cls(PrivateKey(bytes.fromhex(digits)))
        except Exception:  # noqa: S110 - the cause is dropped, because its message could contain the key
            pass
        raise InvalidInput(f"This is not a private key: expected {_KEY_DIGITS} hexadecimal digits.") from None

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

    def encrypt(self, password: str) -> dict[str, Any]:
        """Return the content of an encrypted keystore file."""
        return keystores.encrypt(self._private.secret, self.address, password)

    def save(self, keystore: str | os.PathLike[str], password: str) -> None:
        """Write an encrypted keystore file that only its owner can read; refuse to overwrite."""
        save_key(self, keystore, password)

    def __repr__(self) -> str:
        """Show the address only."""
        return f"Key({self.address})"


def load_key(keystore: str | os.PathLike[str] | None = None, password: str | None = None) -> Key:
    """Return the key in an encrypted keystore file or, without one, the key in NOISELEDGER_KEY.

    The password of a keystore is taken from the argument or from NOISELEDGER_PASSWORD.
    """
    if keystore is None:
        private = KEY.find()
        if not private:
            raise InvalidInput(f"No key: give an encrypted keystore file, or set {KEY.variable}.")
        return Key.from_hex(private)
    secret = password if password is not None else os.environ.get(PASSWORD.variable)
    if secret is None:
        raise InvalidInput(f"The keystore {keystore} needs a password: give it, or set {PASSWORD.variable}.")
    try:
        content = json.loads(Path(keystore).read_text(encoding="utf-8"))
        return Key(PrivateKey(keystores.decrypt(content, secret)))
    except OSError as error:
        raise InvalidInput(f"The keystore {keystore} cannot be read: {error.strerror}.") from None
    except Exception:
        # The cause is dropped, so that neither file nor password is quoted.
        raise InvalidInput(f"The keystore {keystore} cannot be opened: wrong password, or not a keystore.") from None


def find_key(key: Key | str | os.PathLike[str] | None) -> Key | None:
    """Return a key as it is, or the one in a keystore file, or the one in NOISELEDGER_KEY; None if that is not set."""
    if isinstance(key, Key):
        return key
    return load_key(key) if key is not None or KEY.is_in_environment else None


def save_key(key: Key, keystore: str | os.PathLike[str], password: str) -> None:
    """Write an encrypted keystore file that only its owner can read; refuse to overwrite."""
    content = json.dumps(key.encrypt(password))
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
