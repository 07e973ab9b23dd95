"""Ledgers: who asked what, what it cost, what is left. One interface, several implementations, one conformance suite."""

from noiseledger.ledger.interface import Ledger, Quote, Record
from noiseledger.ledger.local import LocalLedger, NaiveLedger, open_ledger

__all__ = ["Ledger", "LocalLedger", "NaiveLedger", "Quote", "Record", "open_ledger"]
