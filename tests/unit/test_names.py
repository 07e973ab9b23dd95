"""One name, one concept: names that were replaced do not come back, and no new class takes a name that is taken."""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from pathlib import Path

ROOT = Path(__file__).parents[2]
FOLDERS = ("src", "evaluation", "tests", "benchmarks", "scripts")
#: What each was replaced by.
RETIRED = {
    "Anchor": "BlockRef",
    "Block": "BlockRef",
    "Ask": "Request, which Client.resolve returns",
    "Asked": "LoggedRequest",
    "ContractRequest": "Request",
    "Desk": "ExperimentContext",
    "Head": "BlockRef",
    "Wanted": "Request",
    "Entry": "a name of its own: CatalogueEntry, StoredQuery, RecordLine",
    "LASTING": "PERMANENT",
    "NetworkStatus": "ValidatorStatus",
    "Notebook": "ResultCache",
    "PASSING": "TRANSIENT",
    "Path": "QueryPath, since pathlib has one",
    "Place": "ChainAccounts",
    "Snapshot": "LedgerSnapshot",
    "Stage": "DemoSystem",
    "Purchase": "LoggedRequest, since free ones are logged, too",
    "Story": "LedgerState",
    "Watch": "Listener",
    "Wish": "Accuracy",
    "hear": "on_event",
    "invites": "requires_allowance",
    "tell": "notify",
    "watch": "listener",
}
#: Two parts that do not import each other, each with its own; the fewer, the better.
SHARED = {"Column", "Listed", "Look", "Refused", "Step"}
#: The audit keeps its own code on purpose.
OWN = ROOT / "src" / "noiseledger" / "auditing"


#: Modules, and what they were replaced by.
RETIRED_MODULES = {"elsewhere": "payer", "inside": "with_data", "plausible": "noise_tests", "tails": "p_values"}


#: What readers of pages and users of the library would see; the contract's own field names are its own.
_SEEN = re.compile(
    r"\b(Wish|Desk|Notebook|PASSING|LASTING|_Head|Anchor|ContractRequest)\b|\bTerms\.invites\b|\bexact=True|\bnl\.(Ask|Path)\b|\bconnect\(watch="
)


def _definitions(*folders: str) -> dict[str, list[str]]:
    """Return where each class, function, argument and constant of some folders is defined."""
    found = defaultdict(list)
    for file in (file for folder in folders for file in (ROOT / folder).rglob("*.py") if OWN not in file.parents):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            match node:
                case (
                    ast.ClassDef(name=name)
                    | ast.FunctionDef(name=name)
                    | ast.AsyncFunctionDef(name=name)
                    | ast.arg(arg=name)
                ):
                    found[name.lstrip("_")].append(f"{file.relative_to(ROOT)}:{node.lineno}")
                case ast.Assign(targets=[ast.Name(id=name)]) | ast.AnnAssign(target=ast.Name(id=name)):
                    found[name.lstrip("_")].append(f"{file.relative_to(ROOT)}:{node.lineno}")
    return found


#: A command is named after what users type, and the tests of the contract use the contract's own names.
_ALLOWED = {("watch", "src/noiseledger/cli/commands/watch.py")}
_OF_THE_CONTRACT = ("invites", "Path")


def _is_allowed(name: str, place: str) -> bool:
    file = place.rpartition(":")[0]
    return (name, file) in _ALLOWED or (name in _OF_THE_CONTRACT and file.startswith("tests/contract/"))


def test_no_retired_name_is_defined() -> None:
    defined = _definitions(*FOLDERS)
    places = {name: [place for place in defined[name] if not _is_allowed(name, place)] for name in RETIRED}
    assert {name: where for name, where in places.items() if where} == {}


def test_no_function_takes_exact() -> None:
    """``exact_noise`` says what is exact; ``exact`` is the name of a function that reads numbers."""
    trees = {file: ast.parse(file.read_text(encoding="utf-8")) for file in (ROOT / "src").rglob("*.py")}
    found = [
        f"{file.relative_to(ROOT)}:{node.lineno}"
        for file, tree in trees.items()
        for node in ast.walk(tree)
        if isinstance(node, ast.arg) and node.arg == "exact"
    ]
    assert found == []


def test_no_retired_module_comes_back() -> None:
    names = {file.stem.lstrip("_") for folder in FOLDERS for file in (ROOT / folder).rglob("*.py")}
    assert names & RETIRED_MODULES.keys() == set()


def test_no_page_and_no_document_uses_a_retired_name() -> None:
    pages = [file for kind in ("html", "js", "css") for file in (ROOT / "src").rglob(f"*.{kind}")]
    documents = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").rglob("*.md")]
    assert len(pages) > 20
    assert len(documents) > 20
    found = {
        str(file.relative_to(ROOT)): match[0]
        for file in [*pages, *documents]
        if (match := _SEEN.search(file.read_text()))
    }
    assert found == {}
    assert _SEEN.search("ledger.ask(query, exact=True)")


def test_a_class_has_a_name_of_its_own() -> None:
    classes = defaultdict(list)
    for file in (file for file in (ROOT / "src").rglob("*.py") if OWN not in file.parents):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ClassDef):
                classes[node.name].append(str(file.relative_to(ROOT)))
    assert {name for name, where in classes.items() if len(where) > 1} == SHARED
