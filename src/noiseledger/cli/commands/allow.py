"""``noiseledger allow ADDRESS [LEDGER]``: set how much an analyst may buy."""

from __future__ import annotations

from typing import Annotated

import typer

from noiseledger.cli.governing import govern
from noiseledger.cli.options import ChainLedgerArgument, CustodianKeyOption, JsonOption, RpcOption, YesOption
from noiseledger.core.privacy import DELTA_HELP

_PANEL = "Allowance (in one of two ways)"


def allow(
    address: Annotated[str, typer.Argument(help="The analyst's address.", metavar="ADDRESS")],
    ledger: ChainLedgerArgument = None,
    epsilon: Annotated[
        str | None,
        typer.Option(
            help="With --delta: the total privacy loss of what the analyst buys from now on.",
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
        typer.Option(
            help="The precision that the analyst may buy from now on; 0 removes the allowance.",
            metavar="NUMBER",
            rich_help_panel=_PANEL,
        ),
    ] = None,
    rpc: RpcOption = None,
    key: CustodianKeyOption = None,
    yes: YesOption = False,
    json: JsonOption = False,
) -> None:
    """Set how much an analyst may buy from now on. This replaces what is left of an earlier allowance."""
    govern(
        lambda custodian: custodian.propose_allow(address, epsilon=epsilon, delta=delta, precision=precision),
        ledger,
        rpc,
        key,
        yes=yes,
        json=json,
    )
