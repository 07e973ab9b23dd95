"""What commands that govern a ledger share: find the key, show the change, ask for confirmation, make it, show the result."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias

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

#: Of all commands that govern a ledger.
PrintTransactionOption: TypeAlias = Annotated[
    bool,
    typer.Option(
        "--print-transaction",
        help="Print the transaction instead of sending it, for a custodian that is a contract such as a multi-signature "
        "wallet. Needs no key.",
    ),
]
QueryOption: TypeAlias = Annotated[
    str | None, typer.Option("--query", help="Only this query: its name, or its identifier.", metavar="QUERY")
]


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
    print_transaction: bool,
    yes: bool,
    json: bool,
) -> None:
    """Show a change, ask for confirmation, make it, and show the result; or only print its transaction."""
    if print_transaction:
        _print_transaction(propose, ledger, rpc, json=json)
        return
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
        print_json(describe(change, done))
        return
    if done.transaction is None:
        console.print("Nothing was sent.")
        return
    console.print(f"Done, in block {done.block}: {done.transaction}", soft_wrap=True)
    for note in done.notes:
        console.print(f"Warning: {plain(note)}")


def _print_transaction(
    propose: Callable[[Custodian], Change], ledger: str | None, rpc: str | None, *, json: bool
) -> None:
    """Print the transaction of a change, for whoever signs it elsewhere; this needs no key and sends nothing."""
    with open_custodian(ledger, rpc) as custodian:
        change = propose(custodian)
        unsigned = {
            "chain_id": custodian.contract.rpc.chain_id,
            "from": change.signer,
            "to": custodian.contract.address,
            "value": "0",
            "data": change.data,
        }
    if json:
        print_json({**describe(change), "unsigned": unsigned if change.is_needed else None})
        return
    _show(change)
    if not change.is_needed:
        console.print("Nothing has to be sent.")
        return
    console.print(f"Nothing was sent. The transaction to sign by {change.role}:")
    for name, value in unsigned.items():
        console.print(f"  {name}: {value}", soft_wrap=True)


def describe(change: Change, done: Done | None = None) -> dict[str, Any]:
    """Describe a change as JSON; the transaction is null if nothing was sent."""
    return {
        "action": change.action,
        "says": list(change.says),
        "warnings": [*change.warnings, *(done.notes if done else ())],
        **change.facts,
        "transaction": done.transaction if done else None,
        "block": done.block if done else None,
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
