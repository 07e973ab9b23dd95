"""The contract PrivacyLedger: its source, and the compiled artifact, which holds the hash of that source."""

from __future__ import annotations

import json
from functools import cache
from importlib import resources
from typing import Any


@cache
def artifact() -> dict[str, Any]:
    """Return the compiled contract: ``abi``, ``bytecode``, ``bytecode_runtime``, ``constants`` and more."""
    text = (resources.files("noiseledger.contracts") / "PrivacyLedger.json").read_text(encoding="utf-8")
    loaded: dict[str, Any] = json.loads(text)
    return loaded


def constant(name: str) -> int:
    """Return a constant of the contract, such as a limit.

    >>> constant("MAX_BATCH")
    100
    """
    return int(artifact()["constants"][name])
