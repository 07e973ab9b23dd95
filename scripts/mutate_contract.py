"""Change PrivacyLedger.vy in small ways, one line at a time, and check that tests/contract notices each change.

Run it with ``.venv/bin/python scripts/mutate_contract.py``; ``--sample 40 --seed 7`` takes some of the mutants. It fails if
a mutant survives: then a test is missing.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import random
import re
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import Any

import boa
import hypothesis.stateful  # noqa: F401  # once, here, so that no child needs to
import pytest
import vyper
from vyper.compiler.phases import generate_bytecode

from mutation import LEAST, Verdict

ROOT = Path(__file__).parents[1]
CONTRACT = ROOT / "src" / "noiseledger" / "contracts" / "PrivacyLedger.vy"
TESTS = ROOT / "tests" / "contract"
CHILDREN = multiprocessing.get_context("fork")  # a child that inherits the imports starts at once

# A side of a comparison, such as 0, terms.budget, len(increments) or meter & MAX_PRECISION.
SIDE = r"\w[\w.]*(?:\[\w+\]|\([\w.]+\))*(?: & MAX_PRECISION)?"
COMPARISON = rf"{SIDE} (?:<=?|>=?|[=!]=) {SIDE}"

# How a statement begins that can be left out.
STATEMENT = (
    r"assert|log|raw_revert|self\.|(?:used|till|meter) \+=|known \|=|(?:bill|remaining) =|(?:part|values|found)\."
)

#: What is looked for in a line, and what each occurrence is replaced by.
RULES: list[tuple[str, list[str]]] = [
    # comparisons: the limit itself falls on the other side
    (r" < ", [" <= "]),
    (r" <= ", [" < "]),
    (r" > ", [" >= "]),
    (r" >= ", [" > "]),
    (r" == ", [" != "]),
    (r" != ", [" == "]),
    # conditions: joined the other way, turned round, one half dropped
    (r" and ", [" or "]),
    (r"\b(TERMS\.reuses|TERMS\.requires_allowance|(?<=if )paused)\b", ["not \\1", "TERMS.replaces"]),
    (rf"{COMPARISON}(?= and )|(?<= and ){COMPARISON}", ["True"]),
    # arithmetic
    (r" \+ ", [" - "]),
    (r" - ", [" + "]),
    (r" \+= ", [" -= ", " = "]),
    (r" \* ", [" + "]),
    (r" // ", [" * "]),
    (r" << ", [" >> "]),
    (r" >> ", [" << "]),
    (r" \| ", [" & "]),
    (r" \|= ", [" &= "]),
    (r"~(?=[A-Z])", [""]),
    (r" & MAX_PRECISION", [""]),
    # numbers: one more, one less
    (r"(?<=\*\*)(?:110|25[345])|\b(?:8|65|100|256|512|1024|24576|65536)\b", ["{+1}", "{-1}"]),
    (r"(?<![\w*\[])(?:110|220|236|[0-4])(?![\w*])", ["{+1}"]),
    # one thing for another
    (r"(?<=stretch\.)start\b", ["end"]),
    (r"(?<=stretch\.)end\b", ["start"]),
    (r"\b(?:stretch|request|bill)\.edition\b", ["0"]),
    (r"(?<=request\.edition, )reach\b", ["ALL"]),
    (r"(?<=request\.)epsilon\b", ["delta"]),
    (r"(?<=request\.)delta\b", ["epsilon"]),
    (r"=numerator\b", ["=denominator"]),
    (r"=denominator\b", ["=numerator"]),
    (r"\b(?:Budget|Limit)Exceeded\b", ["AllowanceExceeded"]),
    (r"\bAllowanceExceeded\b", ["BudgetExceeded"]),
    (r"\bcost, (remaining|limit)\b", ["\\1, cost"]),
    (r"\bSELLING\b(?!:)", ["CLOSED"]),
    (r"\b(?:CLOSED|OPEN)\b(?!:)", ["SELLING"]),
    (r"\bSELECTIVE\b(?!:)", ["LIMITED"]),
    (r"\bLIMITED\b(?!:)", ["SELECTIVE"]),
    (r"\b(?:DONE|SECOND)\b(?!:)", ["REVEALED"]),
    (r"\b(?:REVEALED|DIMENSION)\b(?!:)", ["DONE"]),
    # what is signed, and by whom
    (r"(?<=ASK_TYPE, )listed|(?<=listed, )limit\b", ["empty(bytes32)"]),
    (r"(?<=listed, limit, )nonce\b|(?<=nonce, )deadline\b", ["empty(uint256)"]),
    (r"(?<=_sell\(request, )analyst\b|(?<=limit, )analyst\b", ["msg.sender"]),
    (r"\b(?:REQUEST_TYPE|ASK_TYPE)\b(?!:)", ["DOMAIN_TYPE"]),
    (r"\bchain\.id\b", ["1"]),
    (r"(?<=chain\.id, )self\b", ["msg.sender"]),
    (r"\bis_static_call=True\b", ["is_static_call=False"]),
    (r"\bnot analyst\.is_contract\b", ["False"]),
    (r"\bmsg\.sender\b", ["tx.origin"]),
    (r"(?<=_only\()self\.(?:worker|heir)", ["self.custodian"]),
    (r"(?<=_only\()self\.custodian", ["self.worker"]),
    (r"(?<=role=)\"\w+\"", ['"custodian"', '"heir"']),
    (r"(?<=\[)(?:i|j|used)\b", ["0"]),
    (r"\bindexed\((\w+)\)", ["\\1"]),
    # a statement left out
    (rf"(?<=^    )\s*(?:{STATEMENT}).*", ["{pass}"]),
]

#: Mutants that no test can tell from the contract, and why.
EQUIVALENT = {
    "cost: uint256 = 1": "a later line sets it before it is read",
    "reach: uint256 = 1": "a later line sets it before it is read",
    "precision: uint256 = 1": "a later line sets it before it is read",
    "OPEN: constant(uint256) = 2**252": "another bit that nothing else uses",
    "SECOND: constant(uint256) = 111": "what the second zone has spent has room there, too, and is read where it is written",
    "if reach <= ALL:": "a reach of every zone is then read from its own word, with the same result",
    "if dimension >= MAX_STORED:": "a chain of hashes begins as the identifier, whether or not it was written",
    "if first >= 0:": "an end that is 0 is set to 0",
    "if bill.due >= 0:": "a bill of 0 has no reach, so it charges nothing",
    "return 0, 1": "the reach of a free request is not read",
    'assert edition <= max_value(uint256) // TILLS and self._tills[edition * TILLS] & OPEN != 0, "ledger: edition not open"': (
        "so many editions cannot be opened"
    ),
}


@dataclass(frozen=True)
class Mutant:
    """The contract with one thing changed."""

    line: int
    function: str
    before: str
    after: str
    source: str

    def __str__(self) -> str:
        return f"{self.line:4}  {self.before}\n   →  {self.after}"


INTACT = Mutant(0, "", "the contract itself", "unchanged", CONTRACT.read_text(encoding="utf-8"))


def mutants(source: str) -> list[Mutant]:
    """Return all mutants of a contract that differ as text."""
    lines, function, found = source.split("\n"), "", {}
    for index in code_lines(lines):
        if match := re.match(r"def (\w+)", lines[index]):
            function = match[1]
        for after in changed(lines[index]):
            text = "\n".join([*lines[:index], after, *rest(lines, index, after)])
            found[text] = Mutant(index + 1, function, lines[index].strip(), after.strip() or "(nothing)", text)
    return [mutant for text, mutant in found.items() if text != source]


def code_lines(lines: list[str]) -> Iterator[int]:
    """Yield the indices of lines that are neither comment nor docstring."""
    quoted = False
    for index, line in enumerate(lines):
        if line.strip().startswith('"""'):
            quoted = not quoted
        elif not quoted and line.strip() and not line.lstrip().startswith("#"):
            yield index


