"""``noiseledger close [LEDGER]``: stop selling answers for good."""

from __future__ import annotations

from noiseledger.cli.governing import PrintTransactionOption, govern
from noiseledger.cli.options import ChainLedgerArgument, CustodianKeyOption, JsonOption, RpcOption, YesOption


def close(
    ledger: ChainLedgerArgument = None,
    rpc: RpcOption = None,
    key: CustodianKeyOption = None,
    print_transaction: PrintTransactionOption = False,
    yes: YesOption = False,
    json: JsonOption = False,
) -> None:
    """Stop selling answers for good; this cannot be undone. Earlier purchases are still answered."""
    govern(
        lambda custodian: custodian.propose_close(),
        ledger,
        rpc,
        key,
        print_transaction=print_transaction,
        yes=yes,
        json=json,
    )
