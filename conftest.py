"""Run the examples in README, docs and docstrings: what they show is what happens."""

from __future__ import annotations

import doctest
import os
import shlex
import signal
import subprocess
import sys
import tempfile
from itertools import product
from pathlib import Path
from typing import Any

from sybil import Example, Sybil
from sybil.parsers.markdown import CodeBlockParser, PythonCodeBlockParser
from sybil.parsers.rest import DocTestParser

ROOT = Path(__file__).parent
# A shell starts background jobs with SIGINT ignored, and a process hands that on to those that it starts: tests that press
# Ctrl-C would wait for ever.
signal.signal(signal.SIGINT, signal.default_int_handler)

FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


class Terminal:
    """A shell's worth of state for the console examples of one document: variables, and what runs in the background."""

    def __init__(self) -> None:
        """Start with our own programs on the path, and with the modules that run in the repository only."""
        path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
        # What the examples publish belongs into no register of the user.
        self._state = tempfile.TemporaryDirectory(prefix="noiseledger-state-")
        os.environ["XDG_STATE_HOME"] = self._state.name
        self.environment = {**os.environ, "PATH": path, "PYTHONPATH": str(ROOT), "COLUMNS": "100"}
        self._running: list[subprocess.Popen[str]] = []

    def run(self, command: str) -> str:
        """Run a line as a shell would, and return what it prints; with ``&``, what it has printed once it is up."""
        words = [os.path.expandvars(word) for word in shlex.split(command)]
        if words[0] == "export":
            self.environment |= dict(word.split("=", 1) for word in words[1:])
            return ""
        if words[-1] == "&":
            return self._run_in_background(words[:-1])
        return subprocess.run(  # noqa: S603 - our own documents
            words, env=self.environment, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False
        ).stdout

    def _run_in_background(self, words: list[str]) -> str:
        process = subprocess.Popen(  # noqa: S603 - our own documents
            words, env=self.environment, text=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
        )
        self._running.append(process)
        return process.stdout.readline() if process.stdout else ""

    def close(self) -> None:
        """Stop what is running, the last first."""
        for process in reversed(self._running):
            process.terminate()
            process.communicate()
        del os.environ["XDG_STATE_HOME"]
        self._state.cleanup()


def run_console(example: Example) -> None:
    """Run each line that starts with ``$`` and compare what it prints with the lines below it, where there are any."""
    terminal: Terminal = example.namespace["_terminal"]
    for session in ("\n" + example.parsed).split("\n$ ")[1:]:
        command, _, shown = session.partition("\n")
        printed = terminal.run(command)
        checker = doctest.OutputChecker()
        if shown.strip() and not checker.check_output(shown.strip() + "\n", printed.strip() + "\n", FLAGS):
            raise AssertionError(f"$ {command}\nexpected:\n{shown}\nprinted:\n{printed}")


def enter_empty_folder(namespace: dict[str, Any]) -> None:
    """Let a document's examples write files where they do no harm."""
    namespace["_left"] = (Path.cwd(), tempfile.TemporaryDirectory())
    namespace["_terminal"] = Terminal()
    os.chdir(namespace["_left"][1].name)


def leave_folder(namespace: dict[str, Any]) -> None:
    """Stop what the examples started, go back, and remove what they wrote."""
    namespace["_terminal"].close()
    home, folder = namespace["_left"]
    os.chdir(home)
    folder.cleanup()


documents = Sybil(
    parsers=[PythonCodeBlockParser(doctest_optionflags=FLAGS), CodeBlockParser("console", run_console)],
    patterns=["README.md", "docs/**/*.md"],
    setup=enter_empty_folder,
    teardown=leave_folder,
)
# Before Python 3.13 two stars match one level only.
LEVELS = [f"{root}/{'*/' * depth}*.py" for root, depth in product(("src", "evaluation"), range(5))]
docstrings = Sybil(parsers=[DocTestParser(FLAGS)], patterns=LEVELS)

pytest_collect_file = (documents + docstrings).pytest()
