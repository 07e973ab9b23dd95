"""``noiseledger included PROOF [LEDGER]``: is the record in a proof part of the data that a ledger was published for?"""

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
    proof: Annotated[Path, typer.Argument(help="The proof that the custodian handed out.", metavar="PROOF")],
    ledger: ChainLedgerArgument = None,
    rpc: RpcOption = None,
    json: JsonOption = False,
) -> None:
    """Check that your record is part of the data behind a ledger. Nobody learns that you asked."""
    from noiseledger.audit.inclusion import Inclusion, is_included  # noqa: PLC0415 - takes a second

    inclusion = Inclusion.read(proof)
    place = find_ledger(ledger)
    found = is_included(inclusion, place, rpc=find_rpc(rpc))
    if json:
        print_json({"included": found, "record": inclusion.proof.record})
    elif found:
        console.print("Included: this record is one of those that the ledger was published for.")
        for name, (_, value) in cells_of(inclusion.proof.record).items():
            console.print(f"  {plain(name)}: {plain(value)}", soft_wrap=True)
    else:
        console.print(
            "NOT INCLUDED: the proof does not lead to what this ledger has published. It is for another ledger, or the "
            "record in it was changed, or the data is not what the ledger was published for: ask the custodian."
        )
    if not found:
        raise typer.Exit(DECLINED)
