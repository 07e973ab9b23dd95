"""What commands that govern a ledger share: find the key, show the change, ask for confirmation, make it, show the result."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from noiseledger.cli.config import find_keystore, find_ledger, find_rpc, has_key
from noiseledger.cli.connect import no_ledger_there, open_key
from noiseledger.cli.exits import DECLINED, Interrupted
from noiseledger.cli.output import console, notes, plain, print_json
from noiseledger.errors import InvalidInput
from noiseledger.settings import KEY, KEY_FILE

if TYPE_CHECKING:
    from noiseledger.chain import Key
    from noiseledger.custodian import Custodian
    from noiseledger.custodian.governance import Done
    from noiseledger.ledger.governance import Change


@contextmanager
def open_custodian(ledger: str | None, rpc: str | None, key: Key | None = None) -> Iterator[Custodian]:
    """Connect to a ledger, as a context manager; without a key it can only be read."""
    from noiseledger.custodian.governance import connect_custodian_with  # noqa: PLC0415 - takes a second

    place = find_ledger(ledger)
    with no_ledger_there(place):
        custodian = connect_custodian_with(place, find_rpc(rpc), key)
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
    """Show a change, ask for confirmation, make it, and show the result."""
    with open_custodian(ledger, rpc, open_key(_find_keystore(keystore))) as custodian:
        change = propose(custodian)
        # A key that may not make the change is refused before anybody is asked.
        custodian.check_signer(change)
        if not json:
            _show(change)
        if change.is_needed:
            _agree(change, yes=yes)
        try:
            done = custodian.carry_out(change)
        except KeyboardInterrupt:
            raise Interrupted(
                "Interrupted: the transaction may have been sent and may still be mined. Run "
                f"{change.action} again without --yes to see the current state."
            ) from None
    if json:
        print_json(describe(done))
        return
    if done.transaction is None:
        console.print("Nothing was sent.")
        return
    console.print(f"Done, in block {done.block}: {done.transaction}", soft_wrap=True)
    for note in done.notes:
        console.print(f"Warning: {plain(note)}")


def describe(done: Done) -> dict[str, Any]:
    """Describe a change as JSON; the transaction is null if there was nothing to do."""
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
            f"This must be signed, and there is no key: pass --key KEYSTORE, or set {KEY_FILE.variable} or {KEY.variable}. "
            "Nothing was changed."
        )
    return keystore


def _show(change: Change) -> None:
    for sentence in change.says:
        console.print(plain(sentence))
    for warning in change.warnings:
        console.print(f"Warning: {plain(warning)}")


def _agree(change: Change, *, yes: bool) -> None:
    """Ask for confirmation; without a terminal, refuse."""
    if yes:
        return
    if not sys.stdin.isatty():
        raise InvalidInput(f"There is no terminal to confirm {change.action} at: pass --yes. Nothing was changed.")
    if not typer.confirm("Continue?", err=True):
        notes.print("Nothing was changed.")
        raise typer.Exit(DECLINED)
