"""A worker that runs for long: what it shows, logs and counts, and what it never says."""

# ruff: noqa: F401, F811 - fixtures are imported by name
from __future__ import annotations

import dataclasses
import io
import json
import os
import re
import signal
import socket
import sqlite3
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, suppress
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from integration.conftest import ANALYST, CUSTODIAN, WORKER, as_seen_by
from integration.test_worker import (
    OVER_30,
    OVER_60,
    QUERIES,
    TOWNS,
    Wire,
    buy,
    catalogue,
    check_all_answered,
    data,
    published,
    start,
    wire,
)
from noiseledger.chain import PrivacyLedgerContract, Rpc, Sender, local_chain
from noiseledger.custodian import Custody, Worker
from noiseledger.custodian.health import Health
from noiseledger.custodian.log import LOGGED, Log
from noiseledger.custodian.metrics import serving
from noiseledger.custodian.publish import publish
from noiseledger.custodian.service import Service
from noiseledger.custodian.worker import Step
from noiseledger.data.catalogue import Catalogue
from noiseledger.data.pinned import Pinned
from noiseledger.errors import (
    BudgetExceeded,
    ChainUnreachable,
    DataMismatch,
    InvalidInput,
    LedgerError,
    LedgerFull,
    LedgerNotFound,
    NoiseledgerError,
    NotAllowed,
)
from noiseledger.progress import (
    Confirmed,
    Listener,
    Looked,
    ProgressEvent,
    Refused,
    RevealedStretch,
    Stopped,
    TransactionReplaced,
    TransactionSent,
    Waiting,
)

Start = Callable[[], Worker]
COMMAND = Path(sys.executable).with_name("noiseledger")


class Scripted(Worker):
    """A worker whose steps are given: a step, or an error."""

    def __init__(self, *steps: Step | Exception) -> None:
        self.left = list(steps)

    def step(self) -> Step:
        step = self.left.pop(0)
        if isinstance(step, Exception):
            raise step
        return step


class Journal:
    """As much of a journal as a service asks for."""

    def budget(self) -> Any:
        return type("Budget", (), {"remaining": Fraction(3)})


def service(*listeners: Listener) -> Service:
    return Service(Journal(), list(listeners), Health())  # type: ignore[arg-type]


def run(served: Service, *steps: Step | Exception) -> list[Step]:
    """Let a service take some steps."""
    worker, stop, taken = Scripted(*steps), threading.Event(), list[Step]()

    def after(step: Step) -> None:
        taken.append(step)
        if not worker.left:
            stop.set()

    served.run(worker, stop, 0.0, after)
    return taken


def test_what_passes_is_waited_out() -> None:
    told: list[ProgressEvent] = []
    served = service(told.append)
    gone, full = ChainUnreachable("No answer."), LedgerFull("No space.")
    assert len(run(service(), gone, full, LedgerError("The disk failed."), Step())) == 4
    run(served, gone, gone, full, Step(), gone)
    assert told == [Waiting(type(error).__name__, str(error)) for error in (gone, full, gone)]
    assert served.health.errors == {"ChainUnreachable": 3, "LedgerFull": 1}
    assert not served.health.is_ok
    run(served, Step())
    assert served.health.is_ok


@pytest.mark.parametrize(
    "error",
    [DataMismatch("Another journal."), LedgerNotFound("The journal is gone."), NotAllowed("Another key reveals now.")],
)
def test_what_does_not_pass_ends_it(error: NoiseledgerError) -> None:
    served = service()
    with pytest.raises(type(error)):
        run(served, Step(), error)
    assert served.health.last_error == type(error).__name__


def test_a_refusal_is_news_once() -> None:
    told: list[ProgressEvent] = []
    served = service(told.append)
    error = BudgetExceeded(Fraction(2), Fraction(1))

    class Refusing(Scripted):
        def step(self) -> Step:
            step = super().step()
            for query, refusal in step.refused.items():
                served.notify(Refused(query, type(refusal).__name__, str(refusal)))
            return step

    for step in (Step(refused={"aa": error}), Step(refused={"aa": error}), Step(), Step(refused={"aa": error})):
        served.step(Refusing(step))
    assert told == [Refused("aa", "BudgetExceeded", str(error))] * 2
    assert served.health.refusals == 2
    assert served.health.refused == {"aa"}


