"""Compile PrivacyLedger.vy into the artifact that the package ships: ``.venv/bin/python scripts/compile_contract.py``.

A test compiles again and compares, so that artifact and source cannot drift apart.
"""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import vyper

CONTRACTS = Path(__file__).parents[1] / "src" / "noiseledger" / "contracts"
SOURCE, ARTIFACT = CONTRACTS / "PrivacyLedger.vy", CONTRACTS / "PrivacyLedger.json"


def compile_artifact() -> str:
    """Return the artifact's text."""
    source = SOURCE.read_text(encoding="utf-8")
    formats = ["abi", "bytecode", "bytecode_runtime"]
    compiled = vyper.compile_code(source, contract_path="PrivacyLedger.vy", output_formats=formats)
    artifact = {
        "contract": "PrivacyLedger",
        "compiler": f"vyper {vyper.__version__}",
        "source_sha256": hashlib.sha256(source.encode()).hexdigest(),
        **{name: compiled[name] for name in formats},
    }
    return json.dumps(artifact, indent=1) + "\n"


if __name__ == "__main__":
    ARTIFACT.write_text(compile_artifact(), encoding="utf-8")
    print(f"{ARTIFACT}: {ARTIFACT.stat().st_size} bytes")
