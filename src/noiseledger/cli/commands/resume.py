"""``noiseledger resume [LEDGER]``: sell answers again."""

from __future__ import annotations

from typing import TYPE_CHECKING

from noiseledger.cli.config import find_ledger
from noiseledger.cli.custody_check import closed_in_journal
from noiseledger.cli.governing import PrintTransactionOption, QueryOption, govern
from noiseledger.cli.options import ChainLedgerArgument, CustodianKeyOption, JsonOption, RpcOption, YesOption
from noiseledger.errors import QueryClosed

if TYPE_CHECKING:
    from noiseledger.custodian import Custodian
    from noiseledger.ledger.governance import Change


def resume(
    ledger: ChainLedgerArgument = None,
    query: QueryOption = None,
    rpc: RpcOption = None,
    key: CustodianKeyOption = None,
    print_transaction: PrintTransactionOption = False,
    yes: YesOption = False,
    json: JsonOption = False,
) -> None:
    """Sell answers again after a pause."""
    govern(
        lambda custodian: _propose(custodian, query, ledger),
        ledger,
        rpc,
        key,
        print_transaction=print_transaction,
        yes=yes,
        json=json,
    )


def _propose(custodian: Custodian, query: str | None, ledger: str | None) -> Change:
    """Refuse to sell a query that this machine's journal never answers: what is sold must be answered."""
    change = custodian.propose_resume(query)
    if change.facts.get("query") in closed_in_journal(find_ledger(ledger)):
        raise QueryClosed(
            f"{query} is closed: a lost journal may have answered it, so the worker never answers it again. It must not be "
            "sold. Nothing was changed."
        )
    return change
