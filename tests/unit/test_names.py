"""One name, one concept: names that were replaced do not come back, and no new class takes a name that is taken."""

from __future__ import annotations

import ast
from collections import defaultdict
from pathlib import Path

ROOT = Path(__file__).parents[2]
#: What each was replaced by.
RETIRED = {
    "Anchor": "BlockRef",
    "Ask": "Request, which Client.resolve returns",
    "Asked": "LoggedRequest",
    "ContractRequest": "Request",
    "Desk": "ExperimentContext",
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


def _definitions(*folders: str) -> dict[str, list[str]]:
    """Return where each class, function, argument and constant of some folders is defined."""
    found = defaultdict(list)
    for file in (file for folder in folders for file in (ROOT / folder).rglob("*.py") if OWN not in file.parents):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            match node:
                case ast.ClassDef(name=name) | ast.FunctionDef(name=name) | ast.arg(arg=name):
                    found[name].append(f"{file.relative_to(ROOT)}:{node.lineno}")
                case ast.Assign(targets=[ast.Name(id=name)]) | ast.AnnAssign(target=ast.Name(id=name)):
                    found[name].append(f"{file.relative_to(ROOT)}:{node.lineno}")
    return found


#: Commands and shapes are named after what users type and read.
_ALLOWED = {"src/noiseledger/cli/commands/watch.py", "src/noiseledger/web/api_shapes.py"}


def test_no_retired_name_is_defined() -> None:
    defined = _definitions("src", "evaluation", "tests/browser")
    places = {name: [place for place in defined[name] if place.rpartition(":")[0] not in _ALLOWED] for name in RETIRED}
    assert {name: where for name, where in places.items() if where} == {}


def test_a_class_has_a_name_of_its_own() -> None:
    classes = defaultdict(list)
    for file in (file for file in (ROOT / "src").rglob("*.py") if OWN not in file.parents):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ClassDef):
                classes[node.name].append(str(file.relative_to(ROOT)))
    assert {name for name, where in classes.items() if len(where) > 1} == SHARED
