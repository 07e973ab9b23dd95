"""What the tests do on the tree as it is: how long each takes, and whether it passes.

Kept under build/mutants, one file for each test file, until something changes on which it depends.
"""

from __future__ import annotations

import hashlib
import json
import time
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from threading import Lock
from typing import Any

from mutation.tree import ROOT, Tree

KEPT = ROOT / "build" / "mutants"
FORMAT = "3"  #: of what is kept
#: A test that takes so much longer than on the tree as it is hangs; the machine may be busier then.
PATIENCE, LEAST_SECONDS = 10, 30
#: Tests that take less come first: most mutants are killed by one of them.
QUICK_SECONDS = 0.1


@dataclass(frozen=True)
class Case:
    """One test: how long it takes, and how long the fixtures of its file take to get ready."""

    name: str
    seconds: float
    fixtures: float

    @property
    def limit(self) -> float:
        """How long it may take."""
        return LEAST_SECONDS + PATIENCE * (self.seconds + self.fixtures)


class Baseline:
    """What is known of test files; a file is run on the tree as it is when somebody first asks for its tests."""

    def __init__(self) -> None:
        KEPT.mkdir(parents=True, exist_ok=True)
        self._helpers = _helpers()
        self._cases: dict[str, list[Case]] = {}
        self._locks: defaultdict[str, Lock] = defaultdict(Lock)
        #: The tests that fail without any mutant, and how many seconds it took to find out how long the others take.
        self.failed: list[str] = []
        self.seconds = 0.0

    def cases(self, file: str, tree: Tree) -> list[Case]:
        """Return the tests of a file that pass, the quick ones first; ``tree`` has no mutant now."""
        with self._locks[file]:
            if file not in self._cases:
                self._cases[file] = self.take(self._known(file, tree))
            return self._cases[file]

    def take(self, kept: Mapping[str, Any]) -> list[Case]:
        """Take in what is known of one test file."""
        tests = kept["tests"].items()
        failed = [name for name, (_, outcome) in tests if outcome == "failed"]
        for name in failed:
            print(f"      left out, since it fails without any mutant: {name}", flush=True)
        self.failed += failed
        found = [Case(name, took, kept["fixtures"]) for name, (took, outcome) in tests if outcome == "passed"]
        # In two rounds, each in the order of the file, so that fixtures of classes are made twice at most.
        return sorted(found, key=lambda case: case.seconds >= QUICK_SECONDS)

    def _known(self, file: str, tree: Tree) -> Any:
        """Return what is known of a test file from an earlier run, or run it."""
        # From the copy, since somebody may write the next test in the meantime.
        text = (tree.folder / file).read_text(encoding="utf-8")
        place = KEPT / f"{_digest([self._helpers, file, text])}.json"
        if place.exists():
            return json.loads(place.read_text())
        began = time.monotonic()
        kept = run_once(tree, file)
        took = time.monotonic() - began
        self.seconds += took
        print(f"      {file} without a mutant: {len(kept['tests'])} tests, {took:.0f} s", flush=True)
        # What failed may have been bad luck: it is tried again the next time.
        if all(outcome != "failed" for _, outcome in kept["tests"].values()):
            place.write_text(json.dumps(kept))
        return kept


def is_under(test: str, places: Sequence[str]) -> bool:
    """Say whether a test is in one of some files or folders."""
    return any(test == place or test.startswith((f"{place}/", f"{place}::")) for place in places)


def run_once(tree: Tree, file: str) -> dict[str, Any]:
    """Run one test file on the tree as it is."""
    notes, log = tree.run([file])
    tests = dict[str, tuple[float, str]]()
    fixtures = 0.0
    for note in notes:
        if note["kind"] in ("setup", "call", "teardown"):
            seconds, outcome = tests.get(note["test"], (0.0, "passed"))
            worst = outcome if note["outcome"] == "passed" else note["outcome"]
            tests[note["test"]] = seconds + note["seconds"] * (note["kind"] == "call"), worst
            fixtures = max(fixtures, note["seconds"]) if note["kind"] == "setup" else fixtures
        elif note["kind"] == "collect":
            tests[note["test"]] = 0.0, "failed"
    # A run that ends before its last test would end for every mutant, and each would look killed.
    if not tests or notes[-1]["kind"] != "tree":
        print(f"      {file} has no tests, or they cannot all be run:\n{log[-2000:]}", flush=True)
        tests = {file: (0.0, "failed")}
    return {"tests": tests, "fixtures": fixtures}


def _helpers() -> str:
    """Return a digest of all that every test file may depend on."""
    package = [file for file in (ROOT / "src").rglob("*") if file.suffix in (".py", ".json", ".toml", ".html")]
    others = [file for file in (ROOT / "tests").rglob("*.py") if not file.name.startswith("test_")]
    return _digest([FORMAT, *sorted([*package, *others, ROOT / "conftest.py"])])


def _digest(parts: Iterable[Path | str]) -> str:
    digest = hashlib.sha256()
    for part in parts:
        digest.update(
            part.encode() if isinstance(part, str) else f"{part.relative_to(ROOT)}".encode() + part.read_bytes()
        )
    return digest.hexdigest()[:32]
