"""What the tests do on the tree as it is: how long each takes, and which lines it executes.

Kept under build/mutants, one file for each test file, until something changes on which it depends.
"""

from __future__ import annotations

import hashlib
import json
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from coverage import CoverageData
from coverage.exceptions import CoverageException

from mutation.tree import ROOT, Tree, each
from mutation.watch import SETUP

KEPT = ROOT / "build" / "mutants"
FORMAT = "1"  #: of what is kept
#: A test that takes so much longer than on the tree as it is hangs.
PATIENCE, LEAST_SECONDS = 10, 30
#: Tests are chosen up to this many seconds; a mutant that outlives them has survived.
MOST_SECONDS = 300


@dataclass(frozen=True)
class Case:
    """One test: how long it takes, and how long the fixtures of its file take to get ready."""

    name: str
    seconds: float
    fixtures: float

    @property
    def cost(self) -> float:
        """How long it takes by itself."""
        return self.seconds + self.fixtures

    @property
    def limit(self) -> float:
        """How long it may take."""
        return LEAST_SECONDS + PATIENCE * self.cost


@dataclass
class Baseline:
    """What is known of all tests."""

    cases: dict[str, Case] = field(default_factory=dict)
    #: For each module and line the tests that execute it.
    lines: dict[tuple[str, int], set[str]] = field(default_factory=dict)
    failed: list[str] = field(default_factory=list)

    def take(self, kept: Mapping[str, Any]) -> None:
        """Take in what is known of one test file."""
        for name, (seconds, outcome) in kept["tests"].items():
            if outcome == "failed":
                self.failed.append(name)
            elif outcome == "passed":
                self.cases[name] = Case(name, seconds, kept["fixtures"])
        names = [name for name, (_, outcome) in kept["tests"].items() if outcome == "passed"]
        for module, lines in kept["lines"].items():
            for line, (tests, shared) in lines.items():
                # What a fixture executes counts for all tests of the file: they may share it.
                executing = names if shared else [kept["names"][index] for index in tests]
                self.lines.setdefault((module, int(line)), set()).update(self.cases.keys() & executing)

    def chosen(self, module: str, span: tuple[int, int], allowed: Sequence[str]) -> list[Case]:
        """Return the tests that execute some lines, the quickest first; if none does, those that execute the module."""
        found = self._executing((module, line) for line in range(span[0], span[1] + 1))
        found = found or self._executing(key for key in self.lines if key[0] == module)
        cases = sorted(
            (self.cases[name] for name in found if is_under(name, allowed)), key=lambda case: (case.cost, case.name)
        )
        total, kept = 0.0, list[Case]()
        for case in cases:
            total += case.seconds
            if total > MOST_SECONDS and kept:
                break
            kept.append(case)
        return kept

    def _executing(self, keys: Iterable[tuple[str, int]]) -> set[str]:
        return set[str]().union(*(self.lines.get(key, ()) for key in keys))


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
        print(
            f"Which lines do the tests execute? {len(missing)} of {len(files)} test files are run for that.", flush=True
        )
    for line in each(trees, run, missing):
        print(f"      {line}", flush=True)
    baseline = Baseline()
    for file in files:
        baseline.take(results[file] if file in results else json.loads(known[file].read_text()))
    return baseline


def _measured(tree: Tree, file: str) -> dict[str, Any]:
    """Run one test file on the tree as it is."""
    with tempfile.TemporaryDirectory() as folder:
        notes, log = tree.run([file], trace=Path(folder))
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
        names = sorted(tests)
        return {"tests": tests, "fixtures": fixtures, "names": names, "lines": _lines(tree, Path(folder), names)}


def _lines(tree: Tree, folder: Path, names: list[str]) -> dict[str, dict[int, tuple[list[int], bool]]]:
    """Return the executed lines of each module: the tests that did it, and whether a fixture did."""
    home, index = tree.folder / "src" / "noiseledger", {name: number for number, name in enumerate(names)}
    found = dict[str, dict[int, tuple[set[int], bool]]]()
    for part in folder.iterdir():
        data = CoverageData(str(part))
        try:
            data.read()
        except CoverageException:
            continue  # of a process that was killed
        for file in data.measured_files():
            if not Path(file).is_relative_to(home):
                raise SystemExit(f"The tests imported {file}, which is not the copy that mutants are put into.")
            module = found.setdefault(str(Path(file).relative_to(home)), {})
            for line, contexts in data.contexts_by_lineno(file).items():
                tests, shared = module.get(line, (set(), False))
                # A context of a process is "test (call)" if it began then; of this process "test"; at import "".
                ran = {index[name] for name in (text.removesuffix(" (call)") for text in contexts) if name in index}
                module[line] = tests | ran, shared or any(text.endswith(SETUP) for text in contexts)
    return {
        module: {line: (sorted(tests), shared) for line, (tests, shared) in lines.items() if tests or shared}
        for module, lines in found.items()
    }


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
