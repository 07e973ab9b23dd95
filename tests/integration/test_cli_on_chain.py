"""The analyst's commands against a real chain, with a real worker beside real data."""

from __future__ import annotations

import json
import os
import pty
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from command import COMMAND, Done, Runner, bare_environment
from integration.conftest import ANALYST, CUSTODIAN, WORKER
from integration.test_client import CATALOGUE, working
from noiseledger.chain import PrivacyLedgerContract, Rpc, Sender, local_chain
from noiseledger.chain.keys import save_key
from noiseledger.core.query import Query
from noiseledger.core.sensitivity import sensitivity
from noiseledger.custodian import Custody
from noiseledger.custodian.publish import publish
from noiseledger.data.catalogue import Catalogue, read_catalogue

HOSTILE = "[red]x\x1b]0;owned\x07"
# Copies three bytes of nothing to the caller, whatever is asked.
GARBAGE = "0x60036000f3"


@pytest.fixture
def catalogue(rpc: Rpc, tmp_path: Path) -> Catalogue:
    rows = [f"{age},{'Ulm' if age % 3 else 'Jena'}" for age in range(100)]
    (tmp_path / "people.csv").write_text("\n".join(["age,town", *rows, ""]))
    (tmp_path / "people.toml").write_text(CATALOGUE)
    read = read_catalogue(tmp_path / "people.toml")
    publish(read, Custody.of(read).pin(read), Sender(rpc, CUSTODIAN), WORKER.address)
    return read


