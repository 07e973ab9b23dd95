"""What has been measured already, kept on disk piece by piece, so that an interrupted experiment goes on where it was.

A piece is known by everything that it depends on; with other settings it is another piece, and nothing is mixed up.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from noiseledger.errors import InvalidInput


class Notebook:
    """A folder of finished pieces."""

    def __init__(self, folder: Path) -> None:
        """Keep pieces in a folder; it is made if need be."""
        self._folder = folder
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise InvalidInput(f"The folder {folder} cannot be made: {error.strerror}.") from None

    def has(self, key: Mapping[str, Any]) -> bool:
        """Say whether a piece is finished."""
        return self._read(key) is not None

    def keep(self, key: Mapping[str, Any], work: Callable[[], Any]) -> Any:
        """Return a finished piece, or do the work and keep what comes out: what JSON can say, and no true answer."""
        found = self._read(key)
        if found is None:
            found = {"key": dict(key), "value": work()}
            file = self._file(key)
            # Another process may do the same piece: each writes its own file, and the last one stays.
            new = file.with_suffix(f".{os.getpid()}.new")
            new.write_text(json.dumps(found) + "\n", encoding="utf-8")
            new.replace(file)
            found = json.loads(json.dumps(found))
        return found["value"]

    def _read(self, key: Mapping[str, Any]) -> dict[str, Any] | None:
        try:
            found = json.loads(self._file(key).read_text(encoding="utf-8"))
        except (FileNotFoundError, ValueError):  # a piece that was cut off is done again
            return None
        return found if isinstance(found, dict) and found.get("key") == json.loads(json.dumps(key)) else None

    def _file(self, key: Mapping[str, Any]) -> Path:
        digest = hashlib.sha256(json.dumps(key, sort_keys=True).encode()).hexdigest()[:16]
        name = re.sub(r"[^a-z0-9]+", "-", str(key.get("experiment", "piece")))
        return self._folder / f"{name}-{digest}.json"
