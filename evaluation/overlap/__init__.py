"""Reuse across different questions: what it saves on workloads of overlapping questions."""
