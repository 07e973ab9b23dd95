"""The generator of mutants: each differs from its original in one place, and the original comes back."""

from __future__ import annotations

import ast
import difflib
from pathlib import Path

import pytest

from mutate_python import found_modules
from mutate_python import test_files as files_of
from mutation.baseline import Baseline, run_once
from mutation.generate import Mutant, is_another_program, mutants
from mutation.tree import Tree

PACKAGE = Path(__file__).parents[2] / "src" / "noiseledger"
BUDGET = (PACKAGE / "core" / "budget.py").read_text(encoding="utf-8")


def changes(source: str) -> set[str]:
    return {mutant.change for mutant in mutants("core/example.py", source)}


@pytest.mark.parametrize("module", ["core/path.py", "core/noise.py", "custodian/custody.py", "ledger/mirror.py"])
def test_a_mutant_differs_in_one_place_and_is_a_program(module: str) -> None:
    source = (PACKAGE / module).read_text(encoding="utf-8")
    found = mutants(module, source)
    assert len(found) > 30
    assert len({mutant.source for mutant in found}) == len(found)
    lines = source.split("\n")
    for mutant in found[::5]:
        assert is_another_program(mutant, source)
        blocks = difflib.SequenceMatcher(None, lines, mutant.source.split("\n"), autojunk=False).get_opcodes()
        (changed,) = (block for block in blocks if block[0] != "equal")
        assert changed[1] <= mutant.line - 1 < changed[2]
        assert mutant.span == (0, 0) or mutant.span[0] <= mutant.line <= mutant.span[1]
        assert lines[mutant.line - 1].strip() == mutant.text


def test_no_module_that_carries_the_promise_is_forgotten() -> None:
    """It raises if a module or a file of tests is not named, or not there."""
    files = {module: files_of(module, part, ["tests", "src"]) for module, part in found_modules([]).items()}
    assert all(files.values())
    assert files["core/numbers.py"][-1] == "src/noiseledger/core/numbers.py"  # its examples


def test_the_same_change_in_two_places_of_a_line_has_two_names() -> None:
    assert {"1 → 2", "1 → 2 (place 2)"} <= changes("a = b[1] + c[1]")


@pytest.mark.parametrize(
    ("code", "change"),
    [
        ("a = b < c", "b < c → b <= c"),
        ("a = b not in c", "b not in c → b in c"),
        ("a = (b) is (c)", "(b) is (c) → (b) is not (c)"),
        ("a = b and c", "b and c → b or c"),
        ("a = b or c", "b or c → b or False"),
        ("a = not b", "not b → b"),
        ("if a:\n    b()", "a → False"),
        ("if a:\n    b()\n    raise C('no')", "raise C('no') → pass"),
        ("a = é if b > 0 else c", "b > 0 → b >= 0"),
        ("a = [b for b in c if b]", "b → True"),
        ("sync(a)", "sync(a) → pass"),
        ("a.b = c", "a.b = c → pass"),
        ("a += 1", "a += 1 → a -= 1"),
        ("a = b << 7", "7 → 8"),
        ("a = b << 7", "b << 7 → b >> 7"),
        ("a = min(b, c)", "min(b, c) → max(b, c)"),
        ("a = m.floor(b)", "m.floor(b) → m.ceil(b)"),
        ("a(exist_ok=True)", "True → False"),
        ("def a():\n    b = 1\n    return b", "return b → return None"),
        ("a.chmod(0o600)", "0o600 → 0o601"),
    ],
)
def test_what_is_changed(code: str, change: str) -> None:
    assert change in changes(code)


@pytest.mark.parametrize(
    "code",
    [
        '"""1 < 2."""',
        "from a import b",
        "def a(b: Literal[1]) -> Literal[2]: ...",
        "@dataclass(frozen=True)\nclass A:\n    b: Literal[1]",
        "class A:\n    def __str__(self):\n        return b(1)",
        'a = f"{b + 1}"',
        "if TYPE_CHECKING:\n    from a import b",
        "a = zip(b, c, strict=d)",
        "__all__ = ['a']",
        "time.sleep(1)",
        "a = time.monotonic() + 1",
    ],
)
def test_what_is_left_alone(code: str) -> None:
    assert changes(code) == set()


def test_what_is_raised_is_left_alone_but_for_that_it_is() -> None:
    assert changes("raise A(1 + 2, not b)") == {"raise A(1 + 2, not b) → pass"}


