"""``noiseledger key new FILE``: make a key in an encrypted file."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from noiseledger.cli.options import JsonOption
from noiseledger.cli.output import console, print_json
from noiseledger.errors import InvalidInput
from noiseledger.settings import KEY_FILE, PASSWORD

key = typer.Typer(help="Make keys for a chain.", no_args_is_help=True)


@key.callback()
def _keys() -> None:
    """Make keys for a chain."""


@key.command()
def new(
    file: Annotated[Path, typer.Argument(help="The file to write; it must not exist.", metavar="FILE")],
    json: JsonOption = False,
) -> None:
    """Make a new key and write it to an encrypted file that only you can read. Prints its address, never the key."""
    from noiseledger.chain import Key  # noqa: PLC0415 - takes a second

    if file.exists():
        raise InvalidInput(f"{file} already exists and is not overwritten: choose another name.")
    made = Key.new()
    made.save(file, _password(file))
    if json:
        print_json({"address": made.address, "file": str(file)})
        return
    console.print(f"Made a key: {made.address}", soft_wrap=True)
    console.print(
        f"It is in {file}, encrypted. Back up this file and its password in separate places: nobody can restore them. "
        f"Give others the address only.",
        soft_wrap=True,
    )
    console.print(
        f"Send the address some of the chain's coins for fees. Use the key with --key {file}, or set {KEY_FILE.variable}.",
        soft_wrap=True,
    )


def _password(file: Path) -> str:
    """Return the password from the environment, or ask for it twice."""
    given = PASSWORD.in_environment()
    if given is None:
        if not sys.stdin.isatty():
            raise InvalidInput(
                f"The key needs a password, and there is no terminal to ask at: set {PASSWORD.variable}."
            )
        given = str(typer.prompt(f"New password for {file}", hide_input=True, confirmation_prompt=True, err=True))
    if not given:
        raise InvalidInput(f"The password is empty: a key file without one protects nothing. Set {PASSWORD.variable}.")
    return given
