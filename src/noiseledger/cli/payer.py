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
        "--rpc", help="The endpoint of a chain, or several with commas; without it, a development node is started."
    ),
]
PayerOption: TypeAlias = Annotated[
    Path | None, typer.Option("--key", help="Keystore of the key that pays with --rpc; else NOISELEDGER_KEY.")
]
HeadOption: TypeAlias = Annotated[
    str, typer.Option(help="With --rpc: what the worker takes for final: finalized, safe, latest, latest-3.")
]


def open_payer(rpc: str | None, keystore: Path | None) -> Key | None:
    """Return the key that pays on the chain that ``--rpc`` names; a development node of our own needs none."""
    if rpc is None:
        if keystore is not None:
            raise InvalidInput("--key works only together with --rpc: give both, or neither.")
        return None
    return open_key(find_payer(keystore))