def test_what_is_no_program_or_the_same_one_is_no_mutant() -> None:
    def changed(source: str) -> Mutant:
        return Mutant("core/budget.py", 1, (1, 1), "", "", "", source)

    assert not is_another_program(changed(BUDGET + "\n("), BUDGET)
    assert not is_another_program(changed(BUDGET + "\n# a comment\n"), BUDGET)
    assert is_another_program(changed(BUDGET + "\nfoo()\n"), BUDGET)


def test_a_module_is_put_back_as_it_was(tmp_path: Path) -> None:
    tree = Tree(tmp_path)
    file = tree.folder / "src" / "noiseledger" / "core" / "budget.py"
    before, times = file.read_bytes(), set[float]()
    for mutant in mutants("core/budget.py", BUDGET)[:3]:
        with tree.mutated(mutant.module, mutant.source):
            assert file.read_text(encoding="utf-8") == mutant.source
            times.add(file.stat().st_mtime)
        assert file.read_bytes() == before
    # Python takes a compiled module for its source by the time in seconds.
    assert len({int(time) for time in times} | {int(file.stat().st_mtime)}) == 4


def test_the_mutant_is_what_is_tested_and_a_survivor_is_seen(tmp_path: Path) -> None:
    """Two mutants of one line against two tests, one of them in a child process: one test sees the one, none the other."""
    tree = Tree(tmp_path)
    (tree.folder / "tests" / "test_small.py").write_text(
        "import subprocess, sys\n"
        "PROGRAM = 'from noiseledger.core.budget import Budget; print(Budget.of(1, \"1e-5\").spent)'\n"
        "def test_child():\n"
        "    assert subprocess.run([sys.executable, '-c', PROGRAM], stdout=-1, text=True).stdout == '0\\n'\n"
        "def test_never_chosen():\n"
        "    raise AssertionError\n"
    )
    name, source = (
        "tests/test_small.py::test_child",
        BUDGET.replace("spent: Fraction = Fraction(0)", "spent: Fraction = Fraction(3)"),
    )
    assert ast.dump(ast.parse(source)) != ast.dump(ast.parse(BUDGET))
    for text, outcome in ((BUDGET, "passed"), (source, "failed"), (BUDGET, "passed")):
        with tree.mutated("core/budget.py", text):
            notes, _ = tree.run(["tests/test_small.py"], {name: 60})
        calls = [(note["test"], note["outcome"]) for note in notes if note["kind"] == "call"]
        assert calls == [(name, outcome)]


def test_an_endless_loop_is_seen(tmp_path: Path) -> None:
    tree = Tree(tmp_path)
    (tree.folder / "tests" / "test_small.py").write_text("def test_endless():\n    while True: pass\n")
    notes, log = tree.run(["tests/test_small.py"], {"tests/test_small.py::test_endless": 1})
    assert [note["kind"] for note in notes] == ["chosen", "start", "setup"]
    assert "Timeout (" in log


def test_a_test_that_replaces_system_functions_does_not_end_the_run(tmp_path: Path) -> None:
    tree = Tree(tmp_path)
    (tree.folder / "tests" / "test_small.py").write_text(
        "import os, pathlib\n"
        "def test_closed(monkeypatch):\n"
        "    monkeypatch.setattr(pathlib.Path, 'open', None)\n"
        "    monkeypatch.setattr(os, 'write', None)\n"
        "def test_after(): ...\n"
    )
    tests = run_once(tree, "tests/test_small.py")["tests"]
    assert [outcome for _, outcome in tests.values()] == ["passed", "passed"]


def test_a_run_that_ends_early_judges_no_mutant(tmp_path: Path) -> None:
    """It would end early for every mutant as well, and each would look killed."""
    tree = Tree(tmp_path)
    (tree.folder / "tests" / "test_small.py").write_text(
        "import os\ndef test_before(): ...\ndef test_end(): os._exit(0)\n"
    )
    assert run_once(tree, "tests/test_small.py")["tests"] == {"tests/test_small.py": (0.0, "failed")}


def test_only_tests_that_pass_without_a_mutant_judge_one_and_the_quick_ones_first() -> None:
    baseline = Baseline()
    outcomes = {"slow": (5.0, "passed"), "skipped": (0.0, "skipped"), "failed": (0.1, "failed"), "quick": (0, "passed")}
    first, second = baseline.take({"tests": outcomes, "fixtures": 1.0})
    assert (first.name, second.name, baseline.failed) == ("quick", "slow", ["failed"])
    assert second.limit > 10 * 6
