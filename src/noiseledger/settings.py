"""Every setting in one table: its flag, its environment variable, its key in the configuration file, its default, its help.

A value comes from the flag or argument, then the environment, then the configuration file, then the default. Only the
command line reads the file (``noiseledger.cli.config``); the library stops at the environment.

Why nothing leaks: a secret has no flag and no key in the file, so it is neither in the list of processes nor in a file of
ours.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Setting:
    """One setting, and where its value may come from."""

    name: str
    help: str
    #: The environment variable.
    variable: str
    #: The flag or argument of a command, if it has one.
    flag: str | None = None
    #: The key in the configuration file, if it may be there.
    file_key: str | None = None
    default: str = ""

    def find(self, given: str | None = None, configured: str | None = None) -> str:
        """Return the value: as given, from the environment, as configured, or the default, which may be empty."""
        return given or os.environ.get(self.variable) or configured or self.default

    def in_environment(self) -> str | None:
        """Return the value of the environment variable, which may be empty; None if it is not set."""
        return os.environ.get(self.variable)

    @property
    def is_in_environment(self) -> bool:
        """Whether the environment variable is set to something."""
        return bool(os.environ.get(self.variable))


LEDGER = Setting(
    "ledger",
    "The ledger file from the custodian, or the ledger's address on the chain.",
    variable="NOISELEDGER_LEDGER",
    flag="LEDGER",
    file_key="ledger",
)
RPC = Setting(
    "rpc",
    "The chain's endpoint, or several separated by commas.",
    variable="NOISELEDGER_RPC",
    flag="--rpc",
    file_key="rpc",
    default="http://127.0.0.1:8545",
)
KEY_FILE = Setting(
    "key file",
    "Encrypted keystore file of the key that signs and pays the chain's fees.",
    variable="NOISELEDGER_KEYFILE",
    flag="--key",
    file_key="key",
)
KEY = Setting("key", "The private key itself, 64 hexadecimal digits.", variable="NOISELEDGER_KEY")
PASSWORD = Setting("password", "The password of the keystore file.", variable="NOISELEDGER_PASSWORD")
DEBUG = Setting("debug", "Set to 1 to get the traceback of an unexpected error.", variable="NOISELEDGER_DEBUG")


def cache_folder() -> Path:
    """Return the folder for programs that are downloaded or built once; it need not exist."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "noiseledger"


#: Defaults of the library that options of commands repeat: how long to wait for the worker, how long a signed request counts,
#: and the maximum fee per gas.
ANSWER_SECONDS = 120.0
SIGNED_SECONDS = 86_400.0
MAX_FEE_GWEI = 200.0
#: How much gas the worker uses on one day: three full blocks of Ethereum, or more than a thousand reveals of one number.
GAS_PER_DAY = 100_000_000

SETTINGS = (LEDGER, RPC, KEY_FILE, KEY, PASSWORD, DEBUG)
#: The settings that no other process may learn.
SECRETS = (KEY, PASSWORD)
#: Their variables. No web process may have them: others can read the environment of a running process, even what was unset.
SECRET_VARIABLES = tuple(setting.variable for setting in SECRETS)
