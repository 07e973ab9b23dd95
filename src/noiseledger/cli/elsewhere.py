"""Options of commands that start their own chain unless --rpc names another one, where a key has to pay."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeAlias

import typer

from noiseledger.cli.connect import find_payer, open_key
from noiseledger.errors import InvalidInput
from noiseledger.settings import KEY, RPC

if TYPE_CHECKING:
    from noiseledger.chain import Key

RpcOption: TypeAlias = Annotated[
    str | None,
    typer.Option("--rpc", help=f"{RPC.help} Without it, a development node is started.", metavar="URL"),
]
PayerOption: TypeAlias = Annotated[
    Path | None,
    typer.Option(
        "--key",
        help=f"With --rpc: encrypted keystore file of the key that pays. Default: the key in {KEY.variable}.",
        metavar="KEYSTORE",
    ),
]
HeadOption: TypeAlias = Annotated[
    str,
    typer.Option(
        help="With --rpc: the worker answers purchases up to this block: finalized, safe, latest, or latest-3.",
        metavar="BLOCK",
    ),
]


def open_payer(rpc: str | None, keystore: Path | None) -> Key | None:
    """Return the key that pays on the chain at ``rpc``; our own development node needs none."""
    if rpc is None:
        if keystore is not None:
            raise InvalidInput("--key pays on another chain: pass its --rpc too, or omit both.")
        return None
    return open_key(find_payer(keystore))
