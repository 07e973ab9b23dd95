"""What the tests do on the tree as it is: how long each takes, and whether it passes.

Kept under build/mutants, one file for each test file, until something changes on which it depends.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from mutation.tree import ROOT, Tree, each

KEPT = ROOT / "build" / "mutants"
FORMAT = "2"  #: of what is kept
#: A test that takes so much longer than on the tree as it is hangs; the machine may be busier then.
PATIENCE, LEAST_SECONDS = 10, 60


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


@dataclass
class Baseline:
    """What is known of all tests."""

    #: The tests that pass, for each file in its order.
    cases: dict[str, list[Case]] = field(default_factory=dict)
    failed: list[str] = field(default_factory=list)

    def take(self, file: str, kept: Mapping[str, Any]) -> None:
        """Take in what is known of one test file."""
        tests = kept["tests"].items()
        self.failed += [name for name, (_, outcome) in tests if outcome == "failed"]
        self.cases[file] = [
            Case(name, took, kept["fixtures"]) for name, (took, outcome) in tests if outcome == "passed"
        ]


def is_under(test: str, places: Sequence[str]) -> bool:
    """Say whether a test is in one of some files or folders."""
    return any(test == place or test.startswith((f"{place}/", f"{place}::")) for place in places)


def measure(files: Sequence[str], trees: Sequence[Tree]) -> Baseline:
    """Run test files whose outcome is not known yet, several at a time, and return what is known of all."""
    KEPT.mkdir(parents=True, exist_ok=True)
    helpers = _helpers()
    known = {file: KEPT / f"{_digest([helpers, ROOT / file])}.json" for file in files}
    missing = [file for file in files if not known[file].exists()]

    results = dict[str, Any]()

    def run(tree: Tree, file: str) -> str:
        kept = results[file] = _measured(tree, file)
        # What failed may have been bad luck: it is tried again the next time.
        if all(outcome != "failed" for _, outcome in kept["tests"].values()):
            known[file].write_text(json.dumps(kept))
        seconds = sum(seconds for seconds, _ in kept["tests"].values())
        return f"{file}: {len(kept['tests'])} tests, {seconds:.0f} s"

    if missing:
        print(f"How long do the tests take? {len(missing)} of {len(files)} test files are run for that.", flush=True)
    for line in each(trees, run, missing):
        print(f"      {line}", flush=True)
    baseline = Baseline()
    for file in files:
        baseline.take(file, results[file] if file in results else json.loads(known[file].read_text()))
    return baseline


def _measured(tree: Tree, file: str) -> dict[str, Any]:
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
    if not tests:
        print(f"      {file} has no tests, or they cannot be run:\n{log[-2000:]}", flush=True)
        tests[file] = 0.0, "failed"
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
