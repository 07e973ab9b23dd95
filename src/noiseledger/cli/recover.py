"""``noiseledger recover CATALOGUE``: rebuild a journal that is lost from what the chain has."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from noiseledger.cli.connect import RpcOption
from noiseledger.cli.output import JsonOption, console, print_json, print_table
from noiseledger.data.catalogue import read_catalogue
from noiseledger.extras import require

if TYPE_CHECKING:
    from noiseledger.custodian.recover import Recovery


def recover(
    catalogue: Annotated[Path, typer.Argument(help="The catalogue, a TOML file.", metavar="CATALOGUE")],
    rpc: RpcOption = "http://127.0.0.1:8545",
    head: Annotated[
        str,
        typer.Option(
            help="Close what is bought up to this block and not known. Never an older block than the old worker's --head."
        ),
    ] = "latest",
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask: the old worker is stopped for good.")] = False,
    json: JsonOption = False,
) -> None:
    """Rebuild a lost journal. What it may have answered without the chain knowing is closed, and never answered again."""
    require("custodian", "To rebuild a journal,")
    from noiseledger.chain import Rpc  # noqa: PLC0415 - takes a second, which other commands need not wait
    from noiseledger.chain.heads import read_head  # noqa: PLC0415 - likewise
    from noiseledger.custodian import Custody  # noqa: PLC0415 - likewise
    from noiseledger.custodian.recover import recover as rebuild  # noqa: PLC0415 - likewise

    head = read_head(head)
    read = read_catalogue(catalogue)
    data = Custody.of(read).pin(read)
    with Rpc(rpc) as connection:
        recovery = rebuild(read, data, connection, head)
    try:
        if not json:
            _show(recovery, {entry.query.identifier: entry.name for entry in read.entries})
        if not yes:
            typer.confirm(
                "Is the old worker stopped for good, and shall this become the journal?", abort=True, err=json
            )
        recovery.carry_out()
    finally:
        recovery.drop()
    if json:
        print_json(_describe(recovery))
    else:
        console.print(f"Rebuilt: {recovery.custody.journal_file}. Go on with noiseledger work {catalogue}")


def _show(recovery: Recovery, names: dict[str, str]) -> None:
    rows = [
        (
            names.get(query.identifier, query.identifier[:12]),
            f"{float(known):.6g}",
            f"closed for good: {float(recovery.closed[query]):.6g} was bought"
            if query in recovery.closed
            else "goes on",
        )
        for query, known in recovery.known.items()
    ]
    print_table("What the chain and the files left know", ("query", ">known up to", "then"), rows)
    if recovery.in_no_block:
        console.print(
            f"{recovery.in_no_block} transaction(s) of the worker's key are in no block yet: wait for them, and fewer "
            "queries may be closed."
        )
    console.print(
        "If the old worker followed another head than finalized, and the chain has been reorganised since, it may have "
        "answered what nobody can know of now: then do not go on."
    )
    console.print(
        "Should the old journal turn up, or an old worker still run with it, never let it answer again: two journals could "
        "give two answers to one question."
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
