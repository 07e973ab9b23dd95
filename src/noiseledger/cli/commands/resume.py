"""``noiseledger resume [LEDGER]``: sell answers again."""

from __future__ import annotations

from noiseledger.cli.governing import govern
from noiseledger.cli.options import ChainLedgerArgument, CustodianKeyOption, JsonOption, RpcOption, YesOption


def resume(
    ledger: ChainLedgerArgument = None,
    rpc: RpcOption = None,
    key: CustodianKeyOption = None,
    yes: YesOption = False,
    json: JsonOption = False,
) -> None:
    """Sell answers again after a pause."""
    govern(lambda custodian: custodian.propose_resume(), ledger, rpc, key, yes=yes, json=json)
