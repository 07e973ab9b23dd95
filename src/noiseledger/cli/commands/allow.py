"""``noiseledger allow ADDRESS [LEDGER]``: invite an analyst, or change what one may buy."""

from __future__ import annotations

from typing import Annotated

import typer

from noiseledger.cli.governing import govern
from noiseledger.cli.options import ChainLedgerArgument, JsonOption, KeyOption, RpcOption, YesOption

_HOW = "How much (one way)"


def allow(
    address: Annotated[str, typer.Argument(help="The analyst's address.", metavar="ADDRESS")],
    ledger: ChainLedgerArgument = None,
    epsilon: Annotated[
        str | None,
        typer.Option(
            help="With --delta: all that the analyst buys from now on keeps this promise.",
            metavar="NUMBER",
            rich_help_panel=_HOW,
        ),
    ] = None,
    delta: Annotated[
        str | None, typer.Option(help="The probability that epsilon fails.", metavar="NUMBER", rich_help_panel=_HOW)
    ] = None,
    precision: Annotated[
        str | None,
        typer.Option(
            help="The precision that may be bought from now on; 0 takes an allowance away.",
            metavar="NUMBER",
            rich_help_panel=_HOW,
        ),
    ] = None,
    rpc: RpcOption = None,
    key: KeyOption = None,
    yes: YesOption = False,
    json: JsonOption = False,
) -> None:
    """Set how much an analyst may buy from now on. The number replaces what is left of an earlier allowance."""
    govern(
        lambda custodian: custodian.propose_allow(address, epsilon=epsilon, delta=delta, precision=precision),
        ledger,
        rpc,
        key,
        yes=yes,
        json=json,
    )
