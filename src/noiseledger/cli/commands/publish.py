"""``noiseledger publish CATALOGUE``: create a ledger with a catalogue's budget and queries on a chain."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from noiseledger.cli.connect import connect
from noiseledger.cli.options import CatalogueArgument, CustodyKeyOption, JsonOption, RpcOption
from noiseledger.cli.output import console, print_json
from noiseledger.core.access import OPEN_RISK, Access
from noiseledger.data.catalogue import Catalogue, read_catalogue
from noiseledger.data.doubts import delta_doubt, is_empty_promise
from noiseledger.errors import InvalidInput
from noiseledger.extras import require


def publish(
    catalogue: CatalogueArgument,
    rpc: RpcOption = None,
    key: CustodyKeyOption = None,
    worker: Annotated[
        str | None, typer.Option(help="Address of the key that may reveal answers. Default: the key that publishes.")
    ] = None,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask for confirmation.")] = False,
    json: JsonOption = False,
) -> None:
    """Publish a ledger. Run it again to register queries that were added to the catalogue."""
    from noiseledger.custodian.custody import Custody  # noqa: PLC0415 - takes a second
    from noiseledger.custodian.publish import publish as publish_ledger  # noqa: PLC0415 - likewise
    from noiseledger.ledger.governance import read_address  # noqa: PLC0415 - likewise

    require("custodian", "To publish a ledger,")
    read = read_catalogue(catalogue)
    if worker is not None:
        read_address(worker, "worker")  # before the confirmation
    custody = Custody.of(read)
    data = custody.pin(read)
    with connect(rpc, key) as sender:
        if custody.read_ledger_file() is None and not yes:
            _check_delta(read, data.rows, json=json)
            _agree(read, data.rows, sender.rpc.chain_id, json=json)
        contract = publish_ledger(read, data, sender, worker or sender.address)
        current = contract.worker()
    if worker is not None and current.lower() != worker.lower():
        raise InvalidInput(
            f"The ledger at {contract.address} is already published, and its worker stays {current}: to change it, "
            f"run noiseledger rotate-worker {worker} {custody.ledger_file}"
        )
    facts = {
        "address": contract.address,
        "chain_id": contract.rpc.chain_id,
        "ledger_file": str(custody.ledger_file),
        "access": read.access.value,
    }
    if json:
        print_json(facts)
        return
    console.print(f"The ledger is at {contract.address} on chain {contract.rpc.chain_id}.")
    console.print(
        f"Give analysts {custody.ledger_file}. Keep everything else in {custody.folder} private, and back it up:"
    )
    console.print("without the journal, no further request can be answered.")
    if read.access is Access.INVITATION:
        console.print(
            f"Nobody can ask yet. Invite an analyst: noiseledger allow ADDRESS {custody.ledger_file} --epsilon E --delta D",
            soft_wrap=True,
        )


def _agree(catalogue: Catalogue, rows: int, chain_id: int, *, json: bool) -> None:
    """Show what will be permanent, and ask for confirmation; with --json, refuse what a person must confirm."""
    if json:
        if catalogue.access is Access.OPEN:
            raise InvalidInput(f"The catalogue asks for an open ledger. {OPEN_RISK} If that is intended, pass --yes.")
        return
    _show(catalogue, rows, chain_id)
    typer.confirm("Publish?", abort=True)


def _check_delta(catalogue: Catalogue, rows: int, *, json: bool) -> None:
    """Ask for confirmation of a delta with which the promise is empty; without a terminal, refuse it."""
    delta = catalogue.budget.delta
    if not is_empty_promise(delta, rows):
        return
    why = str(delta_doubt(delta, rows))
    if json or not sys.stdin.isatty():
        raise InvalidInput(f"{why[0].upper()}{why[1:]} If that is intended, pass --yes. Nothing was published.")
    console.print(f"{why[0].upper()}{why[1:]}", soft_wrap=True)
    typer.confirm("Keep this delta?", abort=True)


def _show(catalogue: Catalogue, rows: int, chain_id: int) -> None:
    budget = catalogue.budget
    console.print(f"This will be permanent on chain {chain_id}:")
    console.print(
        f"  epsilon {float(budget.epsilon):g}, delta {float(budget.delta):g}: precision {float(budget.total):.6g}"
    )
    console.print(f"  neighbours: {catalogue.neighbours}; a commitment to {catalogue.source}", end="")
    console.print(f", {rows} rows" if catalogue.population(rows).rows else "")
    if catalogue.access is Access.OPEN:
        console.print(f"  access: open. {OPEN_RISK}")
        console.print('  Without access = "open" in the catalogue, only analysts whom you allow can ask.')
    else:
        console.print("  access: by invitation; only analysts whom you allow can ask, each up to an allowance")
    for entry in catalogue.entries:
        console.print(f"  {entry.name}: {entry.query}")
