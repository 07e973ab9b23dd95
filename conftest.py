"""Run the examples in README, docs and docstrings: what they show is what happens."""

from __future__ import annotations

import doctest
import os
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from sybil import Example, Sybil
from sybil.parsers.markdown import CodeBlockParser, PythonCodeBlockParser
from sybil.parsers.rest import DocTestParser

FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


def run_console(example: Example) -> None:
    """Run each line that starts with ``$`` and compare what it prints with the lines below it, where there are any."""
    for session in ("\n" + example.parsed).split("\n$ ")[1:]:
        command, _, shown = session.partition("\n")
        environment = {**os.environ, "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}", "COLUMNS": "100"}
        done = subprocess.run(  # noqa: S603 - our own documents
            shlex.split(command),
            env=environment,
            text=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            check=False,
        )
        checker = doctest.OutputChecker()
        if shown.strip() and not checker.check_output(shown.strip() + "\n", done.stdout.strip() + "\n", FLAGS):
            raise AssertionError(f"$ {command}\nexpected:\n{shown}\nprinted:\n{done.stdout}")


def enter_empty_folder(namespace: dict[str, Any]) -> None:
    """Let a document's examples write files where they do no harm."""
    namespace["_left"] = (Path.cwd(), tempfile.TemporaryDirectory())
    os.chdir(namespace["_left"][1].name)


def leave_folder(namespace: dict[str, Any]) -> None:
    """Go back, and remove what the examples wrote."""
    home, folder = namespace["_left"]
    os.chdir(home)
    folder.cleanup()


documents = Sybil(
    parsers=[PythonCodeBlockParser(doctest_optionflags=FLAGS), CodeBlockParser("console", run_console)],
    patterns=["README.md", "docs/**/*.md"],
    setup=enter_empty_folder,
    teardown=leave_folder,
)
docstrings = Sybil(parsers=[DocTestParser(FLAGS)], patterns=["src/**/*.py"])

pytest_collect_file = (documents + docstrings).pytest()
