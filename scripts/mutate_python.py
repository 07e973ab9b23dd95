"""Break the Python modules that carry the promise, one small thing at a time, and see that the tests of their package notice.

``make mutants`` draws 150; ``.venv/bin/python scripts/mutate_python.py --sample 40 --seed 7 core/budget.py custodian``
draws 40 others, from some modules or packages only; ``--all`` takes every one. A mutant runs against the tests that execute
its line, the quickest first. It is killed when a test fails, or takes ten times as long as usual: an endless loop is noticed
as well. It fails if less than 98% are killed: then a test is missing. A mutant that no test can tell apart belongs into
scripts/equivalent_mutants.toml, with the reason.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import signal
import sys
import time
import tomllib
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

from mutation import LEAST, Verdict
from mutation.baseline import Baseline, Case, is_under, measure
from mutation.generate import Mutant, is_another_program, mutants
from mutation.tree import ROOT, Tree, each, trees

PACKAGE = ROOT / "src" / "noiseledger"
EQUIVALENT = ROOT / "scripts" / "equivalent_mutants.toml"
KILLED_AT_LEAST = 0.98
#: How many tests are tried before all others, and for how long at most.
QUICK_TESTS, QUICK_SECONDS = 15, 10.0


@dataclass(frozen=True)
class Part:
    """Modules that carry the promise, and where the tests of their package are."""

    modules: tuple[str, ...]
    tests: tuple[str, ...]


def unit(*names: str) -> tuple[str, ...]:
    """Return test files of single parts."""
    return tuple(f"tests/unit/test_{name}.py" for name in names)


def integration(*names: str) -> tuple[str, ...]:
    """Return test files that need a chain."""
    return tuple(f"tests/integration/test_{name}.py" for name in names)


_DATA = (
    *unit(
        "catalogue",
        "commitment",
        "commitment_form",
        "line_count",
        "merkle",
        "pinned",
        "public_parts",
        "record_text",
        "table",
    ),
    *("tests/engines/test_files.py", "tests/engines/test_law.py", "tests/engines/test_one_state.py"),
    "tests/files_from_outside/test_files_that_are_refused.py",
)
PARTS = (
    Part(
        (
            *(
                "core/noise.py",
                "core/path.py",
                "core/coins.py",
                "core/budget.py",
                "core/privacy.py",
                "core/accuracy.py",
            ),
            *("core/sensitivity.py", "core/query.py", "core/groups.py", "core/condition.py", "core/filter.py"),
            *("core/_cells.py", "core/_diagram.py", "core/canonical.py", "core/request.py", "core/access.py"),
        ),
        (
            *unit("accuracy", "coins", "filter", "local_ledger", "noise", "path", "privacy", "query", "sensitivity"),
            *unit("catalogue", "table"),
            *("tests/property", "tests/statistical", "tests/conformance/test_local.py"),
        ),
    ),
    Part(("data/*.py", "data/engines/*.py"), _DATA),
    Part(("data/engines/postgres.py",), ("tests/engines/test_postgres.py",)),
    Part(("data/engines/mongodb.py",), ("tests/engines/test_mongodb.py",)),
    Part(("data/engines/spark.py",), ("tests/engines/test_spark.py",)),
    Part(
        (
            *("ledger/local.py", "ledger/store.py", "ledger/book.py", "ledger/bound.py", "ledger/history.py"),
            *("ledger/chain.py", "ledger/public.py", "ledger/mirror.py", "ledger/story.py", "ledger/snapshot.py"),
            *("ledger/admission.py", "ledger/governance.py"),
        ),
        (
            *unit("bound_ledger", "local_ledger", "restore", "store", "story"),
            "tests/conformance",
            *integration("mirror", "chain_ledger", "confirmations", "governance"),
            *(f"tests/faults/test_{name}.py" for name in ("kill", "fork", "broken_parts", "unusable_files")),
            "tests/attacks/test_racing.py",
        ),
    ),
    Part(
        tuple(f"custodian/{name}.py" for name in ("custody", "publish", "intent", "worker", "view", "recover")),
        (
            *unit("custody", "worker_parts", "restore"),
            *integration("worker", "worker_checks", "publish_once", "recover", "end_to_end", "service"),
            *("tests/faults/test_silence.py", "tests/faults/worker"),
        ),
    ),
    Part(("chain/sender.py",), integration("sender", "contract")),
    Part(("audit/*.py",), ("tests/audit", *unit("merkle"))),
)
#: They propose, show or fetch; nothing rests on them.
BESIDES = (
    *(f"data/{name}.py" for name in ("hints", "ipums", "location", "look", "look_kinds", "look_text", "toml_lines")),
    "data/engines/look.py",
    *(f"audit/{name}.py" for name in ("report", "shapes")),
)


@dataclass(frozen=True)
class Equivalent:
    """A mutant that no test can tell from its original."""

    name: tuple[str, str, str, str]
    why: str


def found_modules(wanted: Sequence[str]) -> dict[str, Part]:
    """Return the modules to mutate, each with its part; say which are not there."""
    found = dict[str, Part]()
    for part in PARTS:
        for pattern in part.modules:
            files = sorted(PACKAGE.glob(pattern))
            if not files:
                raise SystemExit(
                    f"scripts/mutate_python.py names {pattern}, which is not in {PACKAGE}: correct its list."
                )
            found |= {str(file.relative_to(PACKAGE)): part for file in files if file.name != "__init__.py"}
    for module in BESIDES:
        del found[module]
    if not wanted:
        return found
    chosen = {module: part for module, part in found.items() if is_under(module, [*wanted])}
    if missing := [name for name in wanted if not any(is_under(module, [name]) for module in found)]:
        raise SystemExit(f"Not among the modules that carry the promise: {', '.join(missing)}.")
    return chosen


def equivalents() -> list[Equivalent]:
    """Return the mutants that are known to be equivalent."""
    entries = tomllib.loads(EQUIVALENT.read_text(encoding="utf-8")).get("mutant", [])
    return [
        Equivalent((entry["module"], entry["function"], entry["line"], change), entry["why"])
        for entry in entries
        for change in entry["changes"]
    ]


def generated(modules: Sequence[str]) -> tuple[list[Mutant], list[tuple[Mutant, str]], int]:
    """Return the mutants of some modules, apart from them the equivalent ones, and how many entries are out of date."""
    every = [one for module in modules for one in mutants(module, (PACKAGE / module).read_text(encoding="utf-8"))]
    reasons = {entry.name: entry.why for entry in equivalents()}
    known = {mutant.name for mutant in every}
    stale = [name for name in reasons if name[0] in modules and name not in known]
    for module, function, line, change in stale:
        print(f"{EQUIVALENT.name} is out of date, think again: {module}, {function}: {line}\n      {change}")
    apart = [(mutant, reasons[mutant.name]) for mutant in every if mutant.name in reasons]
    return [mutant for mutant in every if mutant.name not in reasons], apart, len(stale)


def draw(seed: int, mutant: Mutant) -> bytes:
    """Return a mutant's place in the draw, by itself: what becomes of others, or of the lines around it, does not move it."""
    return hashlib.sha256("\n".join([str(seed), *mutant.name]).encode()).digest()


