"""Data sources: they compute the exact, whole-numbered totals of queries."""

from noiseledger.data.source import Source
from noiseledger.data.table import Table

__all__ = ["Source", "Table"]
