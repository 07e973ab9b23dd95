"""What ``make prove`` proves: a claim for every function that changes state, and no verdict that is better than the run."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
import vyper

import prove_contract
from contract.ledger import publish

CLAIMS = prove_contract.CLAIMS.read_text(encoding="utf-8")
REFERENCE = Path(__file__).parents[2] / "docs" / "reference" / "contract.md"


def changing() -> set[str]:
    abi = publish().contract.abi
    return {entry["name"] for entry in abi if entry.get("stateMutability") == "nonpayable" and "name" in entry}


def about(claim: str) -> str:
    """The function that a claim is about (`ask_signed` rather than `ask`), or `published`."""
    rest = claim.partition("_")[2]
    return max((name for name in (*changing(), "published") if re.match(rf"{name}(_|$)", rest)), key=len, default="")


def test_every_function_that_changes_state_has_a_claim_and_is_shown_to_be_reached() -> None:
    claims = prove_contract.list_claims()
    assert {about(claim) for claim in claims if claim.startswith("claim_")} == {*changing(), "published"}
    assert {about(claim) for claim in claims if re.match("false_.*_never_succeeds$", claim)} == {
        *changing(),
        "published",
    }
    assert set(re.findall(r"encodeCall\(Ledger\.(\w+)", CLAIMS)) == changing()


def test_the_claims_compare_every_word_of_the_storage() -> None:
    source = prove_contract.SOURCE.read_text(encoding="utf-8")
    layout = vyper.compile_code(source, output_formats=["layout"])["layout"]["storage_layout"]
    imported = {name for names in re.findall(r"import \{(.*)\} from", CLAIMS) for name in names.split(", ")}
    assert {name.strip("$_").upper() for name in layout} == imported - {"CREATION"}


def test_every_claim_is_in_the_reference() -> None:
    page = REFERENCE.read_text(encoding="utf-8")
    assert [claim for claim in prove_contract.list_claims() if f"`{claim}`" not in page] == []


def result(code: int, cut: int = 0) -> dict[str, Any]:
    return {"exitcode": code, "num_bounded_loops": cut}


@pytest.mark.parametrize(
    ("claim", "given", "good", "words"),
    [
        ("claim_ask", result(0), True, "proved"),
        ("claim_ask", result(0, cut=1), False, "NOT PROVED: a loop was cut off"),
        ("claim_ask", result(1), False, "REFUTED"),
        ("claim_ask", result(2), False, "NOT PROVED: the solver ran out of time"),
        ("claim_ask", result(3), False, "NOT PROVED: halmos cannot follow a path"),
        ("claim_ask", result(4), False, "NOT PROVED: every path reverts"),
        ("claim_ask", result(5), False, "NOT PROVED: halmos failed"),
        ("claim_ask", None, False, "NOT PROVED: halmos did not run it"),
        ("false_ask", result(1), True, "refuted, as it must be"),
        ("false_ask", result(0), False, "NOT REFUTED: the proof proves nothing"),
        ("false_ask", result(2), False, "NOT REFUTED: the proof proves nothing"),
        ("false_ask", None, False, "NOT PROVED: halmos did not run it"),
    ],
)
def test_only_a_complete_run_is_a_proof(claim: str, given: dict[str, Any] | None, good: bool, words: str) -> None:
    assert prove_contract.judge(claim, given) == (good, words)


def test_the_project_holds_what_the_contract_compiles_to(tmp_path: Path) -> None:
    prove_contract.write_project(tmp_path, "solc")
    artifact = json.loads(prove_contract.SOURCE.with_suffix(".json").read_text(encoding="utf-8"))
    written = (tmp_path / "src" / "Artifact.sol").read_text(encoding="utf-8")
    assert artifact["bytecode"].removeprefix("0x") in written


def test_a_claim_that_halmos_cannot_follow_is_named(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    failed = {"exitcode": 5, "num_bounded_loops": None, "num_paths": None, "time": None}
    monkeypatch.setattr(prove_contract, "install_compiler", lambda folder: (folder, folder / "solc"))
    monkeypatch.setattr(prove_contract, "install_halmos", lambda: Path("bin"))
    monkeypatch.setattr(prove_contract, "prove", lambda claims, *_: dict.fromkeys(claims, failed))
    assert prove_contract.main(["claim_close"]) == 1
    shown = capsys.readouterr().out
    assert "claim_close" in shown
    assert "NOT PROVED: halmos failed" in shown
    assert "1 of 1 claims did not come out as they must: claim_close" in shown
