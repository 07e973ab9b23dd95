"""Processor time of processes: user and system, all threads, and all children, also those that have ended."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from typing import Any

from noiseledger.errors import InvalidInput


def cpu_seconds(processes: Iterable[int]) -> float:
    """Return what some processes have used since they began, their children included."""
    psutil = load()
    total = 0.0
    for number in processes:
        try:
            found = psutil.Process(number)
            family = [found, *found.children(recursive=True)]
            total += _used(found)
        except psutil.NoSuchProcess:
            raise InvalidInput(f"There is no process {number} on this machine: give those that run now.") from None
        for child in family[1:]:
            with suppress(psutil.NoSuchProcess):  # it has ended meanwhile, and is counted with its parent
                total += _used(child)
    return total


def load() -> Any:
    """Return psutil; say what to do if it is not there."""
    try:
        import psutil  # noqa: PLC0415 - only experiments need it
    except ImportError:
        raise InvalidInput("To count processor time takes psutil: pip install 'noiseledger[experiments]'") from None
    return psutil


def _used(process: Any) -> float:
    times = process.cpu_times()
    # Children that have ended are in their parent's account, where the system keeps one; the living are not.
    return float(times.user + times.system + getattr(times, "children_user", 0) + getattr(times, "children_system", 0))
