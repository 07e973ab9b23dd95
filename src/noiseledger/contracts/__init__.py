"""The contracts: each with its source and its compiled artifact, which contains the hash of the source.

PrivacyLedger is the system's contract; QueryMatch models the paper's contract and is used only in experiments.
"""

from __future__ import annotations

import json
from functools import cache
from importlib import resources
from typing import Any


@cache
def artifact(name: str = "PrivacyLedger") -> dict[str, Any]:
    """Return a compiled contract: ``abi``, ``bytecode``, ``bytecode_runtime``, ``compiler``, ``source_sha256``."""
    text = (resources.files("noiseledger.contracts") / f"{name}.json").read_text(encoding="utf-8")
    loaded: dict[str, Any] = json.loads(text)
    return loaded
