"""The demo as someone who has never seen the system runs it."""

from __future__ import annotations

import json
import os
import pty
import re
import signal
import subprocess
import sys
import urllib.request
from pathlib import Path

import pytest

from command import DEMO_CASES

COMMAND = [sys.executable, "-m", "noiseledger", "demo"]


def children_left(mark: str) -> list[str]:
    """Return the processes that carry a mark in their environment."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            if mark.encode() in (folder / "environ").read_bytes():
                found.append((folder / "cmdline").read_text().replace("\0", " "))
        except OSError:
            continue
    return found


def test_three_analysts_pay_less_than_naive_and_one_request_is_refused() -> None:
    mark = f"NOISELEDGER_TEST_MARK=json-{os.getpid()}"
    environment = os.environ | dict([mark.split("=")])
    done = subprocess.run(
        [*COMMAND, "--json"], env=environment, capture_output=True, text=True, check=True, timeout=300
    )
    result = json.loads(done.stdout)
    assert [a["case"] for a in result["answers"]] == DEMO_CASES
    assert result["spent"] == pytest.approx(sum(a["cost"] for a in result["answers"]))
    assert result["spent"] < result["naive_spent"]
    assert result["web_spent"] == result["spent"]
    assert result["refused"]["missing"] > 0
    assert result["coins"] == {"Ada": 0, "Ben": 0, "Cleo": 0}
    assert all((a["transaction"] is None) == (a["cost"] == 0) for a in result["answers"])
    assert children_left(mark) == []


def test_on_a_terminal_it_stays_up_until_it_is_interrupted() -> None:
    mark = f"NOISELEDGER_TEST_MARK=terminal-{os.getpid()}"
    ours, theirs = pty.openpty()
    environment = os.environ | dict([mark.split("=")]) | {"COLUMNS": "160"}
    process = subprocess.Popen(COMMAND, env=environment, stdin=theirs, stdout=theirs, stderr=theirs)
    os.close(theirs)
    try:
        shown = read_until(ours, "Ctrl-C stops everything")
        assert "Refused" in shown
        assert "free" in shown
        assert "noiseledger ask over_60" in shown
        address = re.search(r"http://127.0.0.1:\d+/budget", shown)
        assert address
        assert "privacy budget" in urllib.request.urlopen(address[0]).read().decode()
        # The chain, the worker, the relay, the web pages and the demo itself.
        assert len(children_left(mark)) >= 5
        process.send_signal(signal.SIGINT)
        assert process.wait(60) == 0
    finally:
        process.kill()
        process.wait()
        os.close(ours)
    assert children_left(mark) == []


def read_until(terminal: int, text: str) -> str:
    shown = ""
    while text not in shown:
        try:
            part = os.read(terminal, 4096)
        except OSError:  # the other end is closed
            break
        shown += part.decode(errors="replace")
    assert text in shown, shown
    return shown
