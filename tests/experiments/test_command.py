"""``python -m evaluation``: what it writes, how it continues after an interruption, what it refuses."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from html.parser import HTMLParser
from pathlib import Path

import pytest

from command import Runner, bare_environment
from evaluation import command, suite
from noiseledger.chain import Key, Rpc, local_chain

ROOT = Path(__file__).parents[2]
COMMAND = (sys.executable, "-m", "evaluation")


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Runner:
    bare_environment(monkeypatch, tmp_path)
    return Runner(monkeypatch, capsys, command.main)


class Links(HTMLParser):
    """All that a page points to."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.found: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found += [value or "" for name, value in attrs if name in ("src", "href")]


def test_figures_data_numbers_and_a_page_that_stands_alone(run: Runner, tmp_path: Path) -> None:
    out = tmp_path / "out"
    done = run("cost", "--ledger", "local", "--quick", "--out", out)
    assert done.code == 0
    assert "Reuse saves" in done.out
    page = (out / "report.html").read_text()
    links = Links(page).found
    assert {"#cost", "cost.svg", "cost.png", "cost.csv", "cost.json"} <= set(links)
    for link in links:
        assert link.startswith(("#", "data:image/svg+xml;base64,")) or (out / link).exists()
    assert json.loads((out / "cost.json").read_text())["command"] in page


def test_json_for_machines(run: Runner, tmp_path: Path) -> None:
    options = (
        "--ledger",
        "local",
        "--requests",
        "20",
        "--repetitions",
        "3",
        "--seed",
        "7",
        "--out",
        tmp_path,
        "--json",
    )
    first = run("cost", *options).json
    assert set(first["saving_epsilon"]) == {"median", "p5", "p95"}
    assert first["ours_over_bound"] == 1
    assert (first["requests"], first["repetitions"]) == (20, 3)
    assert first["command"].endswith("--ledger local --requests 20 --repetitions 3 --seed 7")
    assert run("cost", *options).json == first


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("costs",), "did you mean cost?"),
        (("42",), "expected cost, error"),
        (("cost", "--ledger", "cloud"), "expected local, chain"),
        (("cost", "--key", "key.json"), "--key works only together with --rpc"),
        (("cost", "--head", "newest"), "not a valid block name"),
        (("cost", "--rpc", "http://127.0.0.1:9"), "no key to sign with"),
    ],
)
def test_mistakes_are_one_sentence(run: Runner, tmp_path: Path, words: tuple[str, ...], says: str) -> None:
    done = run(*words, "--out", tmp_path / "out")
    assert (done.code, done.out) == (2, "")
    assert says in done.err
    assert not (tmp_path / "out").exists()


def test_interrupted_it_continues(tmp_path: Path) -> None:
    """A real Ctrl-C after some results; they are not computed again."""
    words = [*COMMAND, "cost", "--ledger", "local", "--requests", "100", "--repetitions", "12", "--out", str(tmp_path)]
    pieces = tmp_path / "pieces"
    with subprocess.Popen(words, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        while not (pieces.is_dir() and len(list(pieces.glob("*.json"))) >= 2):
            assert process.poll() is None, "it ended too soon"
            time.sleep(0.01)
        process.send_signal(signal.SIGINT)
        _, said = process.communicate()
    assert process.returncode == 130
    assert "the same command continues" in said
    before = {file.name: file.stat().st_mtime_ns for file in pieces.glob("*.json")}
    assert 2 <= len(before) < 12
    assert not (tmp_path / "cost.json").exists()
    subprocess.run(words, cwd=ROOT, check=True, capture_output=True)
    after = {file.name: file.stat().st_mtime_ns for file in pieces.glob("*.json")}
    assert len(after) == 12
    assert before.items() <= after.items()
    assert json.loads((tmp_path / "cost.json").read_text())["repetitions"] == 12


def test_on_a_chain_that_is_somebody_else_s(run: Runner, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    payer = local_chain.PLAY_ANALYSTS[2]
    with local_chain.running() as chain, Rpc(chain.url) as rpc:
        monkeypatch.setenv("NOISELEDGER_KEY", payer)
        words = ("--rpc", chain.url, "--requests", "10", "--repetitions", "1", "--json", "--out", tmp_path)
        done = run("cost", *words)
        assert done.code == 0, done.out + done.err
        assert done.json["ours_equals_bound"]
        # Both ledgers were the payer's: each a contract and five queries; money for worker and analyst, requests without reuse.
        address = Key.from_hex(payer).address
        assert int(rpc.call("eth_getTransactionCount", address, "latest"), 16) == 2 * (1 + 5) + 2 + 1
        others = [Key.from_hex(key).address for key in local_chain.PLAY_KEYS]
        assert all(int(rpc.call("eth_getTransactionCount", other, "latest"), 16) == 0 for other in others)
    assert payer.removeprefix("0x") not in done.out + done.err + "".join(
        file.read_text() for file in tmp_path.rglob("*.json")
    )


def test_all_of_them_in_one_report(run: Runner, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(suite, "EXPERIMENTS", {name: suite.EXPERIMENTS[name] for name in ("cost", "error", "noise")})
    done = run("all", "--ledger", "local", "--quick", "--out", tmp_path, "--json")
    assert list(done.json) == ["cost", "error", "noise"]
    assert done.json["cost"]["command"] == f"python -m evaluation cost --out {tmp_path} --ledger local --quick"
    links = set(Links((tmp_path / "report.html").read_text()).found)
    assert {"#cost", "#error", "#noise", "cost.csv", "error.csv", "noise.csv"} <= links


def test_every_experiment_has_its_words() -> None:
    text = subprocess.run(
        [*COMMAND, "--help"], cwd=ROOT, capture_output=True, text=True, check=True, env=os.environ | {"COLUMNS": "200"}
    ).stdout
    for name in suite.EXPERIMENTS:
        assert name in text


def test_without_a_name_it_lists_the_experiments(run: Runner) -> None:
    shown, listed = run(), run("--json")
    assert (shown.code, listed.code) == (0, 0)
    assert [experiment["name"] for experiment in listed.json["experiments"]] == list(suite.EXPERIMENTS)
    for experiment in listed.json["experiments"]:
        assert experiment["name"] in shown.out
        assert experiment["question"] in shown.out


@pytest.mark.parametrize("options", [(), ("--json",)])
def test_an_experiment_needs_a_folder(run: Runner, options: tuple[str, ...]) -> None:
    done = run("cost", *options)
    assert done.code == 2
    assert "--out DIR" in done.out + done.err


def test_noiseledger_has_no_such_command() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "noiseledger", "experiment", "cost"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 2
    assert "No such command" in done.stderr


def test_the_guide_lists_every_experiment_with_its_question() -> None:
    guide = (ROOT / "docs" / "how-to" / "run-the-experiments.md").read_text(encoding="utf-8")
    for name, experiment in suite.EXPERIMENTS.items():
        assert f"| `{name}` | {experiment.question} |" in guide
