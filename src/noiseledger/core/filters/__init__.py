"""Filters: which records a query looks at, written as a condition and kept in one canonical form."""

from noiseledger.core.filters.filter import Filter, parse_filter

__all__ = ["Filter", "parse_filter"]
