"""A folder that passes, in memory where the machine has such: experiments measure ledgers, and not disks."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_MEMORY = Path("/dev/shm")  # noqa: S108 - a folder of our own is made in it


@contextmanager
def scratch_folder() -> Iterator[Path]:
    """Make a folder for the length of a block."""
    memory = _MEMORY if _MEMORY.is_dir() else None
    with tempfile.TemporaryDirectory(prefix="noiseledger-", dir=memory) as folder:
        yield Path(folder)
