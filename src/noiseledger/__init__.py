"""Differential privacy with a ledger: reuse noisy answers, never pass the budget, let anyone check.

>>> import noiseledger as nl
>>> nl.Query.share("age > 60").dimension
1
"""

from typing import TYPE_CHECKING, Any

from noiseledger.core.answer import Answer
from noiseledger.core.budget import Budget
from noiseledger.core.groups import Bins, Keys
from noiseledger.core.path import Case, Path
from noiseledger.core.privacy import delta_for, epsilon_for, precision_for
from noiseledger.core.query import Column, Query
from noiseledger.core.sensitivity import Neighbours, Population, sensitivity
from noiseledger.data import Table
from noiseledger.errors import BudgetExceeded, InvalidInput, NoiseledgerError
from noiseledger.ledger import Ledger, LocalLedger, NaiveLedger, Quote, Record, open_ledger

if TYPE_CHECKING:
    from noiseledger.client import Ask, AsyncClient, Client, connect, connect_async

__all__ = [
    "Answer",
    "Ask",
    "AsyncClient",
    "Bins",
    "Budget",
    "BudgetExceeded",
    "Case",
    "Client",
    "Column",
    "InvalidInput",
    "Keys",
    "Ledger",
    "LocalLedger",
    "NaiveLedger",
    "Neighbours",
    "NoiseledgerError",
    "Path",
    "Population",
    "Query",
    "Quote",
    "Record",
    "Table",
    "connect",
    "connect_async",
    "delta_for",
    "epsilon_for",
    "open_ledger",
    "precision_for",
    "sensitivity",
]

_ON_CHAIN = ("Ask", "AsyncClient", "Client", "connect", "connect_async")


def __getattr__(name: str) -> Any:
    """Load what talks to a chain when it is first used: it takes a second that other programs need not wait."""
    if name not in _ON_CHAIN:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from noiseledger import client  # noqa: PLC0415

    return getattr(client, name)
