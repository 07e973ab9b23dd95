"""``noiseledger hand-over ADDRESS [LEDGER]``: offer custody of a ledger to another key."""

from __future__ import annotations

from typing import Annotated

import typer

from noiseledger.cli.governing import PrintTransactionOption, govern
from noiseledger.cli.options import ChainLedgerArgument, CustodianKeyOption, JsonOption, RpcOption, YesOption

NOBODY = "nobody"


def hand_over(
    address: Annotated[
        str,
        typer.Argument(help=f"The new custodian's address, or '{NOBODY}' to withdraw an offer.", metavar="ADDRESS"),
    ],
    ledger: ChainLedgerArgument = None,
    rpc: RpcOption = None,
    key: CustodianKeyOption = None,
    print_transaction: PrintTransactionOption = False,
    yes: YesOption = False,
    json: JsonOption = False,
) -> None:
    """Offer custody to another key. Nothing changes until that key runs accept-custody."""
    heir = None if address == NOBODY else address
    govern(
        lambda custodian: custodian.propose_hand_over(heir),
        ledger,
        rpc,
        key,
        print_transaction=print_transaction,
        yes=yes,
        json=json,
    )
