"""Benchmarks: ``make bench``, or ``python -m benchmarks --help``.

Absolute numbers depend on the machine, so each benchmark measures what it compares side by side, in turns, and gives
ratios. Nothing here fails because a machine is slow.
"""
