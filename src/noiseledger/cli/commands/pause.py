"""``noiseledger pause [LEDGER]``: stop selling answers."""

from __future__ import annotations

from noiseledger.cli.governing import govern
from noiseledger.cli.options import ChainLedgerArgument, CustodianKeyOption, JsonOption, RpcOption, YesOption


def pause(
    ledger: ChainLedgerArgument = None,
    rpc: RpcOption = None,
    key: CustodianKeyOption = None,
    yes: YesOption = False,
    json: JsonOption = False,
) -> None:
    """Stop selling answers. Earlier purchases are still answered, and free answers stay free."""
    govern(lambda custodian: custodian.propose_pause(), ledger, rpc, key, yes=yes, json=json)
