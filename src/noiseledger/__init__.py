"""Differential privacy with a ledger: reuse noisy answers, never pass the budget, let anyone check.

>>> import noiseledger as nl
>>> nl.Query.share("age > 60").dimension
1
"""

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

__all__ = [
    "Answer",
    "Bins",
    "Budget",
    "BudgetExceeded",
    "Case",
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
    "delta_for",
    "epsilon_for",
    "open_ledger",
    "precision_for",
    "sensitivity",
]
