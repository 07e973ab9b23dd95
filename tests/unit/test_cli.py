"""The commands as a person or a script runs them: real processes, exit codes, no tracebacks."""

from __future__ import annotations

import json
import subprocess
from fractions import Fraction
from typing import Any

import pytest

from command import COMMAND, Runner


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([COMMAND, *arguments], capture_output=True, text=True, check=False)


def run_json(*arguments: str) -> Any:
    finished = run(*arguments, "--json")
    assert finished.returncode == 0, finished.stderr
    return json.loads(finished.stdout)


def test_privacy_of_the_paper_s_budget() -> None:
    facts = run_json("privacy", "--epsilon", "8", "--delta", "1e-4")
    assert round(facts["precision"], 4) == 3.3906
    assert round(facts["classic_precision"], 4) == 3.3922
    assert f"{facts['classic_true_delta']:.6g}" == "0.000100477"
    assert facts["mu"] ** 2 == pytest.approx(facts["precision"])
    assert facts["rho"] * 2 == pytest.approx(facts["precision"])
    assert facts["classic_proved"] is False


def test_privacy_converts_in_every_direction() -> None:
    assert run_json("privacy", "--precision", "3.3906", "--delta", "1e-4")["epsilon"] == pytest.approx(8, rel=1e-4)
    assert run_json("privacy", "--precision", "3.3906", "--epsilon", "8")["delta"] == pytest.approx(1e-4, rel=1e-3)
    table = run("privacy", "--epsilon", "8", "--delta", "1e-4")
    assert "3.39063" in table.stdout
    assert "classic_true_delta" in table.stdout
    assert run_json("privacy", "--precision", "0", "--delta", "1e-4")["epsilon"] == 0


@pytest.mark.parametrize(
    "arguments",
    [("--epsilon", "0", "--delta", "1e-4"), ("--epsilon", "8", "--delta", "1"), ("--epsilon", "nan", "--delta", "1e-4")]
    + [("--epsilon", "1e9", "--delta", "1e-4"), ("--epsilon", "-1", "--delta", "1e-4"), ("--epsilon", "8"), ()]
    + [("--epsilon", "eight", "--delta", "1e-4"), ("--epsilon", "8", "--delta", "1e-4", "--precision", "3")]
    + [("--precision", "-1", "--delta", "1e-4"), ("--epsilon", "1e999999999", "--delta", "1e-4")],
)
def test_mistakes_become_one_sentence(
    arguments: tuple[str, ...], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    here = Runner(monkeypatch, capsys)
    plain = here("privacy", *arguments)
    assert plain.code == 2
    assert plain.out == ""
    assert plain.err.startswith("noiseledger: ")
    assert plain.err.count("\n") == 1
    machine = here("privacy", *arguments, "--json")
    assert machine.code == 2
    assert machine.json["error"]["message"] == plain.err.removeprefix("noiseledger: ").strip()


def test_a_mistake_ends_the_process_with_one_sentence() -> None:
    wrong = run("privacy", "--epsilon", "0", "--delta", "1e-4")
    assert (wrong.returncode, wrong.stdout) == (2, "")
    assert wrong.stderr.startswith("noiseledger: ")
    assert wrong.stderr.count("\n") == 1


PAPER_CASES = ["1", "1", "1", "2C", "2B", "2B", "2A", "2C", "2B", "2B", "2B", "2C", "2B"]
PAPER_REUSES = [None, None, None, 1, 2, 1, 3, 5, 5, 6, 9, 6, 7]
PAPER_COSTS = ["1", "1/9", "1/4", "0", "5/36", "3", "0", "0", "7/36", "12", "5/9", "0", "7/36"]


def test_the_paper_s_example_case_by_case() -> None:
    result = run_json("example")
    queries = result["queries"]
    assert [q["case"] for q in queries] == PAPER_CASES
    assert [q["reuses"] for q in queries] == PAPER_REUSES
    assert [q["touches_data"] for q in queries] == [case in ("1", "2B") for case in PAPER_CASES]
    assert [q["cost_exact"] for q in queries] == PAPER_COSTS
    assert [Fraction(q["cost_exact"]) for q in queries] == [pytest.approx(q["cost"]) for q in queries]
    total = sum(Fraction(q["cost_exact"]) for q in queries)
    assert total == Fraction(result["total_precision_exact"]) == 16 + 1 + Fraction(4, 9)
    assert result["total_precision"] == float(total)
    assert queries[11]["built_from"] == [6, 1]


def test_the_example_is_a_table_for_people() -> None:
    text = run("example").stdout
    assert "157/9" in text
    assert "touches data" in text


def test_help_and_version() -> None:
    assert run("--version").stdout.strip() == "0.1.0"
    assert "privacy" in run("--help").stdout
    wrong = run("privcy")
    assert wrong.returncode == 2
    assert "Traceback" not in wrong.stderr
