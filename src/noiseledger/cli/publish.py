"""``noiseledger publish CATALOGUE``: put a catalogue's budget and queries on a chain."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from noiseledger.cli.connect import KeyOption, RpcOption, connect
from noiseledger.cli.output import JsonOption, console, print_json
from noiseledger.core.access import OPEN_RISK, Access
from noiseledger.data.catalogue import Catalogue, read_catalogue
from noiseledger.errors import InvalidInput
from noiseledger.extras import require


def publish(
    catalogue: Annotated[Path, typer.Argument(help="The catalogue, a TOML file.", metavar="CATALOGUE")],
    rpc: RpcOption = "http://127.0.0.1:8545",
    key: KeyOption = None,
    worker: Annotated[
        str | None, typer.Option(help="Address of the key that may reveal; default: the same key.")
    ] = None,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False,
    json: JsonOption = False,
) -> None:
    """Publish a ledger. Running it again finds the ledger and registers queries that were added since."""
    from noiseledger.custodian.custody import Custody  # noqa: PLC0415 - takes a second, which other commands need not wait
    from noiseledger.custodian.publish import publish as publish_ledger  # noqa: PLC0415 - likewise
    from noiseledger.ledger.governance import read_address  # noqa: PLC0415 - likewise

    require("custodian", "To publish a ledger,")
    read = read_catalogue(catalogue)
    if worker is not None:
        read_address(worker, "worker")  # before anybody is asked
    custody = Custody.of(read)
    data = custody.pin(read)
    with connect(rpc, key) as sender:
        if custody.read_ledger_file() is None and not yes:
            _agree(read, data.rows, sender.rpc.chain_id, json=json)
        contract = publish_ledger(read, data, sender, worker or sender.address)
        current = contract.worker()
    if worker is not None and current.lower() != worker.lower():
        raise InvalidInput(
            f"The ledger at {contract.address} was published before, and its worker stays {current}: to change that, "
            f"noiseledger rotate-worker {worker} {custody.ledger_file}"
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
        f"For analysts: {custody.ledger_file}. Keep everything else in {custody.folder} to yourself, and back it up:"
    )
    console.print("without the journal nothing more can be answered.")
    if read.access is Access.INVITATION:
        console.print(
            f"Nobody can ask yet. Invite: noiseledger allow ADDRESS {custody.ledger_file} --epsilon E --delta D",
            soft_wrap=True,
        )


def _agree(catalogue: Catalogue, rows: int, chain_id: int, *, json: bool) -> None:
    """Show what will be fixed for ever and ask; for a program, refuse what needs a person's word."""
    if json:
        if catalogue.access is Access.OPEN:
            raise InvalidInput(f"The catalogue asks for an open ledger. {OPEN_RISK} If that is meant: pass --yes.")
        return
    _show(catalogue, rows, chain_id)
    typer.confirm("Publish?", abort=True)


def _show(catalogue: Catalogue, rows: int, chain_id: int) -> None:
    budget = catalogue.budget
    console.print(f"This will be fixed for ever on chain {chain_id}:")
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
