"""Where the ledger is, how to reach its chain, and which key pays: from flags, the environment, one file, in that order.

Why nothing leaks: the file names a keystore, never a key; a private key in it is refused and not repeated.
"""

from __future__ import annotations

import os
import re
import tomllib
from pathlib import Path
from typing import Annotated, TypeAlias

import typer

from noiseledger.data.hints import did_you_mean
from noiseledger.errors import InvalidInput

LEDGER_VARIABLE = "NOISELEDGER_LEDGER"
RPC_VARIABLE = "NOISELEDGER_RPC"
KEY_VARIABLE = "NOISELEDGER_KEY"
KEYFILE_VARIABLE = "NOISELEDGER_KEYFILE"
DEFAULT_RPC = "http://127.0.0.1:8545"

#: What the file may say. Paths in it are seen from its folder.
KEYS = ("ledger", "rpc", "key")

LedgerArgument: TypeAlias = Annotated[
    str | None,
    typer.Argument(
        help="The custodian's ledger file, the ledger's address, or a local ledger file.",
        metavar="LEDGER",
        envvar=LEDGER_VARIABLE,
        show_default=False,
    ),
]
RpcOption: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--rpc", help=f"The chain's endpoint, or several with commas. Default: {DEFAULT_RPC}.", envvar=RPC_VARIABLE
    ),
]
KeyOption: TypeAlias = Annotated[
    Path | None,
    typer.Option(
        "--key", help=f"Encrypted keystore file of the key that pays; else {KEYFILE_VARIABLE} or {KEY_VARIABLE}."
    ),
]


def config_file() -> Path:
    """Return where the file would be."""
    home = os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config"
    return Path(home) / "noiseledger" / "config.toml"


def read_config() -> dict[str, str]:
    """Read the file, if there is one; refuse what it should not say."""
    file = config_file()
    try:
        content = tomllib.loads(file.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {}
    except OSError as error:
        raise InvalidInput(f"The settings {file} cannot be read: {error.strerror}.") from None
    except ValueError as error:
        # A line of it could hold a key, and the parser quotes none.
        raise InvalidInput(f"The settings {file} are not TOML: {error}.") from None
    for name, value in content.items():
        if name not in KEYS:
            hint = did_you_mean(name, KEYS) or f": it may have {', '.join(KEYS)}"
            raise InvalidInput(f"The settings {file} have an unknown key {name!r}{hint}.")
        if not isinstance(value, str) or not value:
            raise InvalidInput(f'The settings {file} need a text for {name}, as in {name} = "...".')
    _check_no_private_key(content.get("key"), f"The settings {file} hold a private key")
    return {name: value if name == "rpc" else _seen_from(file.parent, value) for name, value in content.items()}


def find_ledger(given: str | None) -> str:
    """Return the ledger that is meant, or say how to name one."""
    ledger = given or read_config().get("ledger")
    if not ledger:
        raise InvalidInput(
            f"Which ledger? Give the custodian's ledger file or an address, set {LEDGER_VARIABLE}, or write "
            f'ledger = "..." into {config_file()}.'
        )
    return ledger


def find_rpc(given: str | None) -> str:
    """Return the chain's endpoint, or several that are separated by commas."""
    return given or read_config().get("rpc") or DEFAULT_RPC


def find_keystore(given: Path | None) -> Path | None:
    """Return the keystore file to pay with; None if the key is in the environment, or if there is none."""
    if given is not None:
        _check_no_private_key(
            str(given), "--key was given a private key, which others can see in the list of processes"
        )
        return given
    file, private = os.environ.get(KEYFILE_VARIABLE), os.environ.get(KEY_VARIABLE)
    if file and private:
        raise InvalidInput(f"Both {KEYFILE_VARIABLE} and {KEY_VARIABLE} are set: unset the one that shall not pay.")
    _check_no_private_key(file, f"{KEYFILE_VARIABLE} holds a private key")
    if file or private:
        return Path(file) if file else None
    configured = read_config().get("key")
    return Path(configured) if configured else None


def has_key(keystore: Path | None) -> bool:
    """Say whether there is a key to pay with: in a keystore, or in the environment."""
    return keystore is not None or bool(os.environ.get(KEY_VARIABLE))


def is_address(text: str) -> bool:
    """Say whether it looks like an address on a chain."""
    return re.fullmatch(r"0x[0-9a-fA-F]{40}", text) is not None


def _check_no_private_key(text: str | None, where: str) -> None:
    if text and re.fullmatch(r"(0x)?[0-9a-fA-F]{64}", text.strip()):
        raise InvalidInput(f"{where}: name an encrypted keystore file there, or put the key into {KEY_VARIABLE}.")


def _seen_from(folder: Path, value: str) -> str:
    """Return an address as it is, and a path as seen from a folder."""
    return value if is_address(value) else str(folder / Path(value).expanduser())
