"""Run a command in this process, as ``noiseledger`` itself would: a start of Python for each would take a second."""

from __future__ import annotations

import io
import json
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from noiseledger.cli import main
from noiseledger.cli.output import console

COMMAND = Path(sys.executable).with_name("noiseledger")
#: What the demo's requests turn out to be, one after the other.
DEMO_CASES = ["1", "2A", "1", "1", "2B", "2B", "2A", "2B", "1", "1", "2A"]
VARIABLES = ("LEDGER", "RPC", "KEY", "KEYFILE", "PASSWORD", "DEBUG")


class Terminal(io.StringIO):
    """Somebody who types."""

    def isatty(self) -> bool:
        return True


@dataclass(frozen=True)
class Done:
    """What came of a command."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)

    @property
    def error(self) -> str:
        """The kind of error, which must be a sentence and no traceback."""
        assert "Traceback" not in self.out + self.err
        return str(self.json["error"]["type"])


@dataclass(frozen=True)
class Runner:
    """Runs commands; with ``typed``, at a terminal."""

    monkeypatch: pytest.MonkeyPatch
    capsys: pytest.CaptureFixture[str]
    #: The program to run: ``noiseledger``, or another with the same way to report errors.
    program: Callable[[], None] = main

    def __call__(self, *arguments: str | Path, typed: str | None = None) -> Done:
        self.monkeypatch.setattr(sys, "argv", ["noiseledger", *map(str, arguments)])
        self.monkeypatch.setattr(sys, "stdin", io.StringIO() if typed is None else Terminal(typed))
        # Wide enough that no sentence is broken, whatever the terminal of whoever runs the tests.
        self.monkeypatch.setattr(console, "_width", 200)
        self.capsys.readouterr()
        with _same_signals(), pytest.raises(SystemExit) as stopped:
            self.program()
        out, err = self.capsys.readouterr()
        assert "Traceback" not in out + err
        code = stopped.value.code
        return Done(code if isinstance(code, int) else 0, out, err)


Run = Callable[..., Done]


@contextmanager
def _same_signals() -> Iterator[None]:
    """Take back what a command does on signals: some stop by an event that nobody waits for afterwards."""
    numbers = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    before = [signal.getsignal(number) for number in numbers]
    try:
        yield
    finally:
        for number, handler in zip(numbers, before, strict=True):
            signal.signal(number, handler)


def bare_environment(monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:
    """Let no setting of whoever runs the tests reach a command."""
    for name in VARIABLES:
        monkeypatch.delenv(f"NOISELEDGER_{name}", raising=False)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(folder / "config"))
    monkeypatch.setenv("COLUMNS", "120")
