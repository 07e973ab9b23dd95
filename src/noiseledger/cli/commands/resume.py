"""``noiseledger resume [LEDGER]``: go on selling."""

from __future__ import annotations

from noiseledger.cli.governing import CustodianKeyOption, YesOption, govern
from noiseledger.cli.output import JsonOption
from noiseledger.cli.settings import LedgerArgument, RpcOption


def resume(
    ledger: LedgerArgument = None,
    rpc: RpcOption = None,
    key: CustodianKeyOption = None,
    yes: YesOption = False,
    json: JsonOption = False,
) -> None:
    """Go on selling after a pause."""
    govern(lambda custodian: custodian.propose_resume(), ledger, rpc, key, yes=yes, json=json)
