"""``noiseledger recover CATALOGUE``: rebuild a lost journal from the chain."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from noiseledger.cli.options import CatalogueArgument, JsonOption, RpcOption
from noiseledger.cli.output import console, print_json, print_table
from noiseledger.data.catalogue import read_catalogue
from noiseledger.extras import require
from noiseledger.settings import RPC

if TYPE_CHECKING:
    from noiseledger.custodian.recover import Recovery


def recover(
    catalogue: CatalogueArgument,
    rpc: RpcOption = None,
    head: Annotated[
        str,
        typer.Option(
            help="Close queries that were bought up to this block and not revealed. Must not be an older block than the "
            "--head of the old worker."
        ),
    ] = "latest",
    yes: Annotated[
        bool, typer.Option("--yes", help="Do not ask for confirmation: the old worker has been stopped for good.")
    ] = False,
    json: JsonOption = False,
) -> None:
    """Rebuild a lost journal. Queries that it may have answered, but not revealed, are closed permanently."""
    require("custodian", "To rebuild a journal,")
    from noiseledger.chain import Rpc  # noqa: PLC0415 - takes a second
    from noiseledger.chain.heads import read_head  # noqa: PLC0415 - likewise
    from noiseledger.custodian import Custody  # noqa: PLC0415 - likewise
    from noiseledger.custodian.promises import no_ledger  # noqa: PLC0415 - likewise
    from noiseledger.custodian.recover import recover as rebuild  # noqa: PLC0415 - likewise

    head = read_head(head)
    read = read_catalogue(catalogue)
    custody = Custody.of(read)
    custody.check_complete(without_journal=True)
    if custody.read_ledger_file() is None:
        raise no_ledger(read)
    data = custody.pin(read, without_journal=True)
    with Rpc(RPC.find(rpc)) as connection:
        recovery = rebuild(read, data, connection, head)
    try:
        names = {entry.query.identifier: entry.name for entry in read.entries}
        if not json:
            _show(recovery, names)
        if not yes:
            typer.confirm(
                "Has the old worker been stopped for good, and should this become the journal?", abort=True, err=json
            )
        recovery.carry_out()
    finally:
        recovery.drop()
    if json:
        print_json(_describe(recovery))
    else:
        console.print(f"Rebuilt {recovery.custody.journal_file}. Continue with: noiseledger work {catalogue}")
        for query in recovery.closed:
            name = names.get(query.identifier, query.identifier[:12])
            console.print(
                f"{name} is closed and can still be bought. Stop selling it: noiseledger pause {custody.ledger_file} "
                f"--query {name}",
                soft_wrap=True,
                markup=False,
            )


def _show(recovery: Recovery, names: dict[str, str]) -> None:
    rows = [
        (
            names.get(query.identifier, query.identifier[:12]),
            f"{float(known):.6g}",
            f"closed for good: {float(recovery.closed[query]):.6g} was bought"
            if query in recovery.closed
            else "continues",
        )
        for query, known in recovery.known.items()
    ]
    print_table("What the chain and the remaining files contain", ("query", ">known up to", "then"), rows)
    if recovery.in_no_block:
        console.print(
            f"{recovery.in_no_block} transaction(s) of the worker's key are not in a block yet: if you wait for them, fewer "
            "queries may be closed."
        )
    console.print(
        "If the old worker ran with a --head other than finalized, and the chain has been reorganised since, it may have "
        "given answers that cannot be found any more: in that case, do not continue."
    )
    console.print(
        "If the old journal is found, or an old worker still uses it, never let it answer again: two journals could give "
        "two different answers to one request."
    )


def _describe(recovery: Recovery) -> dict[str, Any]:
    queries = [
        {
            "query": str(query),
            "identifier": query.identifier,
            "known": float(known),
            "closed_until": float(recovery.closed[query]) if query in recovery.closed else None,
        }
        for query, known in recovery.known.items()
    ]
    return {"journal": str(recovery.custody.journal_file), "queries": queries}
