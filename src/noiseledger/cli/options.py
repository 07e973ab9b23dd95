"""Options and arguments that several commands share. Their names, variables and help come from the table of settings."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, TypeAlias

import typer

from noiseledger.settings import KEY, KEY_FILE, LEDGER, RPC, Setting

#: How options name a block.
BLOCKS = "finalized, safe, latest, or a number of blocks behind the newest, such as latest-3"


def flag_of(setting: Setting) -> str:
    """Return the flag of a setting that has one."""
    assert setting.flag is not None, setting.name  # noqa: S101 - the table of settings is ours
    return setting.flag


def _ledger(text: str) -> typer.models.ArgumentInfo:
    argument: typer.models.ArgumentInfo = typer.Argument(
        help=text, metavar=LEDGER.flag, envvar=LEDGER.variable, show_default=False
    )
    return argument


#: For commands that also work on a ledger without a chain.
LedgerArgument: TypeAlias = Annotated[
    str | None,
    _ledger("The ledger file from the custodian, the ledger's address on the chain, or the file of a local ledger."),
]
#: For commands that need a ledger on a chain.
ChainLedgerArgument: TypeAlias = Annotated[str | None, _ledger(LEDGER.help)]
CatalogueArgument: TypeAlias = Annotated[Path, typer.Argument(help="The catalogue, a TOML file.", metavar="CATALOGUE")]

RpcOption: TypeAlias = Annotated[
    str | None,
    typer.Option(flag_of(RPC), help=f"{RPC.help} Default: {RPC.default}.", envvar=RPC.variable, metavar="URL"),
]
_KEY_DEFAULT = f"Default: the file in {KEY_FILE.variable}, the key in {KEY.variable}, or the configuration file."
#: Of the key that pays for an answer.
KeyOption: TypeAlias = Annotated[
    Path | None, typer.Option(flag_of(KEY_FILE), help=f"{KEY_FILE.help} {_KEY_DEFAULT}", metavar="KEYSTORE")
]
#: Of the key that governs a ledger.
CustodianKeyOption: TypeAlias = Annotated[
    Path | None,
    typer.Option(
        flag_of(KEY_FILE), help=f"Encrypted keystore file of the custodian's key. {_KEY_DEFAULT}", metavar="KEYSTORE"
    ),
]
#: Of commands that run beside the data: they read neither the configuration file nor the variable for a keystore.
CustodyKeyOption: TypeAlias = Annotated[
    Path | None,
    typer.Option(flag_of(KEY_FILE), help=f"{KEY_FILE.help} Default: the key in {KEY.variable}.", metavar="KEYSTORE"),
]
#: The same, where only the custodian's key does what is to be done.
CustodianKeyHereOption: TypeAlias = Annotated[
    Path | None,
    typer.Option(
        flag_of(KEY_FILE),
        help=f"Encrypted keystore file of the custodian's key. Default: the key in {KEY.variable}.",
        metavar="KEYSTORE",
    ),
]
SecondPromiseOption: TypeAlias = Annotated[
    bool,
    typer.Option(
        "--second-promise",
        help="Promise something about the same data a second time, in another ledger. The promises add up.",
    ),
]
YesOption: TypeAlias = Annotated[bool, typer.Option("--yes", help="Do not ask for confirmation.")]
JsonOption: TypeAlias = Annotated[bool, typer.Option("--json", help="Print JSON, for programs.")]
