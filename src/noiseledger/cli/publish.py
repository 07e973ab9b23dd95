"""``noiseledger publish CATALOGUE``: put a catalogue's budget and queries on a chain."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from noiseledger.cli.connect import KeyOption, RpcOption, connect
from noiseledger.cli.output import JsonOption, console, print_json
from noiseledger.data.catalogue import Catalogue, read_catalogue


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

    read = read_catalogue(catalogue)
    custody = Custody.of(read)
    data = custody.pin(read)
    with connect(rpc, key) as sender:
        if custody.read_ledger_file() is None and not (yes or json):
            _show(read, data.rows, sender.rpc.chain_id)
            typer.confirm("Publish?", abort=True)
        contract = publish_ledger(read, data, sender, worker or sender.address)
    facts = {"address": contract.address, "chain_id": contract.rpc.chain_id, "ledger_file": str(custody.ledger_file)}
    if json:
        print_json(facts)
        return
    console.print(f"The ledger is at {contract.address} on chain {contract.rpc.chain_id}.")
    console.print(
        f"For analysts: {custody.ledger_file}. Keep everything else in {custody.folder} to yourself, and back it up:"
    )
    console.print("without the journal nothing more can be answered.")


def _show(catalogue: Catalogue, rows: int, chain_id: int) -> None:
    budget = catalogue.budget
    console.print(f"This will be fixed for ever on chain {chain_id}:")
    console.print(
        f"  epsilon {float(budget.epsilon):g}, delta {float(budget.delta):g}: precision {float(budget.total):.6g}"
    )
    console.print(f"  neighbours: {catalogue.neighbours}; a commitment to {catalogue.source}", end="")
    console.print(f", {rows} rows" if catalogue.population(rows).rows else "")
    for entry in catalogue.entries:
        console.print(f"  {entry.name}: {entry.query}")