def test_files(parts: Sequence[Part]) -> list[str]:
    """Return the test files of some parts."""
    places = dict.fromkeys(place for part in parts for place in part.tests)
    found = dict[str, None]()
    for place in places:
        path = ROOT / place
        files = sorted(path.rglob("test_*.py")) if path.is_dir() else [path] if path.exists() else []
        if not files:
            raise SystemExit(
                f"scripts/mutate_python.py names the tests {place}, which are not there: correct its list."
            )
        found |= dict.fromkeys(str(file.relative_to(ROOT)) for file in files)
    return [*found]


def judge(mutant: Mutant, tree: Tree, baseline: Baseline, places: Sequence[str]) -> Verdict:
    """Run the tests that execute a mutant's line until one fails: first the likely ones, in few files, then all others."""
    cases = baseline.chosen(mutant.module, mutant.span, places)
    if not cases:
        return Verdict("survived", "no test executes the module")
    likely = likely_killers(mutant, cases)
    with tree.mutated(mutant.module, mutant.source):
        verdict = run_until_failure(tree, likely)
        if verdict.kind == "survived" and len(likely) < len(cases):
            verdict = run_until_failure(tree, [case for case in cases if case not in likely])
    return Verdict("survived", f"{len(cases)} tests") if verdict.kind == "survived" else verdict


def likely_killers(mutant: Mutant, cases: Sequence[Case]) -> list[Case]:
    """Return some quick tests, from the file with the module's name if there is one."""
    stem = mutant.module.rpartition("/")[2].removesuffix(".py").strip("_")
    named = [case for case in cases if stem in case.name.partition("::")[0]]
    likely, total = list[Case](), 0.0
    for case in named or cases[:QUICK_TESTS]:
        total += case.seconds
        if likely and total > QUICK_SECONDS:
            break
        likely.append(case)
    return likely


