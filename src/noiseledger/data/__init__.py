"""Data sources: where exact, whole-numbered totals come from."""

from noiseledger.data.source import Source
from noiseledger.data.table import Table

__all__ = ["Source", "Table"]
