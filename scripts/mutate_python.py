"""Change the Python modules that carry the promise in small ways, one at a time, and check that their tests notice.

``make mutants`` draws 150; ``.venv/bin/python scripts/mutate_python.py --sample 40 --seed 7 core/budget.py custodian``
draws 40 others, from some modules or packages only; ``--all`` takes every one. A mutant runs against the test files that are
named for its module below, the quickest first, until a test fails. It is killed when one does, or takes ten times as long as
usual: an endless loop is noticed as well. It fails if less than 98% are killed: then a test is missing. A mutant that no test
can tell apart belongs into scripts/equivalent_mutants.toml, with the reason.
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
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice

from mutation import LEAST, Verdict
from mutation.baseline import Baseline, Case, is_under
from mutation.generate import Mutant, is_another_program, mutants
from mutation.tree import ROOT, Tree, each, trees

PACKAGE = ROOT / "src" / "noiseledger"
EQUIVALENT = ROOT / "scripts" / "equivalent_mutants.toml"
KILLED_AT_LEAST = 0.98


@dataclass(frozen=True)
class Part:
    """Modules that carry the promise, and the files of tests that must notice, the quickest first."""

    modules: tuple[str, ...]
    tests: tuple[str, ...]


def unit(*names: str) -> tuple[str, ...]:
    """Return test files of single parts."""
    return tuple(f"tests/unit/test_{name}.py" for name in names)


def integration(*names: str) -> tuple[str, ...]:
    """Return test files that need a chain."""
    return tuple(f"tests/integration/test_{name}.py" for name in names)


def audit(*names: str) -> tuple[str, ...]:
    """Return test files of audits."""
    return tuple(f"tests/audit/test_{name}.py" for name in names)


def engines(*names: str) -> tuple[str, ...]:
    """Return test files of data engines."""
    return tuple(f"tests/engines/test_{name}.py" for name in names)


_REFUSED = "tests/files_from_outside/test_files_that_are_refused.py"
_LOCAL = "tests/conformance/test_local.py"
_NOISE = audit("noise_tests", "residuals", "with_data", "audit_power")
PARTS = (
    Part(("core/noise.py",), (*unit("noise"), "tests/faults/test_fork.py", "tests/statistical/test_noise_law.py")),
    Part(("core/path.py",), (*unit("path"), _LOCAL, "tests/statistical/test_path_law.py")),
    Part(("core/coins.py",), (*unit("coins"), "tests/statistical/test_bridge_law.py")),
    Part(("core/privacy.py",), (*unit("privacy"), "tests/contract/test_artifact.py")),
    Part(("core/numbers.py",), unit("numbers", "display", "privacy", "query")),
    Part(
        ("core/budget.py", "core/accuracy.py", "core/request.py"), (*unit("budget", "accuracy", "local_ledger"), _LOCAL)
    ),
    Part(("core/sensitivity.py",), unit("sensitivity", "query")),
    Part(
        ("core/query.py", "core/groups.py", "core/one_column.py", "core/date_groups.py", "core/group_product.py"),
        (*unit("query", "table", "catalogue", "sensitivity"), _LOCAL),
    ),
    Part(
        tuple(f"core/combination/{name}.py" for name in ("__init__", "cells", "linear", "price", "record", "rows")),
        (*unit("combination"), "tests/property/test_combination_law.py"),
    ),
    Part(("core/zones.py",), (*unit("zones"), "tests/property/test_reach.py")),
    Part(("core/access.py",), unit("catalogue")),
    Part(("core/relay_address.py",), unit("relay_address")),
    Part(("core/codebook.py",), unit("codebook")),
    Part(
        (
            "core/filters/condition.py",
            "core/filters/filter.py",
            "core/filters/cells.py",
            "core/filters/date_parts.py",
            "core/filters/days.py",
            "core/filters/joins.py",
            "core/filters/diagram.py",
            "core/filters/canonical.py",
            "core/filters/reader.py",
            "core/filters/sql.py",
            "core/filters/tokens.py",
        ),
        (*unit("filter", "table"), "tests/property/test_filter_dates.py", "tests/property/test_filter_canonical.py"),
    ),
    Part(("data/declared_zones.py", "data/zone_words.py"), unit("catalogue", "doubts", "zone_words")),
    Part(
        ("data/catalogue.py", "data/declared.py", "data/declared_codebook.py", "data/public_parts.py"),
        (*unit("catalogue", "codebook", "public_parts"), _REFUSED),
    ),
    Part(
        (
            "data/commitment/commitment.py",
            "data/commitment/proof.py",
            "data/commitment/secret.py",
            "data/commitment/hashes.py",
            "data/commitment/merkle.py",
            "data/record.py",
        ),
        unit("commitment", "commitment_form", "merkle", "record_text"),
    ),
    Part(("data/origin.py", "data/server_place.py"), unit("location", "second_promise")),
    Part(("data/fingerprint.py", "data/pinned.py"), unit("pinned", "bound_ledger", "table")),
    Part(("data/source.py", "data/table.py"), (*unit("table", "local_ledger", "sensitivity"), _LOCAL)),
    Part(("data/small.py",), unit("location", "extras")),
    Part(("data/reading.py",), (*unit("reading", "codebook", "table", "record_text"), *engines("files"))),
    Part(("data/delimited.py", "data/formats.py"), (*unit("delimited"), _REFUSED, *engines("files"))),
    Part(
        tuple(f"data/engines/{name}.py" for name in ("files", "relation", "sums", "kinds", "line_count", "digest")),
        (*unit("line_count"), *engines("files", "one_state"), _REFUSED),
    ),
    Part(("data/engines/postgres.py",), engines("postgres")),
    Part(("data/engines/mongodb.py",), engines("mongodb")),
    Part(("data/engines/spark.py",), engines("spark")),
    Part(
        (
            *(f"ledger/{name}.py" for name in ("local", "editions", "bound", "book", "siblings", "interface")),
            "core/zone_budget.py",
        ),
        (
            *unit("local_ledger", "bound_ledger", "restore", "editions"),
            *("tests/attacks/test_restored_journal.py", _LOCAL, "tests/faults/test_fork.py"),
        ),
    ),
    Part(("custodian/journal.py",), (*unit("restore", "editions"), *integration("worker_checks", "worker", "recover"))),
    Part(
        ("ledger/durable.py", "ledger/file.py"),
        (
            *unit("custody", "ledger_file", "commitment_form", "second_promise", "codebook"),
            *integration("publish_once", "client"),
        ),
    ),
    Part(
        ("ledger/store.py",),
        (
            *unit("store", "local_ledger"),
            *(f"tests/faults/test_{name}.py" for name in ("unusable_files", "broken_parts", "kill", "fork")),
            "tests/attacks/test_racing.py",
        ),
    ),
    Part(
        tuple(f"ledger/{name}.py" for name in ("public", "reading", "purchase", "chain", "admission")),
        (*integration("chain_ledger", "governance"), *unit("ledger_state"), "tests/conformance/test_chain.py"),
    ),
    Part(
        ("ledger/query_state.py", "ledger/state.py", "ledger/snapshot.py"),
        (*unit("ledger_state"), *integration("chain_ledger", "governance", "mirror")),
    ),
    Part(("ledger/mirror.py",), integration("mirror")),
    Part(("ledger/list_prices.py",), (*unit("list_prices"), _LOCAL)),
    Part(("ledger/governance.py",), integration("governance")),
    Part(
        ("custodian/custody.py", "custodian/intact.py"),
        (*unit("custody", "codebook", "intact"), *integration("publish_once", "worker_checks")),
    ),
    Part(
        ("custodian/publish.py", "custodian/intent.py"),
        (*unit("custody"), *integration("publish_once", "recover", "honest_mistakes", "end_to_end")),
    ),
    Part(
        ("ledger/register.py", "custodian/promises.py", "custodian/unregistered.py", "core/composition.py"),
        (*unit("second_promise"), *integration("honest_mistakes")),
    ),
    Part(("custodian/difference.py",), integration("honest_mistakes", "recover")),
    Part(("custodian/mismatch.py",), (*unit("mismatch"), *integration("honest_mistakes", "recover"))),
    Part(
        ("custodian/worker.py", "custodian/view.py", "custodian/tables.py"),
        (
            *unit("worker_parts"),
            *integration("worker_checks", "worker", "worker_exchanges", "tables", "confirmations", "service"),
            *("tests/faults/worker/test_worker_memory.py", "tests/faults/worker/test_worker_faults.py"),
        ),
    ),
    Part(("custodian/intake.py",), integration("sold_means_answered")),
    Part(
        ("custodian/recover.py", "custodian/current.py", "custodian/closed.py"),
        (*unit("restore"), *integration("recover")),
    ),
    Part(("chain/sender.py",), integration("sender", "contract")),
    Part(("chain/node_errors.py",), unit("node_errors")),
    Part(("chain/typed_data.py", "chain/signed_ask.py"), unit("signed_ask")),
    Part(("ledger/signed.py",), integration("ask_without_coins")),
    Part(("ledger/bringing.py", "ledger/relay_client.py"), integration("ask_through_relay")),
    Part(("relay/relay.py", "relay/store.py"), integration("relay")),
    Part(
        tuple(f"auditing/{name}.py" for name in ("books", "listing", "replay", "reveals", "sales", "state", "wire")),
        audit("hostile_contracts", "honest_ledgers", "dishonest_ledgers"),
    ),
    Part(
        ("auditing/chain.py", "auditing/auditor.py"),
        (
            *unit("audit_reader"),
            *audit("hostile_contracts", "cli_audit", "honest_ledgers", "reorganisations_and_crashes"),
        ),
    ),
    Part(("auditing/with_data.py", "auditing/scope.py"), audit("scope", "cli_audit", "with_data")),
    Part(("auditing/inclusion.py",), (*unit("merkle"), *audit("cli_audit"))),
    Part(("auditing/compose.py",), audit("compose", "cli_audit")),
    Part(
        tuple(
            f"auditing/{name}.py"
            for name in (
                *("autocorrelation", "cross_correlation", "duplicates", "last_digits", "linear_dependence"),
                *("local_variance", "nearest_neighbours", "noise_tests", "order_statistics", "p_values", "residuals"),
                "underdispersion",
            )
        ),
        _NOISE,
    ),
)
#: They propose, show or fetch; nothing rests on them. All other modules of these folders must be in a part.
BESIDES = (
    *(
        f"data/{name}.py"
        for name in (
            "doubts",
            "hints",
            "ipums",
            "location",
            "look",
            "look_kinds",
            "look_text",
            "text_doubts",
            "toml_lines",
        )
    ),
    "data/engines/look.py",
    *(f"core/{name}.py" for name in ("address", "answer", "display", "sampling")),
    *(f"ledger/{name}.py" for name in ("ceiling", "pending", "shapes", "unanswered")),
    *(
        f"custodian/{name}.py"
        for name in ("advice", "backlog", "governance", "health", "log", "metrics", "service", "spending")
    ),
    *(f"auditing/{name}.py" for name in ("event_checks", "report", "render")),
)


#: Folders of which no module may be forgotten.
WHOLE = (
    *("core", "core/filters", "data", "data/commitment", "data/engines"),
    *("ledger", "custodian", "auditing"),
)


@dataclass(frozen=True)
class Equivalent:
    """A mutant that no test can tell from its original."""

    name: tuple[str, str, str, str]
    why: str


def found_modules(wanted: Sequence[str]) -> dict[str, Part]:
    """Return the modules to mutate, each with its part; say which are not there."""
    found = {module: part for part in PARTS for module in part.modules}
    if absent := [module for module in (*found, *BESIDES) if not (PACKAGE / module).exists()]:
        raise SystemExit(f"scripts/mutate_python.py names {', '.join(absent)}, which is not there: correct its list.")
    there = [str(file.relative_to(PACKAGE)) for folder in WHOLE for file in sorted((PACKAGE / folder).glob("*.py"))]
    if new := [name for name in there if name not in (*found, *BESIDES) and not name.endswith("__init__.py")]:
        raise SystemExit(
            f"scripts/mutate_python.py does not name {', '.join(new)}: add it, with its tests, or to BESIDES."
        )
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


def test_files(module: str, part: Part, places: Sequence[str]) -> list[str]:
    """Return the test files of a module in some places, and last the module itself if its docstrings have examples."""
    source = PACKAGE / module
    files = [*part.tests, *([str(source.relative_to(ROOT))] if ">>> " in source.read_text(encoding="utf-8") else [])]
    if absent := [file for file in files if not (ROOT / file).exists()]:
        raise SystemExit(f"scripts/mutate_python.py names {', '.join(absent)}, which is not there: correct its list.")
    return [file for file in files if is_under(file, places)]


def judge(mutant: Mutant, tree: Tree, baseline: Baseline, files: Sequence[str]) -> tuple[Verdict, float]:
    """Run the tests of a mutant's module, one file after the other, until one fails; return also the seconds that took."""
    count, seconds = 0, 0.0
    for file in files:
        if not (cases := baseline.cases(file, tree)):
            continue
        began = time.monotonic()
        with tree.mutated(mutant.module, mutant.source):
            verdict = run_until_failure(tree, cases)
        count, seconds = count + len(cases), seconds + time.monotonic() - began
        if verdict.kind != "survived":
            return verdict, seconds
    return Verdict("survived", f"{count} tests"), seconds


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
    waiting: Sequence[Mutant], files: Mapping[str, Sequence[str]], baseline: Baseline, copies: Sequence[Tree]
) -> Iterator[tuple[Mutant, Verdict, float]]:
    """Judge mutants by their modules' test files, several at a time; yield each verdict when it is there, with its seconds."""

    def run(tree: Tree, mutant: Mutant) -> tuple[Mutant, Verdict, float]:
        return mutant, *judge(mutant, tree, baseline, files[mutant.module])

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
    files = {module: test_files(module, part, chosen.tests or ["tests", "src"]) for module, part in modules.items()}
    with trees(chosen.workers) as copies:
        baseline = Baseline()
        for number, (mutant, verdict, seconds) in enumerate(judged(drawn, files, baseline, copies), 1):
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
        f"{time.monotonic() - began:.0f} s on {chosen.workers} processors, of which test files without a mutant took "
        f"{baseline.seconds:.0f} s"
    )
    enough = len(drawn) >= LEAST or bool(chosen.modules)
    return 0 if enough and rate >= KILLED_AT_LEAST and not baseline.failed and not stale else 1


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit("Interrupted; what the tests execute is kept for the next time.")
