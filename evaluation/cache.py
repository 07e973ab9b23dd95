"""A cache of finished results on disk, so that an interrupted experiment continues where it stopped.

The key of a result holds everything that the result depends on. Other settings have another key, so results never mix.
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


class ResultCache:
    """A folder with one file per finished result."""

    def __init__(self, folder: Path) -> None:
        """Use a folder; it is created if it does not exist."""
        self._folder = folder
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise InvalidInput(f"The folder {folder} cannot be created: {error.strerror}.") from None

    def has(self, key: Mapping[str, Any]) -> bool:
        """Return whether there is a result for this key."""
        return self._read(key) is not None

    def get_or_compute(self, key: Mapping[str, Any], work: Callable[[], Any]) -> Any:
        """Return the cached result, or do the work and cache its result, which must be JSON and hold no true answer."""
        found = self._read(key)
        if found is None:
            found = {"key": dict(key), "value": work()}
            file = self._file(key)
            # Another process may compute the same result: each writes its own file, and the last one stays.
            new = file.with_suffix(f".{os.getpid()}.new")
            new.write_text(json.dumps(found) + "\n", encoding="utf-8")
            new.replace(file)
            found = json.loads(json.dumps(found))
        return found["value"]

    def _read(self, key: Mapping[str, Any]) -> dict[str, Any] | None:
        try:
            found = json.loads(self._file(key).read_text(encoding="utf-8"))
        except (FileNotFoundError, ValueError):  # an incomplete file is computed again
            return None
        return found if isinstance(found, dict) and found.get("key") == json.loads(json.dumps(key)) else None

    def _file(self, key: Mapping[str, Any]) -> Path:
        digest = hashlib.sha256(json.dumps(key, sort_keys=True).encode()).hexdigest()[:16]
        name = re.sub(r"[^a-z0-9]+", "-", str(key.get("experiment", "piece")))
        return self._folder / f"{name}-{digest}.json"
