"""``noiseledger pause [LEDGER]``: stop selling answers."""

from __future__ import annotations

from noiseledger.cli.governing import PrintTransactionOption, QueryOption, govern
from noiseledger.cli.options import ChainLedgerArgument, CustodianKeyOption, JsonOption, RpcOption, YesOption


def pause(
    ledger: ChainLedgerArgument = None,
    query: QueryOption = None,
    rpc: RpcOption = None,
    key: CustodianKeyOption = None,
    print_transaction: PrintTransactionOption = False,
    yes: YesOption = False,
    json: JsonOption = False,
) -> None:
    """Stop selling answers, or those of one query. Earlier purchases are still answered, and free answers stay free."""
    govern(
        lambda custodian: custodian.propose_pause(query),
        ledger,
        rpc,
        key,
        print_transaction=print_transaction,
        yes=yes,
        json=json,
    )