@pytest.fixture
def run(
    url: str,
    catalogue: Catalogue,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> Runner:
    """The commands of an analyst who has set everything up; nobody answers yet."""
    bare_environment(monkeypatch, tmp_path)
    monkeypatch.setenv("NOISELEDGER_LEDGER", str(Custody.of(catalogue).ledger_file))
    monkeypatch.setenv("NOISELEDGER_RPC", url)
    monkeypatch.setenv("NOISELEDGER_KEY", local_chain.PLAY_KEYS[2])
    return Runner(monkeypatch, capsys)


def spent(run: Runner) -> Any:
    return run("budget", "--json").json["budget"]["spent_exact"]


def test_from_the_price_to_the_answer_and_back(url: str, catalogue: Catalogue, run: Runner) -> None:
    assert [q["name"] for q in run("queries", "--json").json["queries"]] == ["mean_age", "over_60", "towns"]
    with working(url, catalogue):
        paid = run("ask", "over_60", "--sigma", "0.02", "--also", "towns precision=0.5", "--yes")
        assert paid.code == 0
        assert [line.split()[0] for line in paid.err.splitlines()] == ["Sent", "Mined", "Revealed."]
        assert "left 77.88% (precision 2.641)" in paid.out
        more = run("ask", "over_60", "--precision", "0.5", "--yes", "--json")
    (answer,) = more.json["answers"]
    assert (answer["case"], answer["cost_exact"], more.err) == ("2B", "1/4", "")
    assert (len(answer["transaction"]), more.json["budget"]["spent_exact"]) == (66, "1")
    # Without worker, key, yes and terminal: what is known is free.
    run.monkeypatch.delenv("NOISELEDGER_KEY")
    free = run("ask", "over_60", "--sigma", "0.02", "--json").json["answers"][0]
    assert (free["values"], free["cost"], free["transaction"]) == (answer["values"], 0, None)
    keyless = run("ask", "mean_age", "--within", "20", "--yes")
    assert (keyless.code, "there is no key to sign with" in keyless.err) == (2, True)
    budget = run("budget", "--json").json
    assert {q["name"]: q["spent_exact"] for q in budget["queries"]} == {
        "mean_age": "0",
        "over_60": "1/2",
        "towns": "1/2",
    }
    records = run("history", "--json").json["records"]
    assert [(r["name"], r["case"], r["cost_exact"], r["naive_cost_exact"]) for r in records] == [
        ("over_60", "1", "1/4", "1/4"),
        ("towns", "1", "1/2", "1/2"),
        ("over_60", "2B", "1/4", "1/2"),
    ]
    assert {r["analyst"] for r in records} == {ANALYST.address}
    assert records[-1]["transaction"] == answer["transaction"]
    for command in ("queries", "budget", "history"):
        assert "over_60" in run(command).out


def test_a_worker_that_is_down_loses_nothing(rpc: Rpc, url: str, catalogue: Catalogue, run: Runner) -> None:
    assert run("doctor").code == 0
    pending = run("ask", "over_60", "--precision", "1", "--yes", "--wait", "0.2", "--json")
    assert (pending.code, pending.error) == (4, "AnswerPending")
    again = run("ask", "over_60", "--precision", "1", "--wait", "0.2")  # free, and still not there
    assert again.code == 4
    assert spent(run) == "1"
    waiting = run("doctor", "--json")
    assert (waiting.code, "has waited for" in waiting.json["checks"][-1]["found"]) == (0, True)
    with working(url, catalogue):
        assert run("ask", "over_60", "--precision", "1", "--json").json["answers"][0]["cost"] == 0
    assert "everything that was bought is answered" in run("doctor").out


def test_doctor_says_how_long_the_worker_keeps_people_waiting(
    run: Runner, rpc: Rpc, monkeypatch: pytest.MonkeyPatch
) -> None:
    run("ask", "over_60", "--precision", "1", "--yes", "--wait", "0")
    now = int(rpc.call("eth_getBlockByNumber", "latest", False)["timestamp"], 16)
    for minutes, status, code in ((5, "warning", 0), (30, "problem", 1)):
        monkeypatch.setattr("noiseledger.cli.waiting.time.time", lambda later=minutes: now + later * 60)
        done = run("doctor", "--json")
        assert (done.code, done.json["checks"][-1]["status"]) == (code, status)
        assert f"{minutes} min 0 s" in done.json["checks"][-1]["found"]


def test_an_answer_that_does_not_come_says_since_when_and_whom_to_ask(
    run: Runner, catalogue: Catalogue, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = Custody.of(catalogue).ledger_file
    file.write_text(file.read_text().replace('"contact": ""', '"contact": "data@office.example"'))
    whom = f"ask the custodian, {CUSTODIAN.address}, contact: data@office.example."
    request = ("ask", "over_60", "--precision", "1", "--yes", "--wait", "0")
    soon = run(*request)
    assert soon.code == 4
    assert f"it was bought in block {latest(run)}, at 20" in soon.err
    assert "Nothing is lost: send the same request again later, for free. If it is not answered by 20" in soon.err
    assert whom in soon.err
    monkeypatch.setattr("noiseledger.ledger.unanswered.OVERDUE_SECONDS", 0)
    late = run(*request, "--json")
    assert (late.code, late.error) == (4, "AnswerOverdue")
    assert "was bought and not answered since 20" in late.out
    assert whom in late.out
    # Nothing more of it is bought, while other queries are.
    more = run("ask", "over_60", "--precision", "2", "--yes", "--wait", "0")
    assert (more.code, "Nothing was bought: this query was bought and not answered since" in more.err) == (4, True)
    assert spent(run) == "1"
    # It is said before anybody confirms it or is asked for a key; a quote says it too, if it is of something to buy.
    with monkeypatch.context() as patch:
        patch.setattr("noiseledger.cli.commands.ask._agree", lambda plan, *, yes: pytest.fail("asked to confirm"))
        more = run("ask", "towns", "--precision", "0.5", "--also", "over_60 precision=2", "--wait", "0")
    identifier = Query.share("age > 60").identifier[:12]
    assert (more.code, f"Nothing was bought: the query {identifier} was bought and not" in more.err) == (4, True)
    assert "Nothing was bought: this query was bought and" in run("quote", "over_60", "--precision", "2").out
    assert "Nothing was bought" not in run("quote", "over_60", "--precision", "1").out
    run("ask", "towns", "--precision", "0.5", "--yes", "--wait", "0")
    assert spent(run) == "3/2"


def latest(run: Runner) -> Any:
    return run("history", "--json").json["records"][-1]["block"]


def test_doctor_checks_the_custody_folder_that_the_ledger_file_is_in(
    run: Runner, rpc: Rpc, catalogue: Catalogue, tmp_path: Path
) -> None:
    def queries() -> tuple[int, str, str]:
        done = run("doctor", "--json")
        found = [check for check in done.json["checks"] if check["name"] == "queries"]
        return done.code, found[0]["status"], found[0]["found"] + " " + found[0]["advice"]

    assert queries()[:2] == (0, "ok")
    text = catalogue.file.read_text()
    catalogue.file.write_text(text + '[queries.under_25]\nmeasure = "share"\nwhere = "age < 25"\n')
    code, status, said = queries()
    assert (code, status, "not for sale yet: under_25." in said) == (0, "warning", True)
    assert f"noiseledger publish {catalogue.file}" in said
    catalogue.file.write_text(text.replace("epsilon", "epsilom"))
    code, status, said = queries()
    assert (code, status, "none could be started" in said) == (1, "problem", True)
    catalogue.file.write_text(text)
    address = json.loads(Custody.of(catalogue).ledger_file.read_text())["address"]
    stray = Query.share("age < 26")
    ledger = PrivacyLedgerContract(rpc, address, Sender(rpc, CUSTODIAN))
    ledger.register(stray, sensitivity(stray, ledger.terms().population))
    code, status, said = queries()
    assert (code, status) == (1, "problem")
    assert f"not in the journal: {stray.identifier[:12]}. Write it into the catalogue" in said
    # A copy of the ledger file elsewhere, as analysts have it, says nothing about custody.
    copy = tmp_path / "ledger.json"
    copy.write_text(Custody.of(catalogue).ledger_file.read_text())
    assert "queries" not in [check["name"] for check in run("doctor", copy, "--json").json["checks"]]


@pytest.fixture(scope="module")
def keystore(tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("key") / "key.json"
    save_key(ANALYST, file, "right")
    return file


def test_keys(run: Runner, keystore: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    request = ("ask", "over_60", "--precision", "0.25", "--yes", "--wait", "0", "--json")
    wrong: list[Done] = []
    monkeypatch.setenv("NOISELEDGER_PASSWORD", "wrong")
    wrong.append(run(*request, "--key", keystore))
    monkeypatch.setenv("NOISELEDGER_KEYFILE", str(keystore))
    wrong.append(run(*request))
    assert "Both" in wrong[-1].out
    monkeypatch.setenv("NOISELEDGER_KEYFILE", str(tmp_path / "absent"))
    monkeypatch.delenv("NOISELEDGER_KEY")
    wrong.append(run(*request))
    monkeypatch.delenv("NOISELEDGER_KEYFILE")
    wrong.append(run(*request, "--key", local_chain.PLAY_KEYS[2]))
    monkeypatch.setenv("NOISELEDGER_KEY", "12345")
    wrong.append(run(*request))
    assert run("budget").code == 0  # who reads needs no key
    assert "NOISELEDGER_KEY is not a private key" in run("doctor").out.replace("\n", " ")
    assert [(done.code, done.error) for done in wrong] == [(2, "InvalidInput")] * 5
    assert not any(secret in done.out for done in wrong for secret in (local_chain.PLAY_KEYS[2][2:], "12345"))
    monkeypatch.setenv("NOISELEDGER_KEY", "11" * 32)
    poor = run(*request)
    assert (poor.code, poor.error) == (5, "NoFunds")
    assert "has no coins to pay the chain's fees" in run("doctor").out.replace("\n", " ")
    assert spent(run) == "0"
    monkeypatch.delenv("NOISELEDGER_KEY")
    monkeypatch.setenv("NOISELEDGER_PASSWORD", "right")
    settings = tmp_path / "config" / "noiseledger" / "config.toml"
    settings.parent.mkdir(parents=True)
    settings.write_text(f'key = "{keystore}"\n')
    assert run(*request).code == 4  # paid for
    assert spent(run) == "1/4"


def test_the_wrong_place(
    run: Runner, rpc: Rpc, catalogue: Catalogue, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = Custody.of(catalogue).ledger_file
    other = tmp_path / "other.json"
    other.write_text(file.read_text().replace('"chain_id": 31337', '"chain_id": 1'))
    nothing, garbage = "0x" + "11" * 20, "0x" + "22" * 20
    rpc.call("anvil_setCode", garbage, GARBAGE)
    reverts = "0x" + "33" * 20
    rpc.call("anvil_setCode", reverts, "0x60006000fd")
    for place, says in (
        (other, "on chain 1"),
        (nothing, "no contract"),
        (garbage, "not a ledger"),
        (reverts, "not a ledger"),
    ):
        done = run("ask", "over_60", place, "--precision", "1", "--yes")
        assert (done.code, done.out, done.err.count("\n")) == (5, "", 1)
        assert says in done.err
        assert run("doctor", place, "--json").code == 1
    down = run("budget", "--rpc", "http://127.0.0.1:1", "--json")
    assert (down.code, down.error) == (5, "ChainUnreachable")
    assert run("budget", "--rpc", "nonsense", "--json").code == 5
    sick = run("doctor", "--rpc", "http://127.0.0.1:1")
    assert (sick.code, "noiseledger chain runs one" in sick.out.replace("\n", " ")) == (1, True)
    monkeypatch.setenv("NOISELEDGER_LEDGER", json.loads(file.read_text())["address"])
    assert run("queries").code == 0


def test_other_refusals(run: Runner) -> None:
    hint = run("ask", "over_6", "--precision", "1", "--yes")
    assert (hint.code, "did you mean over_60?" in hint.err) == (2, True)
    for accuracy in (
        ("--epsilon", "0"),
        ("--epsilon", "1e9"),
        ("--epsilon", "nan"),
        ("--epsilon", "1", "--delta", "1"),
    ):
        bad = run("ask", "over_60", "--delta", "1e-5", *accuracy, "--yes", "--json")
        assert (bad.code, bad.error) == (2, "InvalidInput")
    gone = run("ask", "over_60", "--precision", "100", "--yes", "--json")
    assert (gone.code, gone.error) == (3, "BudgetExceeded")
    assert spent(run) == "0"


def test_a_ledger_file_that_is_older_than_a_query_says_so_once(run: Runner, catalogue: Catalogue) -> None:
    run("ask", "towns", "--precision", "0.5", "--yes", "--wait", "0")
    file = Custody.of(catalogue).ledger_file
    content = json.loads(file.read_text())
    query = Query.parse(content["queries"].pop("towns")).identifier[:12]
    file.write_text(json.dumps(content))
    said = (
        f"There is a query that this ledger file does not name ({query}): ask the custodian for the newest ledger.json."
    )
    for words in (("queries",), ("budget",), ("history",), ("quote", query, "--precision", "1")):
        assert run(*words).out.count(said) == 1, words
    shown, (late,) = run("budget").out, run("budget", "--json").json["unanswered"]
    assert "Bought and not answered since 20" in shown
    assert f": {query} (block {late['block']}). What to do about it: noiseledger doctor" in shown
    assert said not in run("quote", "over_60", "--precision", "1").out
    # Somebody knows the name from a newer file, or from the web page.
    for command in ("quote", "ask"):
        missing = run(command, "towns", "--precision", "1")
        assert (missing.code, "This ledger file does not contain a query 'towns'" in missing.err) == (2, True)
        assert said in missing.err

    def stop(*_: Any, **__: Any) -> None:
        raise KeyboardInterrupt

    run.monkeypatch.setattr("noiseledger.cli.commands.watch._look", stop)
    assert run("watch").out.count(said) == 1
    (row,) = run("quote", query, "--precision", "1", "--json").json["requests"]
    assert row["name"] == query
    file.write_text(json.dumps(content | {"queries": {}}))
    assert (
        "does not name" not in run("quote", "towns", "--precision", "1").err
    )  # it has no names at all, like an address


def test_hostile_names_are_shown_and_not_obeyed(run: Runner, catalogue: Catalogue) -> None:
    file = Custody.of(catalogue).ledger_file
    content = json.loads(file.read_text())
    content["queries"][HOSTILE] = content["queries"].pop("over_60")
    file.write_text(json.dumps(content))
    run("ask", HOSTILE, "--precision", "1", "--yes", "--wait", "0")
    for words in (
        ("queries",),
        ("budget",),
        ("history",),
        ("quote", HOSTILE, "--precision", "2"),
        ("ask", "unknown", "--sigma", "1"),
    ):
        shown = run(*words)
        assert not set("\x1b\x07") & set(shown.out + shown.err)
        assert words[0] == "ask" or "[red]x�]0;owned�" in shown.out


@pytest.fixture
def environment(run: Runner) -> dict[str, str]:
    """What a real process gets: all that ``run`` has set up."""
    return {**os.environ, "NO_COLOR": "1"}


def test_at_a_terminal_one_is_asked_and_ctrl_c_loses_nothing(
    url: str, catalogue: Catalogue, run: Runner, environment: dict[str, str]
) -> None:
    ours, theirs = pty.openpty()
    asking = subprocess.Popen(
        [COMMAND, "ask", "over_60", "--precision", "1"],
        env=environment,
        stdin=theirs,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    os.write(ours, b"y\n")
    assert asking.stderr is not None
    said = ""
    while "Mined" not in said:
        line = asking.stderr.readline()
        assert line, said  # it has ended
        said += line
    asking.send_signal(signal.SIGINT)
    _, rest = asking.communicate(timeout=60)
    assert asking.returncode == 130
    assert "Use 29.49% of the privacy budget (100% is left now)?" in said
    assert "nothing is lost: run the same command again to get the answer for free." in rest
    assert "Traceback" not in rest
    os.close(ours)
    os.close(theirs)
    with working(url, catalogue):
        assert run("ask", "over_60", "--precision", "1", "--json").json["answers"][0]["cost"] == 0


@pytest.fixture
def watching(environment: dict[str, str]) -> Iterator[subprocess.Popen[str]]:
    command = [str(COMMAND), "watch", "--json", "--seconds", "0.05"]
    process = subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    yield process
    process.kill()
    process.communicate()


def test_watching_shows_what_happens(
    url: str, catalogue: Catalogue, run: Runner, watching: subprocess.Popen[str]
) -> None:
    def line() -> dict[str, Any]:
        assert watching.stdout is not None
        found: dict[str, Any] = json.loads(watching.stdout.readline())
        return found

    first = line()
    assert (first["event"], first["budget"]["spent"]) == ("watching", 0)
    with working(url, catalogue):
        answer = run("ask", "over_60", "--precision", "0.5", "--yes", "--json").json["answers"][0]
        run("ask", "over_60", "--precision", "1", "--yes", "--json")
    asked, revealed, more, last = (line() for _ in range(4))
    assert (asked["event"], asked["analyst"], asked["case"]) == ("asked", ANALYST.address, "1")
    assert asked["remaining"] == pytest.approx(3.39063 - 0.5, abs=1e-4)
    assert (revealed["event"], revealed["values"]) == ("revealed", answer["values"])
    assert (more["event"], more["case"], more["cost_exact"]) == ("asked", "2B", "1/2")
    assert (last["event"], last["precision_exact"]) == ("revealed", "1")
    watching.send_signal(signal.SIGINT)
    assert watching.wait(60) == 0
