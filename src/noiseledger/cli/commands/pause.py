"""``noiseledger pause [LEDGER]``: stop selling."""

from __future__ import annotations

from noiseledger.cli.governing import CustodianKeyOption, YesOption, govern
from noiseledger.cli.output import JsonOption
from noiseledger.cli.settings import LedgerArgument, RpcOption


def pause(
    ledger: LedgerArgument = None,
    rpc: RpcOption = None,
    key: CustodianKeyOption = None,
    yes: YesOption = False,
    json: JsonOption = False,
) -> None:
    """Stop selling. What was bought is still answered, and what is known stays free."""
    govern(lambda custodian: custodian.propose_pause(), ledger, rpc, key, yes=yes, json=json)
