"""``noiseledger included PROOF [LEDGER]``: check whether the record in a proof is part of a ledger's data."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from noiseledger.cli.config import find_ledger, find_rpc
from noiseledger.cli.exits import DECLINED
from noiseledger.cli.options import ChainLedgerArgument, JsonOption, RpcOption
from noiseledger.cli.output import console, plain, print_json
from noiseledger.data.record import cells_of


def included(
    proof: Annotated[Path, typer.Argument(help="The proof that the custodian gave you.", metavar="PROOF")],
    ledger: ChainLedgerArgument = None,
    rpc: RpcOption = None,
    json: JsonOption = False,
) -> None:
    """Check that your record is part of the data behind a ledger. Neither the record nor the proof is sent anywhere."""
    from noiseledger.auditing.inclusion import Inclusion, is_included  # noqa: PLC0415 - takes a second

    inclusion = Inclusion.read(proof)
    found = is_included(inclusion, find_ledger(ledger), rpc=find_rpc(rpc))
    if json:
        print_json({"included": found, "record": inclusion.proof.record})
    elif found:
        console.print("INCLUDED: this record is part of the data that the ledger was published for.")
        for name, (_, value) in cells_of(inclusion.proof.record).items():
            console.print(f"  {plain(name)}: {plain(value)}", soft_wrap=True)
    else:
        console.print(
            "NOT INCLUDED: the proof does not match the commitment that this ledger published. Either the proof is for another "
            "ledger, or it was altered, or the custodian's data is not what the ledger was published for. Ask the custodian."
        )
    if not found:
        raise typer.Exit(DECLINED)