def changed(line: str) -> Iterator[str]:
    """Yield a line with one occurrence of one rule replaced."""
    code = line.split("  #", maxsplit=1)[0]
    for pattern, replacements in RULES:
        for match in re.finditer(pattern, code):
            for replacement in replacements:
                yield code[: match.start()] + filled(match, replacement) + code[match.end() :]


def filled(match: re.Match[str], replacement: str) -> str:
    """Return what an occurrence is replaced by."""
    if replacement == "{pass}":
        return " " * (len(match[0]) - len(match[0].lstrip())) + "pass"
    if replacement in ("{+1}", "{-1}"):
        return str(int(match[0]) + int(replacement[1:-1]))
    return match.expand(replacement)


def rest(lines: list[str], index: int, after: str) -> list[str]:
    """Return the lines that follow, without what belongs to a statement that was left out."""
    if after.strip() == "pass" and lines[index].endswith("("):
        indent = len(lines[index]) - len(lines[index].lstrip())
        index = lines.index(" " * indent + ")", index)
    return lines[index + 1 :]


class Killer:
    """A pytest plugin that remembers which test failed."""

    def __init__(self) -> None:
        self.name = ""

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Note a failure."""
        if report.failed and not self.name:
            self.name = report.nodeid.rpartition("/")[2]


#: These test other files than the contract's source.
OTHERS = {"test_artifact", "test_proof"}

#: Where the killers of a function's mutants are, if not in the file with its name.
KILLERS = {
    "test_terms": {"__init__"},
    "test_views": {"_known", "terms", "paused", "meter", "point", "_meter"},
    "test_allowance": {"allow", "_settle"},
    "test_ask": {"_sell"},
    "test_editions": {"open_edition", "retire", "edition", "_open", "_write_meter", "_due"},
    "test_register": {"reach", "_reach", "ceiling", "_dimension"},
    "test_reveal_piece": {"piece", "_digest", "_done"},
    "test_zones": {"spent", "_add", "_charge", "_afford"},
    "test_roles": {"_only", "pause", "change_worker", "offer_custody", "take_custody"},
    "test_signed": {"ask_signed", "_domain", "_signed"},
    "test_stopping": {"close", "pause_query", "closed", "query_paused", "_selling", "_not_closed"},
}


def in_order(files: list[Path], function: str) -> list[str]:
    """Sort test files so that the likely killers come first and the slow ones last."""

    def unlikely(file: Path) -> tuple[bool, bool, str]:
        named = function.strip("_") in file.stem
        return "stateful" in file.stem, not named and function not in KILLERS.get(file.stem, ()), file.stem

    return [str(file) for file in sorted(files, key=unlikely)]


def judge(mutant: Mutant, original: str, files: list[Path], answer: Connection) -> None:
    """Run the suite on a mutant, in a process of its own, and send the verdict."""
    with tempfile.TemporaryDirectory() as folder:
        target, log = Path(folder) / "PrivacyLedger.vy", Path(folder) / "log"
        target.write_text(mutant.source, encoding="utf-8")
        os.environ["NOISELEDGER_CONTRACT"] = str(target)
        boa.interpret.set_cache_dir(folder)  # not among what others compiled
        try:
            same = program() == original and mutant != INTACT
        except Exception as error:  # whatever the compiler says
            answer.send(Verdict("skipped", f"does not compile: {type(error).__name__}"))
        else:
            tests = in_order(files, mutant.function)
            answer.send(Verdict("skipped", "the same program") if same else run_suite(tests, log))


def program() -> str:
    """Compile what the tests will test, and return the code without the hash of its source."""
    from contract.ledger import compiled  # noqa: PLC0415  # here, since it reads the environment when it is imported

    return f"0x{generate_bytecode(compiled().compiler_data.assembly, compiler_metadata=None).hex()}"


def run_suite(files: list[str], log: Path) -> Verdict:
    """Run tests until one fails, without a word."""
    killer = Killer()
    options = ["-x", "--tb=no", "--assert=plain", "--hypothesis-profile=mutants", f"--confcutdir={TESTS}"]
    options += [f"--rootdir={ROOT}", f"-c={ROOT / 'pyproject.toml'}"]
    options += [f"-pno:{plugin}" for plugin in ("cacheprovider", "boa_test", "unraisableexception")]
    with log.open("w") as file:
        os.dup2(file.fileno(), 1)
        os.dup2(file.fileno(), 2)
        code = pytest.main([*options, *files], plugins=[killer])
    if code == pytest.ExitCode.OK:
        return Verdict("survived")
    return Verdict("killed", killer.name) if killer.name else Verdict("broken", log.read_text()[-2000:])


def judged(waiting: list[Mutant], original: str, files: list[Path], workers: int) -> Iterator[tuple[Mutant, Verdict]]:
    """Judge mutants, several at a time, and yield each verdict when it is there."""
    waiting, running = waiting[::-1], list[tuple[Mutant, Any, Any]]()
    while waiting or running:
        while waiting and len(running) < workers:
            mutant = waiting.pop()
            receiver, sender = CHILDREN.Pipe(duplex=False)
            process = CHILDREN.Process(target=judge, args=(mutant, original, files, sender))
            process.start()
            sender.close()
            running.append((mutant, process, receiver))
        ready = wait([receiver for _, _, receiver in running])
        for mutant, process, receiver in [child for child in running if child[2] in ready]:
            running.remove((mutant, process, receiver))
            try:
                verdict = receiver.recv()
            except EOFError:
                verdict = Verdict("broken", "the process died")
            process.join()
            yield mutant, verdict


def options() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sample", type=int, metavar="N", help="try N mutants, drawn at random (default: all)")
    parser.add_argument("--lines", metavar="A-B", help="try the mutants of these lines (default: all)")
    parser.add_argument("--seed", type=int, default=0, metavar="S", help="for the draw (default: 0)")
    parser.add_argument(
        "--workers", type=int, default=os.cpu_count() or 1, metavar="W", help="at a time (default: all cores)"
    )
    parser.add_argument("--tests", default="test_*.py", metavar="GLOB", help="files in tests/contract (default: all)")
    return parser.parse_args()


def main() -> int:
    """Judge the mutants, print a table, and return 1 unless all were killed."""
    chosen, began = options(), time.monotonic()
    sys.path.insert(0, str(TESTS.parent))
    files = [file for file in TESTS.glob(chosen.tests) if file.stem not in OTHERS]
    generated = [mutant for mutant in mutants(INTACT.source) if mutant.after not in EQUIVALENT]
    if chosen.lines is not None:
        first, last = map(int, chosen.lines.split("-"))
        generated = [mutant for mutant in generated if first <= mutant.line <= last]
    if chosen.sample is not None:
        generated = random.Random(chosen.seed).sample(generated, min(chosen.sample, len(generated)))
    original = vyper.compile_code(INTACT.source, output_formats=["bytecode"], no_bytecode_metadata=True)["bytecode"]
    count: Counter[str] = Counter()
    for mutant, verdict in judged([INTACT, *generated], original, files, chosen.workers):
        if mutant != INTACT:
            count[verdict.kind] += 1
            print(f"{mutant}\n      {verdict}", flush=True)
        elif verdict.kind != "survived":
            print(f"The suite fails on the contract itself: {verdict.why}")
            return 1
    print(*(f"      equivalent: {after}  ({why})" for after, why in EQUIVALENT.items()), sep="\n")
    print(
        f"{len(generated)} mutants: {count['killed']} killed, {count['survived']} survived, {count['skipped']} skipped, "
        f"{count['broken']} broken, in {time.monotonic() - began:.0f} s"
    )
    return 0 if count["killed"] == len(generated) - count["skipped"] >= LEAST else 1


if __name__ == "__main__":
    sys.exit(main())
