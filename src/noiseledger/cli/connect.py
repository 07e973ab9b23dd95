"""The options of every command that talks to a chain: where it is, and which key signs."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeAlias

import typer

if TYPE_CHECKING:
    from noiseledger.chain import Sender

RpcOption: TypeAlias = Annotated[str, typer.Option("--rpc", help="The chain's endpoint.", envvar="NOISELEDGER_RPC")]
KeyOption: TypeAlias = Annotated[
    Path | None, typer.Option("--key", help="Encrypted keystore file; without it, NOISELEDGER_KEY is used.")
]


@contextmanager
def connect(url: str, keystore: Path | None) -> Iterator[Sender]:
    """Connect to a chain with a key, for the length of a block; ask for the keystore's password if need be."""
    from noiseledger.chain import Rpc, Sender, load_key  # noqa: PLC0415 - takes a second

    password = None
    if keystore is not None and "NOISELEDGER_PASSWORD" not in os.environ and sys.stdin.isatty():
        password = typer.prompt(f"Password of {keystore}", hide_input=True)
    key = load_key(keystore, password)
    with Rpc(url) as rpc:
        yield Sender(rpc, key)
