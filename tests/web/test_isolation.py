"""The web process has no access to data, journal or secrets: what it opens, connects to and answers is watched and compared."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any, cast
from urllib.parse import urlsplit

import httpx2
import pytest
import uvicorn

from command import COMMAND, Runner, bare_environment
from noiseledger.chain import local_chain
from noiseledger.client import Client
from noiseledger.data.table import Table
from noiseledger.demo.system import DemoSystem, web_pages
from noiseledger.ledger.file import LedgerFile
from noiseledger.web import server
from noiseledger.web.site import Site
from web.system import ANALYST, API, CUSTODIAN, DOWNLOADS, PAGES, PARTS, until

#: Runs in the web process before anything else does, and writes down what Python itself reports about it.
SPY = """
import json, os, sys

_log = os.open(os.environ["WEB_TEST_LOG"], os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
_watched = ("open", "sqlite3.connect", "socket.connect", "socket.bind", "subprocess.Popen", "pty.spawn", "ctypes.dlopen")

def _plain(part):
    return os.fspath(part) if hasattr(part, "__fspath__") else repr(part)

def _note(event, arguments):
    if event in _watched or event.startswith(("os.exec", "os.fork", "os.posix_spawn", "os.spawn", "os.system")):
        os.write(_log, (json.dumps([event, os.getpid(), arguments], default=_plain) + "\\n").encode())

sys.addaudithook(_note)
"""
_KEY = local_chain.PLAY_KEYS[0]
_WRITES = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_TRUNC


@dataclass(frozen=True)
class Watched:
    """The real server, and what is known of it from outside."""

    url: str
    log: Path

    @property
    def events(self) -> list[tuple[str, list[Any]]]:
        """What it did, in order."""
        return [(event, arguments) for event, _, arguments in map(json.loads, self.log.read_text().splitlines())]

    @property
    def process(self) -> int:
        """Its number; whatever it had started would have written down another."""
        (process,) = {json.loads(line)[1] for line in self.log.read_text().splitlines()}
        return int(process)

    def arguments(self, *names: str) -> list[list[Any]]:
        """What some kinds of events were about."""
        return [arguments for event, arguments in self.events if event in names]

    @property
    def opened(self) -> list[Path]:
        """The files that Python opened, by their real names."""
        return [Path(path).resolve() for path, *_ in self.arguments("open") if isinstance(path, str)]


@pytest.fixture(scope="module")
def truths(system: DemoSystem) -> dict[str, tuple[Fraction, ...]]:
    """The true answers, which nobody may ever see."""
    table, queries = Table.census_sample(), LedgerFile.read(system.ledger_file).queries
    return {name: query.value(table.totals(query), table.rows) for name, query in queries.items()}


@pytest.fixture(scope="module")
def watched(system: DemoSystem, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Watched]:
    """The real server beside the whole system, started by somebody whose environment is full of secrets."""
    folder = tmp_path_factory.mktemp("spy")
    (folder / "sitecustomize.py").write_text(SPY)
    log = folder / "log"
    with ExitStack() as stack:
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("PYTHONPATH", str(folder), prepend=os.pathsep)
            patch.setenv("WEB_TEST_LOG", str(log))
            patch.setenv("NOISELEDGER_KEY", _KEY)
            patch.setenv("NOISELEDGER_PASSWORD", "open sesame")
            url = stack.enter_context(web_pages(system, "--rate", "100000"))
        yield Watched(url, log)


@pytest.fixture(scope="module")
def bodies(watched: Watched, system: DemoSystem, python: Client) -> dict[str, str]:
    """Everything that the server answers, on every route, while requests are asked and answered."""
    with httpx2.Client(base_url=watched.url, timeout=30) as visitor:
        found = {path: visitor.get(path).text for path in every_path(visitor)}
        for path, body in (
            ("/api/v1/ask", {"query": "white", "within": "0.05", "analyst": ANALYST.address}),
            ("/api/v1/ask", {"query": "over_60", "within": "0.05"}),
            ("/api/v1/ask", {"query": "over_60", "within": "1e-9"}),
            ("/api/v1/ask", {"query": "over_6", "within": "1"}),
            ("/api/v1/pause", {"paused": True, "custodian": CUSTODIAN.address}),
            ("/api/v1/pause", {"paused": True, "custodian": ANALYST.address}),
        ):
            found[f"{path} {body}"] = visitor.post(path, json=body).text
        for query in ("white", "citizens", "mean_income"):
            # The amount is chosen so that no price looks like a true share: those have three digits only.
            python.ask(query, precision="0.02")
        spent = str(python.budget().spent)
        until(lambda: visitor.get("/api/v1/budget").json()["spent_exact"] == spent)
        until(lambda: visitor.get("/api/v1/health").json()["waiting"] == 0)
        again = every_path(visitor)
        found |= {f"{path} again": visitor.get(path).text for path in again}
        found |= {f"{path} part": visitor.get(path, headers={"HX-Request": "true"}).text for path in again}
    assert all(found.values())
    return found


def every_path(visitor: httpx2.Client) -> list[str]:
    """Return an address for each route that can be got."""
    queries = visitor.get("/api/v1/queries").json()
    history = visitor.get("/api/v1/history").json()["records"]
    return [
        *PAGES,
        *PARTS,
        *DOWNLOADS,
        *API,
        "/api/v1/openapi.json",
        "/nothing",
        "/static/page.css",
        f"/accounts/{ANALYST.address}",
        *[f"/queries/{query['identifier']}" for query in queries],
        *[f"/quote?query={query['name']}&within=1" for query in queries],
        *[f"/?query={query['name']}&way=privacy" for query in queries],
        *[f"/api/v1/best?query={query['name']}" for query in queries],
        *[f"/api/v1/quote?query={query['name']}&within=1" for query in queries],
        *[f"/{place}transactions/{record['transaction']}" for place in ("", "api/v1/") for record in history],
    ]


class TestWhatItTouches:
    @pytest.fixture(autouse=True)
    def _after_all_routes(self, bodies: dict[str, str]) -> None:
        """Look at it only after it has answered everything."""

    def test_no_file_of_the_custodian(self, watched: Watched, system: DemoSystem) -> None:
        opened = watched.opened
        # The watch works: it saw the public file, and our own templates.
        assert "ledger.json" in {path.name for path in opened}
        assert "ask.html" in {path.name for path in opened}
        assert not [path for path in opened if path.is_relative_to(system.folder.resolve())]
        assert not [path for path in opened if path.name in ("acs12.csv", "acs12.toml", "journal.ledger", "secret")]

    def test_no_database(self, watched: Watched) -> None:
        assert watched.arguments("sqlite3.connect") == []

    def test_no_program(self, watched: Watched) -> None:
        events = [event for event, _ in watched.events]
        assert set(events) <= {"open", "socket.connect", "socket.bind", "ctypes.dlopen", "subprocess.Popen"}
        # A library asks once, while it is imported, what kind of Python this is; nothing is run for visitors.
        for program, words, *_ in watched.arguments("subprocess.Popen"):
            assert (program, words[:2], Path(words[2]).resolve()) == (
                "file",
                ["file", "-b"],
                Path(sys.executable).resolve(),
            )
        assert "subprocess.Popen" not in events[events.index("socket.connect") :]
        children = Path(f"/proc/{watched.process}/task").glob("*/children")
        assert [file.read_text() for file in children if file.read_text()] == []

    def test_no_connection_but_to_chain_and_health(self, watched: Watched, system: DemoSystem) -> None:
        places = {tuple(arguments[1]) for arguments in watched.arguments("socket.connect")}
        expected = {("127.0.0.1", urlsplit(url).port) for url in (system.url, system.worker_health)}
        assert places == expected

    def test_nothing_is_written(self, watched: Watched) -> None:
        places = [Path(path) for path, _, flags in watched.arguments("open") if flags & _WRITES]
        assert {path for path in places if "__pycache__" not in path.parts} <= {Path(os.devnull)}

    def test_no_key_in_its_environment(self, watched: Watched) -> None:
        environment = Path(f"/proc/{watched.process}/environ").read_bytes().decode()
        assert "WEB_TEST_LOG" in environment
        assert not [name for name in ("NOISELEDGER_KEY", "NOISELEDGER_PASSWORD") if name in environment]
        for secret in (*local_chain.PLAY_KEYS, "open sesame"):
            assert secret.removeprefix("0x") not in environment

    def test_the_kernel_says_the_same(self, watched: Watched, system: DemoSystem) -> None:
        """Also what a library would open behind Python's back."""
        process, folder = Path(f"/proc/{watched.process}"), str(system.folder.resolve())
        held = [str(file.readlink()) for file in (process / "fd").iterdir()]
        assert str(watched.log) in held
        assert not [name for name in held if folder in name or name.endswith((".ledger", ".csv", ".db"))]
        maps = (process / "maps").read_text()
        assert "python" in maps
        assert folder not in maps

    def test_the_custodian_of_the_same_system_does_all_that(self, system: DemoSystem) -> None:
        """So the watch would have seen it: the worker holds the journal open."""
        held = [str(file.readlink()) for file in Path(f"/proc/{system.worker.pid}/fd").iterdir()]
        assert [name for name in held if name.endswith("journal.ledger")]


class TestWhatItSays:
    def test_never_a_true_answer(self, bodies: dict[str, str], truths: dict[str, tuple[Fraction, ...]]) -> None:
        assert set(truths) == {"mean_income", "citizens", "white", "over_60", "ages"}
        for name, values in truths.items():
            if len(values) == 1:
                truth = written(values[0])
                assert truth.search(f"<b>{float(values[0])}</b>")
                found = [place for place, body in bodies.items() if truth.search(body)]
                assert found == [], name

    def test_every_answer_has_noise(self, bodies: dict[str, str], truths: dict[str, tuple[Fraction, ...]]) -> None:
        answers = json.loads(bodies["/api/v1/history again"])["records"]
        answered = [answer for answer in answers if answer["values"]]
        assert {answer["name"] for answer in answered} == set(truths)
        for answer in answered:
            for value, truth in zip(answer["values"], truths[answer["name"]], strict=True):
                assert value != float(truth)
                assert value != round(value, 6)

    def test_never_a_secret(self, bodies: dict[str, str], system: DemoSystem) -> None:
        custody = system.ledger_file.parent
        secrets = [
            *local_chain.PLAY_KEYS,
            (custody / "journal.identity").read_text(),
            (custody / "secret").read_bytes().hex(),
        ]
        secrets += [(custody / "secret").read_text(errors="replace"), str(system.folder)]
        for secret in secrets:
            bare = secret.strip().removeprefix("0x")
            assert len(bare) > 15
            assert not [place for place, body in bodies.items() if bare in body]


def test_serving_leaves_the_limit_on_recursion_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """Any change of it is the business of the whole program; nested JSON is refused where it is read."""
    before, found = sys.getrecursionlimit(), list[int]()
    monkeypatch.setattr(server, "create_app", lambda site: site)
    monkeypatch.setattr(uvicorn.Server, "run", lambda *_, **__: found.append(sys.getrecursionlimit()))
    sys.setrecursionlimit(before + 7)
    try:
        server.serve(cast("Site", object()), "127.0.0.1", 0, on_listening=lambda _: None)
    finally:
        sys.setrecursionlimit(before)
    assert found == [before + 7]


class TestWhatItIsGiven:
    @pytest.mark.parametrize("name", ["NOISELEDGER_KEY", "NOISELEDGER_PASSWORD"])
    def test_a_key_is_refused(self, system: DemoSystem, tmp_path: Path, name: str) -> None:
        command = [str(COMMAND), "web", str(system.ledger_file), "--rpc", system.url, "--port", "0"]
        bare = {key: value for key, value in os.environ.items() if not key.startswith("NOISELEDGER_")}
        environment = bare | {name: _KEY, "XDG_CONFIG_HOME": str(tmp_path)}
        done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60, check=False)
        said = done.stdout + done.stderr
        assert done.returncode != 0
        assert f"env -u {name}" in said
        assert _KEY.removeprefix("0x") not in said
        assert "Traceback" not in said

    def test_a_local_ledger_is_refused(
        self, system: DemoSystem, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        """It is a journal: whoever serves it would hold it."""
        journal = system.ledger_file.with_name("journal.ledger")
        assert journal.read_bytes().startswith(b"SQLite")
        bare_environment(monkeypatch, tmp_path)
        done = Runner(monkeypatch, capsys)("web", journal, "--rpc", system.url, "--port", "0")
        assert done.code != 0
        assert "is a local ledger, but this needs a ledger on a chain" in done.out + done.err


def written(value: Fraction) -> re.Pattern[str]:
    """Find a number wherever it stands by itself, as Python or JSON write it or with thousands apart."""
    forms = {repr(float(value)), f"{float(value):,}"}
    return re.compile(r"(?<![\d.,])(" + "|".join(map(re.escape, forms)) + r")(?!\d)")
