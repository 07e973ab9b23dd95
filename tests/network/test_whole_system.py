"""Everything that works on a development node works on a network of validators, unchanged: only the endpoints differ."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest

from command import COMMAND, DEMO_CASES, Run, Runner, bare_environment
from evaluation.command import main as evaluation
from network.conftest import payer
from noiseledger.demo.accounts import ChainAccounts
from noiseledger.demo.system import census_catalogue, demo_system_on
from noiseledger.network.network import Network


def test_from_a_catalogue_to_an_audited_answer(
    network: Network, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    bare_environment(monkeypatch, tmp_path)
    run: Run = Runner(monkeypatch, capsys)
    accounts = ChainAccounts.funded_by(network.layout.members[0].url, payer(network))
    with census_catalogue() as catalogue, demo_system_on(catalogue, accounts) as system:
        monkeypatch.setenv("NOISELEDGER_KEY", accounts.analyst)
        # Another validator than the worker's: what one is told, all know.
        monkeypatch.setenv("NOISELEDGER_RPC", network.layout.members[1].url)
        asked = run("ask", "over_60", system.ledger_file, "--within", "0.02", "--yes", "--json")
        assert asked.code == 0, asked.out + asked.err
        assert asked.json["answers"][0]["query"]
        monkeypatch.setenv("NOISELEDGER_RPC", network.layout.members[2].url)
        audited = run("audit", system.ledger_file, "--json")
        assert audited.code == 0, audited.out


def test_the_demo_runs_on_it(network: Network) -> None:
    environment = os.environ | {"NOISELEDGER_KEY": network.layout.account_key.read_text()}
    command = [str(COMMAND), "demo", "--rpc", network.layout.urls, "--json"]
    played = json.loads(subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout)
    assert [answer["case"] for answer in played["answers"]] == DEMO_CASES
    assert played["web_spent"] == played["spent"] < played["naive_spent"]
    assert played["refused"]["missing"] > 0


def test_an_experiment_runs_on_it(
    network: Network, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    bare_environment(monkeypatch, tmp_path)
    run: Run = Runner(monkeypatch, capsys, evaluation)
    monkeypatch.setenv("NOISELEDGER_KEY", network.layout.account_key.read_text())
    pids = [pid for each in network.status() for pid in (each.pid, each.signer_pid)]
    nodes = [word for pid in pids for word in ("--process", pid)]
    done = run("cpu", "--out", tmp_path / "out", "--quick", "--requests", 2, "--rpc", network.layout.urls, *nodes)
    assert done.code == 0, done.out + done.err
    assert json.loads((tmp_path / "out" / "cpu.json").read_text())
