"""The power of the noise tests: the guide matches its data, and the data matches the simulation."""

from __future__ import annotations

import json
from math import inf
from pathlib import Path
from typing import Any

import pytest

from benchmarks import audit_power, cheats
from benchmarks.audit_power import DATA, caught_at, quantile
from benchmarks.cheats import CHEATS, SimulatedLedger
from noiseledger.auditing.noise_tests import FALSE_ALARM, NoiseTest

FACTS: dict[str, Any] = json.loads(DATA.read_text())
NUMBERS = {cheat.name: number for number, cheat in enumerate(CHEATS)}
#: Simulated again here: the first ledger of each kind, unless that takes too long.
QUICK = [kind for kind in FACTS["kinds"] if kind["caught_at"][0] is not None and kind["caught_at"][0] <= 800]


def test_the_guide_matches_its_data() -> None:
    assert audit_power.main(["--check"]) == 0


def test_a_guide_that_differs_from_its_data_is_detected(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    changed = tmp_path / "guide.md"
    changed.write_text(audit_power.PAGE.read_text().replace("| no noise at all | 4 |", "| no noise at all | 1 |"))
    monkeypatch.setattr(audit_power, "PAGE", changed)
    assert audit_power.main(["--check"]) == 1


def test_the_data_covers_these_tests_and_cheats() -> None:
    assert [kind["cheat"] for kind in FACTS["kinds"]] == list(NUMBERS)
    assert {len(kind["caught_at"]) for kind in FACTS["kinds"]} == {FACTS["lives"]} == {audit_power.RUNS}
    assert (FACTS["tests"], FACTS["false_alarm"]) == (len(NoiseTest), FALSE_ALARM)
    assert len(QUICK) > 30


@pytest.mark.parametrize("kind", QUICK, ids=lambda kind: kind["cheat"])
def test_the_simulation_reproduces_the_data(kind: dict[str, Any]) -> None:
    assert caught_at(NUMBERS[kind["cheat"]], 0) == kind["caught_at"][0]


@pytest.mark.parametrize(
    ("cheat", "count"),
    [
        ("redrawn until within 3 standard deviations", 10_000),
        ("a tenth of the noise on 2% of the stretches", 10_000),
        ("correlation -0.995 between two groups of one query", 1_000),
        ("correlation -0.995 between groups of two queries, seven stretches apart", 2_000),
        ("correlation -0.995 with the number 37 positions earlier", 1_000),
    ],
)
def test_cheating_that_earlier_versions_missed_is_caught(cheat: str, count: int) -> None:
    ledger = SimulatedLedger(CHEATS[NUMBERS[cheat]], [1, 2, 3])
    ledger.grow(count)
    assert ledger.is_caught()


def test_an_honest_ledger_is_never_accused() -> None:
    ledger = SimulatedLedger(None, [4])
    for count in (4, 100, 1_000, 10_000):
        ledger.grow(count)
        assert not ledger.is_caught()


def test_a_run_continues_only_what_the_same_program_began(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Otherwise a table could mix results of different settings or tests."""
    pieces = tmp_path / "pieces.json"
    monkeypatch.setattr(audit_power, "_PIECES", pieces)
    program = audit_power._program()
    assert audit_power._pieces(program) == {}
    pieces.write_text(json.dumps({"program": program, "found": {"no noise at all": [4]}}))
    assert audit_power._pieces(program) == {"no noise at all": [4]}
    changed = tmp_path / "cheats.py"
    changed.write_text(Path(str(cheats.__file__)).read_text() + "#")
    monkeypatch.setattr(cheats, "__file__", str(changed))
    assert audit_power._pieces(audit_power._program()) == {}


def test_quantiles() -> None:
    assert quantile([5, None, 1], 0.5) == 5
    assert quantile([5, None, None], 0.5) == inf
    assert quantile(list(range(1, 11)), 0.9) == 9
