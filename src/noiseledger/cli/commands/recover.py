"""``noiseledger recover CATALOGUE``: rebuild a lost journal from the chain."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from noiseledger.cli.config import has_key
from noiseledger.cli.connect import open_key
from noiseledger.cli.options import CatalogueArgument, CustodianKeyHereOption, JsonOption, RpcOption
from noiseledger.cli.output import console, print_json, print_table
from noiseledger.data.catalogue import read_catalogue
from noiseledger.errors import InvalidInput, NotAllowed
from noiseledger.extras import require
from noiseledger.settings import KEY, RPC

if TYPE_CHECKING:
    from noiseledger.chain import PrivacyLedgerContract, Rpc
    from noiseledger.custodian.recover import Recovery


def recover(
    catalogue: CatalogueArgument,
    rpc: RpcOption = None,
    key: CustodianKeyHereOption = None,
    without_custodian_key: Annotated[
        bool,
        typer.Option(
            "--without-custodian-key",
            help="The custodian's key is not on this machine: print the commands that stop selling closed queries. Until the "
            "custodian runs them, analysts can still buy answers that they will never get.",
        ),
    ] = False,
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
    """Rebuild a lost journal. Queries that it may have answered without revealing the answer are closed and no longer sold."""
    require("custodian", "To rebuild a journal,")
    from noiseledger.chain import Rpc  # noqa: PLC0415 - takes a second
    from noiseledger.chain.heads import read_head  # noqa: PLC0415 - likewise
    from noiseledger.custodian import Custody  # noqa: PLC0415 - likewise
    from noiseledger.custodian.closed import still_sold, stop_selling  # noqa: PLC0415 - likewise
    from noiseledger.custodian.promises import no_ledger  # noqa: PLC0415 - likewise
    from noiseledger.custodian.recover import recover as rebuild  # noqa: PLC0415 - likewise

    if key is not None and without_custodian_key:
        raise InvalidInput("Pass either --key or --without-custodian-key. Nothing was changed.")
    head = read_head(head)
    read = read_catalogue(catalogue)
    custody = Custody.of(read)
    custody.check_complete(without_journal=True)
    known = custody.read_ledger_file()
    if known is None:
        raise no_ledger(read)
    data = custody.pin(read, without_journal=True)
    # Not the catalogue's names: it may call another query by a published name, and `pause --query` would stop that one.
    names = {query.identifier: name for name, query in known.queries.items()}
    with Rpc(RPC.find(rpc)) as connection:
        recovery = rebuild(read, data, connection, head)
        try:
            sold = still_sold(recovery.contract, [query.identifier for query in recovery.closed])
            labels = [names.get(identifier, identifier[:12]) for identifier in sold]
            custodian = None if without_custodian_key or not sold else _custodian(recovery, connection, key, labels)
            if not json:
                _show(recovery, names)
                if custodian is not None:
                    console.print(f"First, selling of {', '.join(labels)} stops.", markup=False)
            if not yes:
                typer.confirm(
                    "Has the old worker been stopped for good, and should this become the journal?",
                    abort=True,
                    err=json,
                )
            if custodian is not None:
                # Before the journal can be used: what no worker will answer is not sold for a moment longer.
                stop_selling(custodian, sold)
            recovery.carry_out()
        finally:
            recovery.drop()
    is_paused = custodian is not None
    if json:
        print_json(_describe(recovery, [] if is_paused else sold))
        return
    console.print(f"Rebuilt {custody.journal_file}. Continue with: noiseledger work {catalogue}")
    for label in labels:
        console.print(
            f"{label} is closed and is no longer sold."
            if is_paused
            else f"{label} is closed and can still be bought. Stop selling it: noiseledger pause {custody.ledger_file} "
            f"--query {label}",
            soft_wrap=True,
            markup=False,
        )


def _custodian(recovery: Recovery, connection: Rpc, keystore: Path | None, labels: list[str]) -> PrivacyLedgerContract:
    """Return the contract with the custodian's key, which stops the sale of closed queries; refuse any other key, or none."""
    from noiseledger.chain import PrivacyLedgerContract, Sender  # noqa: PLC0415 - takes a second
    from noiseledger.chain.contract import checksummed  # noqa: PLC0415 - likewise

    custodian = checksummed(recovery.contract.custodian())
    signer = Sender(connection, open_key(keystore)) if has_key(keystore) else None
    if signer is None or signer.address.lower() != custodian.lower():
        given = "no key was given" if signer is None else f"this key is {signer.address}"
        raise NotAllowed(
            f"The lost journal may have answered {', '.join(labels)}, which must not be sold any more. Only the custodian, "
            f"{custodian}, can stop that, and {given}: pass the custodian's key with --key or in {KEY.variable}. If it is not "
            "on this machine, pass --without-custodian-key, and have the custodian run the commands that are printed then. "
            "Nothing was changed."
        )
    return PrivacyLedgerContract(connection, recovery.contract.address, signer)


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


def _describe(recovery: Recovery, sold: list[str]) -> dict[str, Any]:
    queries = [
        {
            "query": str(query),
            "identifier": query.identifier,
            "known": float(known),
            "closed_until": float(recovery.closed[query]) if query in recovery.closed else None,
            "still_sold": query.identifier in sold,
        }
        for query, known in recovery.known.items()
    ]
    return {"journal": str(recovery.custody.journal_file), "queries": queries}
