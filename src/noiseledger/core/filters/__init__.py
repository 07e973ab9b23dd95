"""Filters: a condition selects the records that a query uses, and is stored in one canonical form."""

from noiseledger.core.filters.filter import Filter, parse_filter

__all__ = ["Filter", "parse_filter"]
