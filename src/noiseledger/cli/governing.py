"""What the custodian's commands share: the key, what will happen, a yes, and what came of it."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias

import typer

from noiseledger.cli.connect import hidden_key, no_ledger_there, open_key
from noiseledger.cli.exits import DECLINED, Interrupted
from noiseledger.cli.output import console, notes, plain, print_json
from noiseledger.cli.settings import KEY_VARIABLE, KEYFILE_VARIABLE, find_keystore, find_ledger, find_rpc, has_key
from noiseledger.errors import InvalidInput

if TYPE_CHECKING:
    from noiseledger.chain import Key
    from noiseledger.custodian import Custodian
    from noiseledger.custodian.governance import Done
    from noiseledger.ledger.governance import Change

CustodianKeyOption: TypeAlias = Annotated[
    Path | None,
    typer.Option(
        "--key", help=f"Encrypted keystore file of the custodian's key; else {KEYFILE_VARIABLE} or {KEY_VARIABLE}."
    ),
]
YesOption: TypeAlias = Annotated[bool, typer.Option("--yes", help="Do it without asking.")]


@contextmanager
def open_custodian(ledger: str | None, rpc: str | None, key: Key | None = None) -> Iterator[Custodian]:
    """Connect to the ledger that is meant, as a context manager; without a key it can only be read."""
    from noiseledger.custodian import connect_custodian  # noqa: PLC0415 - takes a second

    place = find_ledger(ledger)
    with no_ledger_there(place), hidden_key():
        custodian = connect_custodian(place, rpc=find_rpc(rpc), key=key)
    with custodian:
        yield custodian


def govern(
    propose: Callable[[Custodian], Change],
    ledger: str | None,
    rpc: str | None,
    keystore: Path | None,
    *,
    yes: bool,
    json: bool,
) -> None:
    """Say what will happen, ask, do it, and say what came of it."""
    with open_custodian(ledger, rpc, open_key(_find_keystore(keystore))) as custodian:
        change = propose(custodian)
        # Whoever may not do it is told so before being asked.
        custodian.check_signer(change)
        if not json:
            _show(change)
        if change.is_needed:
            _agree(change, yes=yes)
        try:
            done = custodian.carry_out(change)
        except KeyboardInterrupt:
            raise Interrupted(
                "Interrupted: the transaction may have been sent, and may still be carried out. Do "
                f"{change.action} again, without --yes, to see how things are."
            ) from None
    if json:
        print_json(describe(done))
        return
    if done.transaction is None:
        console.print("Nothing was sent.")
        return
    console.print(f"Done, in block {done.block}: {done.transaction}", soft_wrap=True)
    for note in done.notes:
        console.print(f"Beware: {plain(note)}")


def describe(done: Done) -> dict[str, Any]:
    """Describe a change that was made; without a transaction if there was nothing to do."""
    change = done.change
    return {
        "action": change.action,
        "says": list(change.says),
        "warnings": [*change.warnings, *done.notes],
        **change.facts,
        "transaction": done.transaction,
        "block": done.block,
    }


def _find_keystore(given: Path | None) -> Path | None:
    keystore = find_keystore(given)
    if not has_key(keystore):
        raise InvalidInput(
            f"This must be signed, and there is no key: give --key KEYSTORE, or set {KEYFILE_VARIABLE} or {KEY_VARIABLE}. "
            "Nothing was changed."
        )
    return keystore


def _show(change: Change) -> None:
    for sentence in change.says:
        console.print(plain(sentence))
    for warning in change.warnings:
        console.print(f"Beware: {plain(warning)}")


def _agree(change: Change, *, yes: bool) -> None:
    """Ask whether to go on; where nobody can be asked, refuse."""
    if yes:
        return
    if not sys.stdin.isatty():
        raise InvalidInput(f"There is no terminal to confirm {change.action} at: pass --yes. Nothing was changed.")
    if not typer.confirm("Go on?", err=True):
        notes.print("Nothing was changed.")
        raise typer.Exit(DECLINED)
