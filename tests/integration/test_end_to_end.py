"""The custodian's way, by the commands: init, check, publish, work; the answer is on the chain."""

from __future__ import annotations

import json
import shutil
from fractions import Fraction
from importlib import resources
from pathlib import Path
from typing import Any

import pytest

from command import Runner, bare_environment
from integration.conftest import ANALYST
from noiseledger.chain import PrivacyLedgerContract, Rpc, Sender, encode_request, local_chain
from noiseledger.core.query import Query
from noiseledger.data import Table
from noiseledger.ledger.chain import ChainLedger

OVER_60 = Query.share("age > 60")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    with resources.as_file(resources.files("noiseledger.data") / "acs12.csv") as sample:
        shutil.copy(sample, tmp_path / "census.csv")
    return tmp_path


@pytest.fixture
def run(folder: Path, url: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Runner:
    bare_environment(monkeypatch, folder)
    monkeypatch.setenv("NOISELEDGER_KEY", local_chain.PLAY_KEYS[0])
    monkeypatch.setenv("NOISELEDGER_RPC", url)
    monkeypatch.chdir(folder)
    return Runner(monkeypatch, capsys)


def run_json(run: Runner, *arguments: str) -> Any:
    done = run(*arguments, "--json")
    assert done.code == 0, done.err
    return done.json


def write_catalogue(folder: Path) -> None:
    """Do what a custodian does: fill in the bounds, choose the promise, add a question."""
    file = folder / "census.toml"
    text = file.read_text().replace('missing = "?"', "missing = 0").replace('lower = "?"', "lower = 0")
    text = (
        text.replace('upper = "?"', "upper = 1_000_000").replace("epsilon = 1 ", "epsilon = 8 ").replace("1e-6", "1e-4")
    )
    file.write_text(text + '\n[queries.over_60]\nmeasure = "share"\nwhere = "age > 60"\n')


def test_from_a_data_file_to_an_answer_on_the_chain(folder: Path, url: str, run: Runner) -> None:
    assert run("init", "census.csv").code == 0
    assert run("check", "census.toml").code == 2
    write_catalogue(folder)
    assert run_json(run, "check", "census.toml")["rows"] == 2000
    unpublished = run("work", "census.toml", "--once")
    assert "noiseledger publish census.toml" in unpublished.err
    published = run_json(run, "publish", "census.toml", "--yes")
    assert run_json(run, "publish", "census.toml")["address"] == published["address"]
    assert published["access"] == "invitation"
    allowed = run_json(run, "allow", ANALYST.address, "census.custody/ledger.json", "--precision", "0.25", "--yes")
    assert allowed["allowance_exact"] == "1/4"
    with Rpc(url, chain_id=published["chain_id"]) as rpc:
        contract = PrivacyLedgerContract(rpc, published["address"], Sender(rpc, ANALYST))
        contract.ask([encode_request(OVER_60.identifier, Fraction(1, 4))])
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("NOISELEDGER_KEY", local_chain.PLAY_KEYS[2])
            stranger = run("work", "census.toml", "--once")
        assert "The ledger's worker is" in stranger.err
        worked = run_json(run, "work", "census.toml", "--once", "--head", "latest")
        assert len(worked["transactions"]) == 1
        answer = ChainLedger(contract).ask(OVER_60, precision=Fraction(1, 4))
        truth = Table.census_sample().totals(OVER_60)[0] / 2000
        assert abs(answer.value - truth) < 0.01  # ten deviations
    assert run_json(run, "work", "census.toml", "--once", "--head", "latest")["transactions"] == []


def test_publishing_shows_what_will_be_fixed_and_asks(folder: Path, url: str, run: Runner) -> None:
    run("init", "census.csv")
    write_catalogue(folder)
    asked = run("publish", "census.toml")  # nobody is there to say yes
    assert asked.code == 2
    assert "There is no terminal to confirm at: pass --yes." in asked.err
    assert "This will be permanent" in asked.out
    assert "over_60: share of rows where age > 60" in asked.out
    assert "access: by invitation" in asked.out
    assert run("publish", "census.toml", "--json").code == 2
    assert not (folder / "census.custody").exists()
    confirmed = run("publish", "census.toml", "--yes")
    assert "back up the secret and journal.identity" in confirmed.out
    assert "Nobody can ask yet. Invite an analyst: noiseledger allow ADDRESS" in confirmed.out


def test_an_open_ledger_has_to_be_asked_for_and_what_it_risks_is_said(folder: Path, url: str, run: Runner) -> None:
    run("init", "census.csv")
    write_catalogue(folder)
    file = folder / "census.toml"
    file.write_text(file.read_text().replace('access = "invitation"', 'access = "open"'))
    asked = run("publish", "census.toml")
    for refused in (asked, run("publish", "census.toml", "--json")):
        assert refused.code != 0
        assert "Anyone on this chain can spend the whole budget with one transaction" in " ".join(refused.out.split())
        assert not (folder / "census.custody" / "ledger.json").exists()
    published = run_json(run, "publish", "census.toml", "--yes")
    assert published["access"] == "open"
    assert json.loads((folder / "census.custody" / "ledger.json").read_text())["access"] == "open"
    with Rpc(url) as rpc:
        assert not PrivacyLedgerContract(rpc, published["address"]).terms().requires_allowance
    file.write_text(file.read_text().replace('access = "open"', ""))  # as catalogues from before are
    for command in ("work", "publish"):
        stopped = run(command, "census.toml")
        assert 'permanently published with access = "open": write that into [privacy]' in " ".join(stopped.err.split())


def test_changed_data_stops_the_worker(folder: Path, url: str, run: Runner) -> None:
    run("init", "census.csv")
    write_catalogue(folder)
    run_json(run, "publish", "census.toml", "--yes")
    data = folder / "census.csv"
    data.write_text(data.read_text().replace("60000,white,68,yes", "60000,white,69,yes", 1))
    stopped = run("work", "census.toml", "--once")
    assert stopped.code == 2
    assert "not published with the data that is now in" in stopped.err
    assert "Traceback" not in stopped.err
