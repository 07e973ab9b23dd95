"""``noiseledger rotate-worker ADDRESS [LEDGER]``: let another key reveal answers."""

from __future__ import annotations

from typing import Annotated

import typer

from noiseledger.cli.governing import PrintTransactionOption, govern
from noiseledger.cli.options import ChainLedgerArgument, CustodianKeyOption, JsonOption, RpcOption, YesOption


def rotate_worker(
    address: Annotated[str, typer.Argument(help="The address of the new worker's key.", metavar="ADDRESS")],
    ledger: ChainLedgerArgument = None,
    rpc: RpcOption = None,
    key: CustodianKeyOption = None,
    print_transaction: PrintTransactionOption = False,
    yes: YesOption = False,
    json: JsonOption = False,
) -> None:
    """Let another key reveal answers, instead of the current one. A worker that runs with the old key stops."""
    govern(
        lambda custodian: custodian.propose_rotate_worker(address),
        ledger,
        rpc,
        key,
        print_transaction=print_transaction,
        yes=yes,
        json=json,
    )
