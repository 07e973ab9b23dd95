"""Temporary folders, in memory where possible: experiments measure ledgers, not disks."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_MEMORY = Path("/dev/shm")  # noqa: S108 - a private folder is created in it


@contextmanager
def scratch_folder() -> Iterator[Path]:
    """Create a temporary folder, as a context manager."""
    memory = _MEMORY if _MEMORY.is_dir() else None
    with tempfile.TemporaryDirectory(prefix="noiseledger-", dir=memory) as folder:
        yield Path(folder)
