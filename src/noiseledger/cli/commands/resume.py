"""``noiseledger resume [LEDGER]``: sell answers again."""

from __future__ import annotations

from noiseledger.cli.governing import PrintTransactionOption, QueryOption, govern
from noiseledger.cli.options import ChainLedgerArgument, CustodianKeyOption, JsonOption, RpcOption, YesOption


def resume(
    ledger: ChainLedgerArgument = None,
    query: QueryOption = None,
    rpc: RpcOption = None,
    key: CustodianKeyOption = None,
    print_transaction: PrintTransactionOption = False,
    yes: YesOption = False,
    json: JsonOption = False,
) -> None:
    """Sell answers again after a pause. A single query is refused while a purchase of it is not answered."""
    govern(
        lambda custodian: custodian.propose_resume(query),
        ledger,
        rpc,
        key,
        print_transaction=print_transaction,
        yes=yes,
        json=json,
    )
