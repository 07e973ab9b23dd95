"""Compile each contract into the artifact beside it (``make contract``).

A test compiles again and compares, so that artifact and source cannot drift apart.
"""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import vyper
from vyper.ast import VariableDecl
from vyper.compiler.phases import CompilerData

ROOT = Path(__file__).parents[1]
#: The contract that the package ships, and the model of the paper's contract, which only an experiment uses.
FOLDERS = (ROOT / "src" / "noiseledger" / "contracts", ROOT / "evaluation" / "latency")
SOURCES = [source for folder in FOLDERS for source in sorted(folder.glob("*.vy"))]


def compile_artifact(source_file: Path) -> str:
    """Return the text of a contract's artifact."""
    source = source_file.read_text(encoding="utf-8")
    formats = ["abi", "bytecode", "bytecode_runtime"]
    compiled = vyper.compile_code(source, contract_path=source_file.name, output_formats=formats)
    artifact = {
        "contract": source_file.stem,
        "compiler": f"vyper {vyper.__version__}",
        "source_sha256": hashlib.sha256(source.encode()).hexdigest(),
        "constants": find_constants(source),
        **{name: compiled[name] for name in formats},
    }
    return json.dumps(artifact, indent=1) + "\n"


def find_constants(source: str) -> dict[str, int]:
    """Return the constants of a contract, so that Python reads its limits instead of repeating them."""
    declared = CompilerData(source).annotated_vyper_module.get_children(VariableDecl)
    return {each.target.id: each.value.reduced().value for each in declared if each.is_constant}


if __name__ == "__main__":
    for source_file in SOURCES:
        artifact_file = source_file.with_suffix(".json")
        artifact_file.write_text(compile_artifact(source_file), encoding="utf-8")
        print(f"{artifact_file}: {artifact_file.stat().st_size} bytes")
