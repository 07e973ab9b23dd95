"""Processor time: everyone who takes part is counted. No test says how much is right."""

from __future__ import annotations

import builtins
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from evaluation.context import ExperimentContext, Settings
from evaluation.cpu import experiment as cpu
from evaluation.cpu import lab
from evaluation.cpu.child import Way
from evaluation.cpu.meter import cpu_seconds
from evaluation.figures import Bars
from noiseledger.chain import Key, local_chain
from noiseledger.errors import InvalidInput, NoiseledgerError

# Work until it has cost 0.5 s, however long that takes; then say so, and stay until the input ends.
BUSY = """
import sys, time
while time.process_time() < 0.5: sum(range(1000))
print("done", flush=True); sys.stdin.read()
"""
PARENT = f"""
import subprocess, sys
child = subprocess.Popen([sys.executable, "-c", {BUSY!r}], stdin=subprocess.PIPE)
sys.stdin.readline()
child.stdin.close()
child.wait()
print("ended", flush=True)
sys.stdin.read()
"""


def test_a_busy_child_is_counted_with_its_parent_also_when_it_has_ended() -> None:
    command = [sys.executable, "-c", PARENT]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as parent:
        assert parent.stdin is not None
        assert parent.stdout is not None
        assert parent.stdout.readline() == "done\n"
        assert cpu_seconds([parent.pid]) >= 0.45
        parent.stdin.write("end it\n")
        parent.stdin.flush()
        assert parent.stdout.readline() == "ended\n"
        assert cpu_seconds([parent.pid]) >= 0.45


def test_a_process_that_is_not_there_is_said() -> None:
    gone = subprocess.Popen([sys.executable, "-c", ""])
    gone.wait()
    with pytest.raises(InvalidInput, match="no process"):
        cpu_seconds([gone.pid])


def test_without_psutil_it_is_said_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = builtins.__import__

    def without(name: str, *arguments: Any, **more: Any) -> Any:
        if name == "psutil":
            raise ImportError(name)
        return real(name, *arguments, **more)

    monkeypatch.setattr(builtins, "__import__", without)
    with (
        ExperimentContext(tmp_path, Settings(quick=True)) as context,
        pytest.raises(InvalidInput, match="pip install psutil"),
    ):
        cpu.run(context)


def test_a_process_that_fails_says_why() -> None:
    with (
        pytest.raises(NoiseledgerError, match=r"stopped: .*nowhere"),
        lab.asker({"way": "direct", "catalogue": "nowhere.toml", "requests": 1, "seed": 1}) as child,
    ):
        child.next_report()


def test_everyone_is_counted_and_nothing_twice(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with ExperimentContext(tmp_path, Settings(quick=True, requests=6)) as context:
        outcome = cpu.run(context)
    numbers = outcome.numbers
    ways = {fact["way"]: fact for fact in numbers["ways"]}
    assert set(ways) == {"direct", "direct, reading", "local", "chain"}
    assert set(ways["chain"]["by_process"]) == {"client", "worker", "node"}
    assert set(ways["chain"]["startup_cpu_seconds"]) == {"client", "worker", "node", "publish"}
    assert ways["chain"]["by_process"]["client"] > 0
    assert all(ways[way]["by_process"]["client"] > 0 for way in ways)
    # The same requests: with reuse the ledgers sell the same of them, and without a ledger each would be paid.
    assert ways["chain"]["paid"] == ways["local"]["paid"] < 6
    assert ways["direct"]["paid"] == ways["direct, reading"]["paid"] == 6
    assert {"chain / direct", "local / direct", "chain / local"} <= set(numbers["ratios"])
    assert [set(fact) for fact in numbers["idle_cpu_seconds_per_minute"]] == [{"look_seconds", "worker", "node"}] * 2
    assert numbers["nodes_counted"]
    outcome.save(tmp_path)
    assert "custodian's worker" in (tmp_path / "cpu.csv").read_text()

    def never(*_: object) -> None:
        raise AssertionError("measured twice")

    monkeypatch.setattr(cpu, "measure", never)
    monkeypatch.setattr(cpu, "measure_idle", never)
    with ExperimentContext(tmp_path, Settings(quick=True, requests=6)) as context:
        assert cpu.run(context).numbers == numbers


def test_nodes_of_another_chain_are_counted_if_they_are_named(tmp_path: Path) -> None:
    payer = Key.from_hex(local_chain.PLAY_KEYS[0])
    key = {"way": Way.CHAIN, "requests": 2, "seed": 1, "repetition": 0}
    with (
        local_chain.running() as chain,
        ExperimentContext(tmp_path, Settings(rpc=chain.url, payer=payer, processes=(chain.process.pid,))) as context,
    ):
        named = lab.measure(context, key)
    assert set(named["answering"]) == {"client", "worker", "node"}
    # When it was started is its own business.
    assert "node" not in named["startup"]


def test_a_figure_says_when_nodes_were_not_counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def measure(_context: ExperimentContext, key: Any) -> dict[str, Any]:
        parts = {"client": 0.1, "worker": 0.2} if key["way"] == Way.CHAIN else {"client": 0.01}
        return {"paid": 3, "answering": parts, "startup": dict.fromkeys(parts, 1.0)}

    monkeypatch.setattr(cpu, "measure", measure)
    monkeypatch.setattr(cpu, "measure_idle", lambda *_: {"worker": 1.5})
    with ExperimentContext(tmp_path, Settings(rpc="http://127.0.0.1:1")) as context:
        outcome = cpu.run(context)
    assert not outcome.numbers["nodes_counted"]
    assert "not counted" in outcome.method
    assert "not counted" in outcome.sentences[0]
    ways, parts = outcome.figures[0].charts
    assert isinstance(ways, Bars)
    assert isinstance(parts, Bars)
    assert [round(bar.y, 6) for bar in ways.bars] == [0.2, 0.2, 0.2, 6.0]
    assert [bar.label for bar in parts.bars] == ["analyst's process", "custodian's worker"]
    assert outcome.figures[0].draw("svg") == outcome.figures[0].draw("svg")
