"""Connect to a chain: with a key, for commands that change a ledger; with or without one, for analysts."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from noiseledger.cli.config import find_keystore, find_ledger, find_rpc, has_key
from noiseledger.core.address import is_address
from noiseledger.errors import ChainMismatch, InvalidInput, RpcFailed
from noiseledger.settings import KEY, KEY_FILE, PASSWORD, RPC

if TYPE_CHECKING:
    from noiseledger.chain import Key, Sender
    from noiseledger.client import Client


@contextmanager
def connect(rpc: str | None, keystore: Path | None, chain_id: int | None = None) -> Iterator[Sender]:
    """Connect to a chain with a key, as a context manager; prompt for the keystore's password if necessary."""
    from noiseledger.chain import Rpc, Sender  # noqa: PLC0415 - takes a second

    key = open_key(keystore)
    with Rpc(RPC.find(rpc), chain_id) as endpoint:
        yield Sender(endpoint, key)


def open_key(keystore: Path | None) -> Key:
    """Return the key in a keystore file, or in the environment if there is none; prompt for the password if necessary."""
    from noiseledger.chain import load_key  # noqa: PLC0415 - takes a second

    if keystore is None and KEY.is_in_environment:
        try:
            return load_key()
        except InvalidInput:
            raise InvalidInput(f"{KEY.variable} is not a private key: expected 64 hexadecimal digits.") from None
    return load_key(keystore, _password(keystore))


def _password(keystore: Path | None) -> str | None:
    """Prompt for the password of a keystore file if it is not in the environment; no variable holds it."""
    if keystore is None or PASSWORD.in_environment() is not None or not sys.stdin.isatty():
        return None
    return str(typer.prompt(f"Password of {keystore}", hide_input=True, err=True))


@contextmanager
def open_client(ledger: str | None, rpc: str | None, key: Key | None = None, **options: Any) -> Iterator[Client]:
    """Connect to a ledger, as a context manager; without ``key`` it is only read. ``options`` are those of ``nl.connect``."""
    from noiseledger.client.connect import connect_with  # noqa: PLC0415 - takes a second

    place = find_ledger(ledger)
    with no_ledger_there(place):
        client = connect_with(place, find_rpc(rpc), key, **options)
    with client:
        yield client


@contextmanager
def no_ledger_there(place: str) -> Iterator[None]:
    """Say in one sentence that a contract is not a ledger, as a context manager."""
    from noiseledger.chain.abi import DecodingError  # noqa: PLC0415 - takes a second
    from noiseledger.chain.node_errors import is_revert  # noqa: PLC0415 - takes a second

    try:
        yield
    except (RpcFailed, DecodingError) as error:
        if isinstance(error, RpcFailed) and not is_revert(error):
            raise
        raise ChainMismatch(
            f"The contract at {place} is not a ledger that this version of noiseledger can read: check the address and the "
            "endpoint. If an earlier version published it, use that version."
        ) from None


def first_block(ledger: str | None) -> int:
    """Return the block where the record of a ledger on a chain begins, or 0 if only its address is known."""
    from noiseledger.ledger.file import LedgerFile  # noqa: PLC0415 - takes a second

    place = find_ledger(ledger)
    return 0 if is_address(place) else LedgerFile.read(Path(place)).block


def find_payer(given: Path | None) -> Path | None:
    """Return the keystore file to pay with, or None if the key is in the environment; refuse if there is no key."""
    keystore = find_keystore(given)
    if not has_key(keystore):
        raise InvalidInput(
            "This answer uses privacy, so the request must be signed, and there is no key to sign with: pass --key KEYSTORE, "
            f"or set {KEY_FILE.variable} or {KEY.variable}. Nothing was spent."
        )
    return keystore
