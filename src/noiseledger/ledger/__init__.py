"""Ledgers: requests, their costs and the remaining budget. One interface, several implementations, one conformance suite."""

from noiseledger.ledger.interface import Ledger, Quote, Record
from noiseledger.ledger.local import LocalLedger, NaiveLedger, open_ledger

__all__ = ["Ledger", "LocalLedger", "NaiveLedger", "Quote", "Record", "open_ledger"]
