"""Files that stay complete after a crash or a power cut."""

from __future__ import annotations

import os
from pathlib import Path


def write_durably(file: Path, text: str, mode: int = 0o644) -> None:
    """Write a file in one step: after a crash or a power cut it is either complete or unchanged."""
    new = file.with_name(file.name + ".new")
    new.unlink(missing_ok=True)
    with os.fdopen(os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode), "w", encoding="utf-8") as stream:
        stream.write(text)
        stream.flush()
        os.fsync(stream.fileno())
    new.replace(file)
    sync_folder(file.parent)


def sync_folder(folder: Path) -> None:
    """Make names in a folder durable, as ``fsync`` does for the content of a file."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
