"""The custodian's secret of 256 bits, in a file that only its owner can read."""

from __future__ import annotations

import os
import re
from pathlib import Path
from shlex import quote

from noiseledger.errors import InvalidInput

SECRET_BYTES = 32


def new_secret(file: str | os.PathLike[str]) -> bytes:
    """Draw a secret and write it to a file that only its owner can read; refuse to overwrite one."""
    secret = os.urandom(SECRET_BYTES)
    try:
        descriptor = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        raise InvalidInput(
            f"{file} already exists and is not overwritten: with another secret the commitment could not be opened."
        ) from None
    with os.fdopen(descriptor, "w", encoding="ascii") as stream:
        stream.write(secret.hex() + "\n")
        stream.flush()
        os.fsync(stream.fileno())
    return secret


def read_secret(file: str | os.PathLike[str]) -> bytes:
    """Read a secret; refuse a file that others can read too."""
    path = Path(file)
    try:
        mode, content = path.stat().st_mode, path.read_text(encoding="ascii", errors="replace")
    except OSError as error:
        raise InvalidInput(f"The secret in {file} cannot be read: {error.strerror}.") from None
    if mode & 0o077:
        raise InvalidInput(f"{file} can be read by other users. Run: chmod 600 {quote(str(file))}")
    if not re.fullmatch(f"[0-9a-f]{{{2 * SECRET_BYTES}}}", content.strip()):
        raise InvalidInput(f"{file} does not contain a secret: expected {2 * SECRET_BYTES} hexadecimal digits.")
    return bytes.fromhex(content)
