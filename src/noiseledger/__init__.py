"""Differential privacy with a ledger: reuse noisy answers, never pass the budget, let anyone check.

>>> import noiseledger as nl
>>> nl.Query.share("age > 60").dimension
1
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from noiseledger.core.answer import Answer
from noiseledger.core.budget import Budget
from noiseledger.core.groups import Bins, Keys
from noiseledger.core.path import Case
from noiseledger.core.privacy import delta_for, epsilon_for, precision_for
from noiseledger.core.query import Column, Query
from noiseledger.core.request import Request
from noiseledger.core.sensitivity import Population, sensitivity
from noiseledger.data import Table
from noiseledger.errors import AnswerPending, BudgetExceeded, InvalidInput, NoiseledgerError, UnknownQuery
from noiseledger.ledger import Ledger, LocalLedger, Quote, Record, open_ledger

if TYPE_CHECKING:
    from noiseledger.auditing import audit
    from noiseledger.chain import Key
    from noiseledger.client import AsyncClient, Client, connect, connect_async
    from noiseledger.custodian import Custodian, connect_custodian

__all__ = [
    "Answer",
    "AnswerPending",
    "AsyncClient",
    "Bins",
    "Budget",
    "BudgetExceeded",
    "Case",
    "Client",
    "Column",
    "Custodian",
    "InvalidInput",
    "Key",
    "Keys",
    "Ledger",
    "LocalLedger",
    "NoiseledgerError",
    "Population",
    "Query",
    "Quote",
    "Record",
    "Request",
    "Table",
    "UnknownQuery",
    "audit",
    "connect",
    "connect_async",
    "connect_custodian",
    "delta_for",
    "epsilon_for",
    "open_ledger",
    "precision_for",
    "sensitivity",
]

_ON_CHAIN = {
    "auditing": ("audit",),
    "chain": ("Key",),
    "client": ("AsyncClient", "Client", "connect", "connect_async"),
    "custodian": ("Custodian", "connect_custodian"),
}


if not TYPE_CHECKING:  # to a type checker, a name that is not imported above does not exist

    def __getattr__(name: str) -> Any:
        """Load what talks to a chain when it is first used: it takes a second that other programs need not wait."""
        for part, names in _ON_CHAIN.items():
            if name in names:
                return getattr(import_module(f"noiseledger.{part}"), name)
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
