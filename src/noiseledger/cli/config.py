"""The configuration file, and the values of settings for commands: from flags, the environment, the file, in that order.

Why nothing leaks: the file names a keystore, never a key; a private key in it is refused and not repeated.
"""

from __future__ import annotations

import os
import re
import tomllib
from pathlib import Path

from noiseledger.core.address import is_address
from noiseledger.data.hints import did_you_mean
from noiseledger.errors import InvalidInput
from noiseledger.settings import KEY, KEY_FILE, LEDGER, RPC, SETTINGS

#: The keys that the file may have. Relative paths in it start at its folder.
FILE_KEYS = tuple(setting.file_key for setting in SETTINGS if setting.file_key)


def config_file() -> Path:
    """Return the path of the configuration file, whether it exists or not."""
    home = os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config"
    return Path(home) / "noiseledger" / "config.toml"


def read_config() -> dict[str, str]:
    """Read the configuration file, if there is one; refuse unknown keys and private keys."""
    file = config_file()
    try:
        content = tomllib.loads(file.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {}
    except OSError as error:
        raise InvalidInput(f"The configuration file {file} cannot be read: {error.strerror}.") from None
    except ValueError as error:
        # A line of the file could hold a key; the parser's message quotes no line.
        raise InvalidInput(f"The configuration file {file} is not valid TOML: {error}.") from None
    for name, value in content.items():
        if name not in FILE_KEYS:
            hint = did_you_mean(name, FILE_KEYS) or f": expected {', '.join(FILE_KEYS)}"
            raise InvalidInput(f"The configuration file {file} has an unknown key {name!r}{hint}.")
        if not isinstance(value, str) or not value:
            raise InvalidInput(f'The configuration file {file} needs text for {name}, as in {name} = "...".')
    _check_no_private_key(content.get("key"), f"The configuration file {file} contains a private key")
    return {
        name: value if name == RPC.file_key else _from_folder(file.parent, value) for name, value in content.items()
    }


def find_ledger(given: str | None) -> str:
    """Return the ledger file or address; if none is set, say how to set one."""
    ledger = given or LEDGER.find(configured=read_config().get("ledger"))
    if not ledger:
        raise InvalidInput(
            f"No ledger was given: pass the custodian's ledger file or an address, set {LEDGER.variable}, or write "
            f'ledger = "..." into {config_file()}.'
        )
    return ledger


def find_rpc(given: str | None) -> str:
    """Return the chain's endpoint, or several separated by commas."""
    return given or RPC.find(configured=read_config().get("rpc"))


def find_keystore(given: Path | None) -> Path | None:
    """Return the keystore file of the key that pays; None if the key is in the environment, or if there is no key."""
    if given is not None:
        _check_no_private_key(
            str(given), "--key was given a private key, which other users can see in the list of processes"
        )
        return given
    file = KEY_FILE.find()
    if file and KEY.is_in_environment:
        raise InvalidInput(f"Both {KEY_FILE.variable} and {KEY.variable} are set: unset the one that must not pay.")
    _check_no_private_key(file, f"{KEY_FILE.variable} contains a private key")
    if not file and not KEY.is_in_environment:
        file = read_config().get("key", "")
    return Path(file) if file else None


def has_key(keystore: Path | None) -> bool:
    """Return whether there is a key: in a keystore, or in the environment."""
    return keystore is not None or KEY.is_in_environment


def _check_no_private_key(text: str | None, where: str) -> None:
    if text and re.fullmatch(r"(0x)?[0-9a-fA-F]{64}", text.strip()):
        raise InvalidInput(f"{where}: name an encrypted keystore file there, or put the key into {KEY.variable}.")


def _from_folder(folder: Path, value: str) -> str:
    """Return an address unchanged, and a path relative to a folder."""
    return value if is_address(value) else str(folder / Path(value).expanduser())
