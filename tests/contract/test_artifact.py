"""The compiled contract in the package is the compilation of the source beside it."""

from __future__ import annotations

import runpy
from pathlib import Path

SCRIPT = Path(__file__).parents[2] / "scripts" / "compile_contract.py"


def test_the_artifact_is_the_compiled_source() -> None:
    script = runpy.run_path(str(SCRIPT))
    assert script["ARTIFACT"].read_text() == script["compile_artifact"](), "run scripts/compile_contract.py"
