"""Processor time of processes: user and system time of all threads and children, even of children that have ended."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from typing import Any

from noiseledger.errors import InvalidInput


def cpu_seconds(processes: Iterable[int]) -> float:
    """Return the processor time of processes and their children since they started."""
    psutil = load()
    total = 0.0
    for number in processes:
        try:
            found = psutil.Process(number)
            family = [found, *found.children(recursive=True)]
            total += _used(found)
        except psutil.NoSuchProcess:
            raise InvalidInput(
                f"There is no process {number} on this machine: pass the ids of running processes."
            ) from None
        for child in family[1:]:
            with suppress(psutil.NoSuchProcess):  # it has just ended, and is counted with its parent
                total += _used(child)
    return total


def load() -> Any:
    """Return psutil; if it is not installed, the error says what to do."""
    try:
        import psutil  # noqa: PLC0415 - only experiments need it
    except ImportError:
        raise InvalidInput("Processor time needs psutil: run make setup, or pip install psutil") from None
    return psutil


def _used(process: Any) -> float:
    times = process.cpu_times()
    # On systems that count them, ended children are part of their parent's time; running children are not.
    return float(times.user + times.system + getattr(times, "children_user", 0) + getattr(times, "children_system", 0))
