"""Reach a chain: with a key, for those who change a ledger; as an analyst, for those who ask."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias

import typer

from noiseledger.cli.settings import KEY_VARIABLE, find_keystore, find_ledger, find_rpc, has_key, is_address
from noiseledger.errors import ChainMismatch, InvalidInput, RpcFailed

if TYPE_CHECKING:
    from noiseledger.chain import Key, Sender
    from noiseledger.client import Client

RpcOption: TypeAlias = Annotated[
    str, typer.Option("--rpc", help="The chain's endpoint, or several with commas.", envvar="NOISELEDGER_RPC")
]
KeyOption: TypeAlias = Annotated[
    Path | None, typer.Option("--key", help="Encrypted keystore file; without it, NOISELEDGER_KEY is used.")
]


@contextmanager
def connect(url: str, keystore: Path | None) -> Iterator[Sender]:
    """Connect to a chain with a key, for the length of a block; ask for the keystore's password if need be."""
    from noiseledger.chain import Rpc, Sender  # noqa: PLC0415 - takes a second

    key = open_key(keystore)
    with Rpc(url) as rpc:
        yield Sender(rpc, key)


def open_key(keystore: Path | None) -> Key:
    """Return the key in a keystore, or, without one, that in the environment; ask for the password if need be."""
    from noiseledger.chain import load_key  # noqa: PLC0415 - takes a second

    if keystore is None and os.environ.get(KEY_VARIABLE):
        try:
            return load_key()
        except InvalidInput:
            raise InvalidInput(f"{KEY_VARIABLE} is not a private key: expected 64 hexadecimal digits.") from None
    password = None
    if keystore is not None and "NOISELEDGER_PASSWORD" not in os.environ and sys.stdin.isatty():
        password = typer.prompt(f"Password of {keystore}", hide_input=True, err=True)
    return load_key(keystore, password)


@contextmanager
def open_client(ledger: str | None, rpc: str | None, key: Key | None = None, **options: Any) -> Iterator[Client]:
    """Connect to the ledger that is meant, for the length of a block; ``options`` are those of ``nl.connect``."""
    from noiseledger.client import connect as connect_client  # noqa: PLC0415 - takes a second

    place = find_ledger(ledger)
    with no_ledger_there(place), hidden_key():
        client = connect_client(place, rpc=find_rpc(rpc), key=key, **options)
    with client:
        yield client


@contextmanager
def no_ledger_there(place: str) -> Iterator[None]:
    """Say in one sentence that what was found at a place is no ledger."""
    from noiseledger.chain.abi import DecodingError  # noqa: PLC0415 - takes a second

    try:
        yield
    except (RpcFailed, DecodingError) as error:
        if isinstance(error, RpcFailed) and "revert" not in error.reason:
            raise
        raise ChainMismatch(
            f"What {place} names is a contract, but not a ledger: check address and endpoint."
        ) from None


@contextmanager
def hidden_key() -> Iterator[None]:
    """Hide the key in the environment: whoever pays has opened it before, and who reads must not stumble over it."""
    private = os.environ.pop(KEY_VARIABLE, None)
    try:
        yield
    finally:
        if private is not None:
            os.environ[KEY_VARIABLE] = private


def first_block(ledger: str | None) -> int:
    """Return the block where the record of a ledger on a chain begins, as far as its file says."""
    from noiseledger.ledger.file import LedgerFile  # noqa: PLC0415 - takes a second

    place = find_ledger(ledger)
    return 0 if is_address(place) else LedgerFile.read(Path(place)).block


def find_payer(given: Path | None) -> Path | None:
    """Return the keystore to pay with, or None if the key is in the environment; refuse if there is no key at all."""
    keystore = find_keystore(given)
    if not has_key(keystore):
        raise InvalidInput(
            "This must be paid for, and there is no key to pay with: give --key KEYSTORE, or set NOISELEDGER_KEYFILE or "
            f"{KEY_VARIABLE}. Nothing was spent."
        )
    return keystore