def run_until_failure(tree: Tree, cases: Sequence[Case]) -> Verdict:
    """Run tests on the tree as it is now, until one fails."""
    files = dict.fromkeys(case.name.partition("::")[0] for case in cases)
    notes, log = tree.run([*files], {case.name: case.limit for case in cases})
    for note in notes:
        if note.get("outcome") == "failed":
            return Verdict("killed", note["test"].removeprefix("tests/"))
    if not notes or notes[-1]["kind"] != "tree":
        started = [note["test"].removeprefix("tests/") for note in notes if note["kind"] == "start"]
        if not started:
            return Verdict("killed", "the tests cannot be imported")
        return Verdict("killed", f"{'time-out' if 'Timeout (' in log else 'the process ended'} in {started[-1]}")
    if not str(notes[-1]["file"]).startswith(str(tree.folder)):
        return Verdict("broken", f"not the mutant was tested, but {notes[-1]['file']}")
    if sum(note["kind"] == "call" for note in notes) < len(cases):
        return Verdict("broken", log[-2000:])
    return Verdict("survived")


def judged(
    waiting: Sequence[Mutant], modules: dict[str, Part], baseline: Baseline, copies: Sequence[Tree]
) -> Iterator[tuple[Mutant, Verdict, float]]:
    """Judge mutants, several at a time, and yield each verdict when it is there, with the seconds it took."""

    def run(tree: Tree, mutant: Mutant) -> tuple[Mutant, Verdict, float]:
        began = time.monotonic()
        verdict = judge(mutant, tree, baseline, modules[mutant.module].tests)
        return mutant, verdict, time.monotonic() - began

    return each(copies, run, waiting)


def options() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "modules", nargs="*", metavar="MODULE", help="such as core/budget.py or custodian (default: all)"
    )
    parser.add_argument("--sample", type=int, default=150, metavar="N", help="how many are drawn (default: 150)")
    parser.add_argument("--all", action="store_true", help="take every mutant")
    parser.add_argument("--seed", type=int, default=0, metavar="S", help="for the draw (default: 0)")
    parser.add_argument("--line", type=int, metavar="L", help="only mutants of this line")
    parser.add_argument(
        "--tests", nargs="+", metavar="PLACE", help="only these of the tests (default: all of the package)"
    )
    parser.add_argument("--list", action="store_true", help="only show the mutants")
    parser.add_argument(
        "--workers", type=int, default=os.cpu_count() or 1, metavar="W", help="at a time (default: all cores)"
    )
    return parser.parse_args()


def main() -> int:
    """Judge a sample of mutants, print each, and return 1 unless enough were killed."""
    chosen, began = options(), time.monotonic()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # so that the copies are removed
    modules = found_modules(chosen.modules)
    drawn, apart, stale = generated([*modules])
    total = len(drawn)
    if chosen.line is not None:
        drawn = [mutant for mutant in drawn if mutant.span[0] <= chosen.line <= mutant.span[1]]
    everything = chosen.all or chosen.line is not None
    shuffled = drawn if everything else sorted(drawn, key=lambda mutant: draw(chosen.seed, mutant))
    sources = {module: (PACKAGE / module).read_text(encoding="utf-8") for module in modules}
    sound = (mutant for mutant in shuffled if is_another_program(mutant, sources[mutant.module]))
    drawn = list(islice(sound, None if everything else chosen.sample))
    if chosen.list:
        print(*drawn, sep="\n")
        return 0
    count: Counter[str] = Counter()
    with trees(chosen.workers) as copies:
        files = test_files(list(dict.fromkeys(modules[mutant.module] for mutant in drawn)))
        baseline = measure([file for file in files if is_under(file, chosen.tests or ["tests"])], copies)
        for name in baseline.failed:
            print(f"      left out, since it fails without any mutant: {name}")
        ready = time.monotonic()
        for number, (mutant, verdict, seconds) in enumerate(judged(drawn, modules, baseline, copies), 1):
            count[verdict.kind] += 1
            print(f"{number:4}  {mutant}\n      {verdict} ({seconds:.0f} s)", flush=True)
            if verdict.kind == "survived":
                print(f"      function {mutant.function!r}, line {mutant.text!r}", flush=True)
    for mutant, why in apart:
        print(f"      equivalent: {mutant}  ({why})")
    rate = count["killed"] / max(len(drawn), 1)
    print(
        f"{len(drawn)} of {total} mutants in {len(modules)} modules, seed {chosen.seed}: {count['killed']} killed "
        f"({rate:.1%}), {count['survived']} survived, {count['broken']} broken, {len(apart)} equivalent left out; in "
        f"{time.monotonic() - began:.0f} s, {ready - began:.0f} of them to find out which test executes what"
    )
    enough = len(drawn) >= LEAST or bool(chosen.modules)
    return 0 if enough and rate >= KILLED_AT_LEAST and not baseline.failed and not stale else 1


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit("Interrupted; what the tests execute is kept for the next time.")