def test_a_clock_that_jumps_does_no_harm(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ages and pauses come from a clock that never jumps; the wall clock is only shown."""
    times = iter([10.0**9, -(10.0**9)] * 100)
    monkeypatch.setattr(time, "time", lambda: next(times))
    served = service()
    started = time.monotonic()
    run(served, *[Step()] * 5)
    assert time.monotonic() - started < 5
    assert 0 <= served.health.age < 5
    assert served.health.is_ok


def test_a_worker_that_hangs_is_unwell(monkeypatch: pytest.MonkeyPatch) -> None:
    health = Health(stale_seconds=0.05)
    health.finished(set(), Fraction(1))
    assert health.is_ok
    time.sleep(0.1)
    assert not health.is_ok


def get(port: int, path: str) -> tuple[int, str]:
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}{path}", timeout=5) as reply:
            return reply.status, reply.read().decode()
    except urllib.error.HTTPError as error:
        with error:
            return error.code, error.read().decode()


def test_metrics_and_health_over_http(published: PrivacyLedgerContract, start: Start) -> None:
    buy(published, OVER_60, "0.5")
    buy(published, TOWNS, "0.5")
    worker = start()
    health = Health()
    served = Service(worker._journal, [], health)
    worker._notify = served.notify
    with serving(health, 0) as port:
        served.step(worker)
        status, body = get(port, "/metrics")
        assert status == 200
        for line in (
            "noiseledger_reveals_total 2.0",
            "noiseledger_refused_total 0.0",
            "noiseledger_waiting_requests 2.0",
            "noiseledger_refused_queries 0.0",
        ):
            assert line in body.splitlines()
        numbers = dict(line.rsplit(" ", 1) for line in body.splitlines() if not line.startswith("#"))
        assert float(numbers["noiseledger_journal_budget_remaining"]) == pytest.approx(2.39, abs=0.01)
        assert float(numbers["noiseledger_chain_head_block"]) > 0
        assert abs(float(numbers["noiseledger_last_step_timestamp"]) - time.time()) < 60
        assert get(port, "/health")[0] == 200
        health.failed("ChainUnreachable")
        status, body = get(port, "/health")
        assert (status, json.loads(body)["ok"], json.loads(body)["last_error"]) == (503, False, "ChainUnreachable")
        assert 'noiseledger_errors_total{kind="ChainUnreachable"} 1.0' in get(port, "/metrics")[1]
        assert get(port, "/secret")[0] == 404
        with pytest.raises(InvalidInput, match="choose another"), serving(health, port):
            pass
    with pytest.raises(OSError, match="refused"):
        get(port, "/health")


def test_every_event_of_the_log_is_one_line_of_json() -> None:
    stream = io.StringIO()
    log = Log(stream)
    log.on_event(TransactionSent("0x1", 3, (RevealedStretch("aa", Fraction(0), Fraction(1, 2)),)))
    log.on_event(Looked(newest=1, head=None, balance=2, waiting=3))  # at every step: too often for a log
    line = json.loads(stream.getvalue())
    assert line.pop("timestamp").endswith("Z")
    assert line == {
        "event": "sent",
        "transaction": "0x1",
        "nonce": 3,
        "stretches": [{"query": "aa", "start": 0.0, "end": 0.5}],
    }


def test_a_log_on_a_full_disk_costs_lines_only() -> None:
    stream = Path("/dev/full").open("w")  # noqa: SIM115 - it cannot even be closed without an error
    Log(stream).on_event(Stopped("stopped by a signal"))
    with suppress(OSError):
        stream.close()


def test_what_an_event_does_not_know_is_not_in_its_line() -> None:
    stream = io.StringIO()
    log = Log(stream)
    log.on_event(Waiting("NoHead", "There is no block."))
    log.on_event(TransactionReplaced("0x2", "0x1", 3))
    log.on_event(Confirmed("0x2", 9))
    lines = [json.loads(line) for line in stream.getvalue().splitlines()]
    assert [set(line) - {"timestamp"} for line in lines] == [
        {"event", "kind", "reason"},
        {"event", "transaction", "replaces", "nonce"},
        {"event", "transaction", "block", "stretches"},
    ]
    assert lines[2]["stretches"] == []


def test_the_log_names_fields_that_its_events_have() -> None:
    for event, (_, fields) in LOGGED.items():
        assert set(fields) <= {field.name for field in dataclasses.fields(event)}
    assert len({name for name, _ in LOGGED.values()}) == len(LOGGED)


# The command itself, as a process.


@pytest.fixture
def works(catalogue: Catalogue, rpc: Rpc, tmp_path: Path) -> Iterator[Callable[..., subprocess.Popen[str]]]:
    started: list[subprocess.Popen[str]] = []

    def begin(*arguments: str, key: str = local_chain.PLAY_KEYS[1], command: str = "work") -> subprocess.Popen[str]:
        environment = {**os.environ, "NOISELEDGER_KEY": key, "NOISELEDGER_RPC": rpc.url, "PYTHONUNBUFFERED": "1"}
        process = subprocess.Popen(
            [COMMAND, command, str(catalogue.file), *arguments],
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        started.append(process)
        return process

    yield begin
    for process in started:
        process.kill()
        process.communicate()


def until_answered(contract: PrivacyLedgerContract) -> None:
    give_up = time.monotonic() + 60
    while any(meter.revealed != meter.bought for meter in contract.meters([q.identifier for q in QUERIES])):
        assert time.monotonic() < give_up
        time.sleep(0.1)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_it_after_the_step(
    number: signal.Signals, published: PrivacyLedgerContract, works: Callable[..., subprocess.Popen[str]]
) -> None:
    buy(published, OVER_60, "0.5")
    process = works("--head", "latest", "--seconds", "30")
    until_answered(published)
    assert process.stdout is not None
    assert any("Revealed in block" in line for line in process.stdout)  # read up to there: the step is done
    process.send_signal(number)
    _, err = process.communicate(timeout=30)
    assert process.returncode == 0, err
    events = [json.loads(line)["event"] for line in err.splitlines()]
    assert events == ["started", "drawn", "sent", "confirmed", "stopped"]


def test_a_reader_that_left_does_not_end_it(
    published: PrivacyLedgerContract, works: Callable[..., subprocess.Popen[str]]
) -> None:
    process = works("--head", "latest", "--seconds", "0.1")
    assert process.stdout is not None
    assert process.stdout.readline().startswith("Working on")
    process.stdout.close()
    for precision in ("0.25", "0.5"):
        buy(published, OVER_60, precision)
        until_answered(published)
    process.terminate()
    assert process.wait(timeout=30) == 0


def secrets_of(catalogue: Catalogue, data: Pinned, published: PrivacyLedgerContract) -> set[str]:
    """Return everything that must never be said, as text."""
    custody = Custody.of(catalogue)
    private = {custody.secret_file.read_text().strip(), custody.identity_file.read_text().strip()}
    for query in QUERIES:
        private |= {str(total) for total in data.totals(query) if total > 9}
    with closing(sqlite3.connect(custody.journal_file)) as journal:
        for (coordinates,) in journal.execute("SELECT coordinates FROM point"):
            private |= set(coordinates.split())
    events = list(published.events(["Revealed"]))
    private |= {str(value) for event in events for value in event.fields["increments"]}
    return private | {local_chain.PLAY_KEYS[1].removeprefix("0x")}


def test_nothing_private_is_ever_said(
    published: PrivacyLedgerContract,
    works: Callable[..., subprocess.Popen[str]],
    catalogue: Catalogue,
    data: Pinned,
    rpc: Rpc,
    tmp_path: Path,
) -> None:
    """Neither in the terminal, the log, the metrics, nor in errors: of a good run, refusals, a lost node, a wrong journal."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    log = tmp_path / "work.log"
    before = rpc.call("evm_snapshot")
    buy(published, OVER_60, "3")
    process = works("--head", "latest", "--seconds", "0.1", "--metrics", str(port), "--log-file", str(log))
    until_answered(published)
    said = [get(port, "/metrics")[1], get(port, "/health")[1]]
    private = secrets_of(catalogue, data, published)
    rpc.call("evm_revert", before)  # the chain forgets, so that the journal's budget refuses
    buy(published, OVER_30, "3")
    give_up = time.monotonic() + 60
    while "noiseledger_refused_queries 1.0" not in said[-1]:
        assert time.monotonic() < give_up
        said.append(get(port, "/metrics")[1])
        time.sleep(0.1)
    process.terminate()
    said += process.communicate(timeout=30)
    assert process.returncode == 0
    said.append(log.read_text())
    private |= secrets_of(catalogue, data, published)
    # An old journal, a stranger's key, a chain without the ledger.
    stranger = works("--once", key=local_chain.PLAY_KEYS[2])
    said += stranger.communicate(timeout=60)
    assert stranger.returncode == 2
    rpc.call("anvil_setCode", published.address, "0x")
    gone = works("--once", "--json")
    said += gone.communicate(timeout=60)
    assert gone.returncode not in (0, 1)
    everything = re.sub(r'"timestamp": "[^"]*"', "", "\n".join(said))
    assert "Revealed in block" in everything
    assert '"event": "refused"' in everything
    assert "The ledger's worker is" in everything
    assert len(private) >= 7
    # As a number by itself: a short total may well be part of a longer number that is public.
    assert not [text for text in private if re.search(rf"(?<![0-9a-fx.]){re.escape(text)}(?![0-9a-f.])", everything)]


def test_a_node_that_is_gone_is_waited_for(tmp_path: Path, catalogue: Catalogue, data: Pinned) -> None:
    state = tmp_path / "chain.json"
    with ExitStack() as stack:
        chain = local_chain.start(state=state)
        stack.callback(chain.stop)
        with Rpc(chain.url) as rpc:
            contract = publish(catalogue, data, Sender(rpc, CUSTODIAN), WORKER.address)
        process = subprocess.Popen(
            [COMMAND, "work", str(catalogue.file), "--head", "latest", "--seconds", "0.1"],
            env={**os.environ, "NOISELEDGER_KEY": local_chain.PLAY_KEYS[1], "NOISELEDGER_RPC": chain.url},
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        stack.callback(process.communicate)
        stack.callback(process.kill)
        assert process.stdout is not None
        assert process.stdout.readline().startswith("Working on")
        chain.stop()
        assert process.stdout.readline().startswith("Waiting: No answer from the chain")
        again = local_chain.start(port=int(chain.url.rsplit(":", 1)[1]), state=state)
        stack.callback(again.stop)
        with Rpc(again.url) as rpc:
            same = PrivacyLedgerContract(rpc, contract.address)
            buy(same, OVER_60, "0.5")
            until_answered(same)
        process.terminate()
        process.communicate(timeout=30)
        assert process.returncode == 0


def test_recovering_by_the_command(
    published: PrivacyLedgerContract,
    works: Callable[..., subprocess.Popen[str]],
    catalogue: Catalogue,
    start: Start,
) -> None:
    buy(published, OVER_60, "0.5")
    start().step()
    buy(published, TOWNS, "0.5")
    Custody.of(catalogue).journal_file.unlink()
    lost = works("--once")
    assert "noiseledger recover people.toml" in lost.communicate(timeout=60)[1]
    assert lost.returncode == 2
    custodian, worker = local_chain.PLAY_KEYS[:2]
    unsure = works(command="recover", key=custodian)  # nobody is there to say yes
    out, _ = unsure.communicate(timeout=60)
    assert unsure.returncode == 1
    assert "continues" in out
    assert "closed for good" in out
    assert not Custody.of(catalogue).journal_file.exists()
    assert not list(Custody.of(catalogue).folder.glob("*.new"))
    for key, given in ((worker, f"this key is {WORKER.address}"), ("", "no key was given")):
        refused = works("--yes", command="recover", key=key)
        _, err = refused.communicate(timeout=60)
        assert refused.returncode == 2
        assert "may have answered towns, which must not be sold any more. Only the custodian" in err
        assert f"{given}: pass the custodian's key" in err
        assert "--without-custodian-key" in err
    assert not Custody.of(catalogue).journal_file.exists()
    assert not published.query_paused(TOWNS.identifier)
    agreed = works("--yes", "--without-custodian-key", command="recover", key=worker)
    out, err = agreed.communicate(timeout=60)
    assert agreed.returncode == 0, err
    assert "towns is closed and can still be bought. Stop selling it: noiseledger pause" in out
    assert "--query towns" in out
    loud = works("--once")
    out, err = loud.communicate(timeout=60)
    assert f"Still sold, and never answered because a journal was lost: {TOWNS.identifier}. Stop selling" in out
    said = [json.loads(line) for line in err.splitlines() if '"closed_queries"' in line]
    assert [(line["queries"], line["sold"]) for line in said] == [([TOWNS.identifier], [TOWNS.identifier])]
    Custody.of(catalogue).journal_file.unlink()  # and lost once more
    sure = works("--yes", "--json", command="recover", key=custodian)
    out, err = sure.communicate(timeout=60)
    assert sure.returncode == 0, err
    closed = {query["query"]: query["closed_until"] for query in json.loads(out)["queries"]}
    assert closed == {str(OVER_60): None, str(TOWNS): 0.5, str(OVER_30): None}
    assert not any(query["still_sold"] for query in json.loads(out)["queries"])
    assert published.query_paused(TOWNS.identifier)
    assert not published.query_paused(OVER_60.identifier)
    again = works("--yes", command="recover")
    assert "nothing to recover" in again.communicate(timeout=60)[1]


def test_the_documented_events_are_those_of_the_log() -> None:
    page = (Path(__file__).parents[2] / "docs" / "how-to" / "publish-and-work.md").read_text()
    assert all(f"`{event}`" in page for event, _ in LOGGED.values())
