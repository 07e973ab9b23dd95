"""``noiseledger allow ADDRESS [LEDGER]``: let an analyst buy more, or less."""

from __future__ import annotations

from typing import Annotated

import typer

from noiseledger.cli.governing import PrintTransactionOption, govern
from noiseledger.cli.options import ChainLedgerArgument, CustodianKeyOption, JsonOption, RpcOption, YesOption
from noiseledger.core.privacy import DELTA_HELP

_PANEL = "Amount (in one of two ways)"


def allow(
    address: Annotated[str, typer.Argument(help="The analyst's address.", metavar="ADDRESS")],
    ledger: ChainLedgerArgument = None,
    epsilon: Annotated[
        str | None,
        typer.Option(
            help="With --delta: the total privacy loss of the additional purchases.",
            metavar="NUMBER",
            rich_help_panel=_PANEL,
        ),
    ] = None,
    delta: Annotated[
        str | None,
        typer.Option(help=DELTA_HELP, metavar="NUMBER", rich_help_panel=_PANEL),
    ] = None,
    precision: Annotated[
        str | None,
        typer.Option(help="The additional precision.", metavar="NUMBER", rich_help_panel=_PANEL),
    ] = None,
    withdraw: Annotated[
        bool,
        typer.Option("--withdraw", help="Reduce the allowance by this amount instead; without an amount, to 0."),
    ] = False,
    rpc: RpcOption = None,
    key: CustodianKeyOption = None,
    print_transaction: PrintTransactionOption = False,
    yes: YesOption = False,
    json: JsonOption = False,
) -> None:
    """Increase an analyst's allowance. The amount is added to what is left of an earlier one."""
    amount = {"epsilon": epsilon, "delta": delta, "precision": precision}
    govern(
        lambda custodian: (custodian.propose_withdraw if withdraw else custodian.propose_allow)(address, **amount),
        ledger,
        rpc,
        key,
        print_transaction=print_transaction,
        yes=yes,
        json=json,
    )
