"""Each compiled contract is the compilation of the source beside it."""

from __future__ import annotations

import runpy
from pathlib import Path

SCRIPT = Path(__file__).parents[2] / "scripts" / "compile_contract.py"


def test_each_artifact_is_the_compiled_source() -> None:
    script = runpy.run_path(str(SCRIPT))
    assert {source.stem for source in script["SOURCES"]} == {"PrivacyLedger", "QueryMatch"}
    for source in script["SOURCES"]:
        compiled = script["compile_artifact"](source)
        assert source.with_suffix(".json").read_text() == compiled, "run make contract"
