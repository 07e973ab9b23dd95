"""Reuse across different queries: what it saves on workloads of overlapping queries."""
