"""``noiseledger accept-custody [LEDGER]``: become the custodian."""

from __future__ import annotations

from noiseledger.cli.governing import CustodianKeyOption, YesOption, govern
from noiseledger.cli.output import JsonOption
from noiseledger.cli.settings import LedgerArgument, RpcOption


def accept_custody(
    ledger: LedgerArgument = None,
    rpc: RpcOption = None,
    key: CustodianKeyOption = None,
    yes: YesOption = False,
    json: JsonOption = False,
) -> None:
    """Become the custodian of a ledger that was offered to this key with hand-over."""
    govern(lambda custodian: custodian.propose_accept_custody(), ledger, rpc, key, yes=yes, json=json)
