"""The key that pays, and related options, of commands that start their own chain unless ``--rpc`` names another one."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeAlias

import typer

from noiseledger.cli.connect import find_payer, open_key
from noiseledger.cli.options import BLOCKS, flag_of
from noiseledger.errors import InvalidInput
from noiseledger.settings import KEY, KEY_FILE, RPC

if TYPE_CHECKING:
    from noiseledger.chain import Key

OwnChainRpcOption: TypeAlias = Annotated[
    str | None,
    typer.Option(flag_of(RPC), help=f"{RPC.help} Default: start a development node.", metavar="URL"),
]
PayerOption: TypeAlias = Annotated[
    Path | None,
    typer.Option(
        flag_of(KEY_FILE),
        help=f"With --rpc: keystore file of the key that pays. Default: the key in {KEY.variable}.",
        metavar="KEYSTORE",
    ),
]
HeadOption: TypeAlias = Annotated[
    str,
    typer.Option(help=f"With --rpc: the block that the worker treats as final: {BLOCKS}."),
]


def open_payer(rpc: str | None, keystore: Path | None) -> Key | None:
    """Return the key that pays on the chain that ``--rpc`` names; a development node of our own needs none."""
    if rpc is None:
        if keystore is not None:
            raise InvalidInput("--key works only together with --rpc: give both, or neither.")
        return None
    return open_key(find_payer(keystore))
