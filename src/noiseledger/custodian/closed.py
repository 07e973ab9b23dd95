"""Closed queries: a lost journal may have answered them, so they are never answered again, and must not be sold.

Why the promise holds: this only stops sales. A closed query is refused by the journal, whether it is sold or not.
"""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import closing
from pathlib import Path

from noiseledger.chain.contract import PrivacyLedgerContract
from noiseledger.custodian.custody import Custody
from noiseledger.errors import LedgerRefused
from noiseledger.ledger.file import catalogue_of


def closed_beside(ledger_file: Path) -> frozenset[str]:
    """Return the identifiers of the queries that the journal beside a ledger file never answers again; none without one."""
    catalogue = catalogue_of(ledger_file)
    custody = None if catalogue is None else Custody(catalogue.with_suffix(".custody"))
    if custody is None or not ledger_file.is_file() or not custody.journal_file.exists():
        return frozenset()
    with closing(custody.journal(None)) as journal:
        return frozenset(journal.closed())


def still_sold(contract: PrivacyLedgerContract, closed: Iterable[str]) -> list[str]:
    """Return which of these queries are not paused, so that they are sold now or as soon as sales of everything resume."""
    identifiers = list(closed)
    if not identifiers or contract.closed():
        return []
    paused = contract.queries_paused(identifiers)
    return [identifier for identifier, is_paused in zip(identifiers, paused, strict=True) if not is_paused]


def stop_selling(contract: PrivacyLedgerContract, closed: Iterable[str]) -> None:
    """Pause queries with the custodian's key; after an interruption, the others are paused by doing this again."""
    for identifier in closed:
        contract.pause_query(identifier, paused=True)
    if left := still_sold(contract, closed):
        raise LedgerRefused(
            f"The chain still sells {left[0][:12]}, although the transaction that pauses it succeeded: check the endpoint, and "
            "run this again. The journal was not rebuilt."
        )
