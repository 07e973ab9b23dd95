"""Each compiled contract is the compilation of the source beside it, and its limits are the same everywhere."""

from __future__ import annotations

import re
import runpy
from pathlib import Path

from contract import reference
from noiseledger.auditing import books
from noiseledger.chain.refusals import REFUSALS
from noiseledger.contracts import constant
from noiseledger.core.privacy import MAX_PRECISION, UNITS, precision_for

ROOT = Path(__file__).parents[2]
SCRIPT = ROOT / "scripts" / "compile_contract.py"


def test_each_artifact_is_the_compiled_source() -> None:
    script = runpy.run_path(str(SCRIPT))
    assert {source.stem for source in script["SOURCES"]} == {"PrivacyLedger", "QueryMatch"}
    for source in script["SOURCES"]:
        compiled = script["compile_artifact"](source)
        assert source.with_suffix(".json").read_text() == compiled, "run make contract"


def test_copies_of_the_contracts_limits_are_equal_to_them() -> None:
    for name in ("MAX_BATCH", "MAX_COORDINATES", "MAX_DEFINITION", "MAX_PRECISION"):
        assert constant(name) == getattr(reference, name)
    assert MAX_PRECISION * UNITS == books.MAX_PRECISION == constant("MAX_PRECISION")
    for name in ("MAX_DEFINITION", "MAX_STORED", "MAX_ZONES"):
        assert constant(name) == getattr(books, name)
    page = (ROOT / "docs" / "reference" / "contract.md").read_text()
    assert f"at most {constant('MAX_BATCH')};" in page
    assert f"at most {constant('MAX_COORDINATES')} coordinates" in page


def test_every_refusal_of_the_contract_has_a_sentence() -> None:
    source = (ROOT / "src" / "noiseledger" / "contracts" / "PrivacyLedger.vy").read_text()
    assert set(re.findall(r'"ledger: ([^"]+)"', source)) == REFUSALS.keys()


def test_every_budget_that_can_be_stated_as_epsilon_and_delta_is_within_the_limit() -> None:
    assert precision_for(1000, 1 - 10**-12) < MAX_PRECISION / 100
