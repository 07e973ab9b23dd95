"""``noiseledger accept-custody [LEDGER]``: become the custodian."""

from __future__ import annotations

from noiseledger.cli.governing import PrintTransactionOption, govern
from noiseledger.cli.options import ChainLedgerArgument, CustodianKeyOption, JsonOption, RpcOption, YesOption


def accept_custody(
    ledger: ChainLedgerArgument = None,
    rpc: RpcOption = None,
    key: CustodianKeyOption = None,
    print_transaction: PrintTransactionOption = False,
    yes: YesOption = False,
    json: JsonOption = False,
) -> None:
    """Become the custodian of a ledger whose custody was offered to your key with hand-over."""
    govern(
        lambda custodian: custodian.propose_accept_custody(),
        ledger,
        rpc,
        key,
        print_transaction=print_transaction,
        yes=yes,
        json=json,
    )
