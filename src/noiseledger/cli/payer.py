"""The key that pays, and related options, of commands that start their own chain unless ``--rpc`` names another one."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeAlias

import typer

from noiseledger.cli.connect import find_payer, open_key
from noiseledger.errors import InvalidInput

if TYPE_CHECKING:
    from noiseledger.chain import Key

RpcOption: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--rpc", help="URL of the chain's endpoint, or several separated by commas. Default: start a development node."
    ),
]
PayerOption: TypeAlias = Annotated[
    Path | None, typer.Option("--key", help="With --rpc: keystore of the key that pays. Default: NOISELEDGER_KEY.")
]
HeadOption: TypeAlias = Annotated[
    str,
    typer.Option(help="With --rpc: the block that the worker treats as final: finalized, safe, latest, or latest-3."),
]


def open_payer(rpc: str | None, keystore: Path | None) -> Key | None:
    """Return the key that pays on the chain that ``--rpc`` names; a development node of our own needs none."""
    if rpc is None:
        if keystore is not None:
            raise InvalidInput("--key works only together with --rpc: give both, or neither.")
        return None
    return open_key(find_payer(keystore))
