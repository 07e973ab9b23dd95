"""What is computed in one place stays there: prices, quotes and records; and no command asks of which class a ledger is."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[2] / "src" / "noiseledger"
#: A local ledger is a database and a ledger on a chain is its events, so each has one place of its own.
PLACES = {
    "find_price": {"core/path.py", "ledger/list_prices.py", "ledger/query_state.py"},
    "Quote": {"ledger/local.py", "ledger/query_state.py"},
    "Record": {"ledger/book.py", "ledger/snapshot.py"},
    "Coins": {"ledger/public.py"},
    "QueryState": {"ledger/query_state.py", "ledger/state.py"},
    "resolve": {"ledger/interface.py", "ledger/local.py"},
}
#: The commands, the pages and the client use ledgers through their interface.
OUTSIDE = ("cli", "client", "custodian", "web")


def calls(tree: ast.AST) -> Iterator[ast.Call]:
    return (node for node in ast.walk(tree) if isinstance(node, ast.Call) and isinstance(node.func, ast.Name))


def callers(name: str) -> set[str]:
    files = ((file, ast.parse(file.read_text(encoding="utf-8"))) for file in SOURCE.rglob("*.py"))
    return {
        str(file.relative_to(SOURCE))
        for file, tree in files
        if any(ast.unparse(call.func) == name for call in calls(tree))
    }


@pytest.mark.parametrize("name", PLACES)
def test_it_is_done_in_one_place(name: str) -> None:
    assert callers(name) == PLACES[name]


def test_nothing_outside_asks_of_which_class_a_ledger_is() -> None:
    asking = [
        f"{file.relative_to(SOURCE)}:{call.lineno}"
        for folder in OUTSIDE
        for file in (SOURCE / folder).rglob("*.py")
        for call in calls(ast.parse(file.read_text(encoding="utf-8")))
        if ast.unparse(call.func) == "isinstance"
        and ("Ledger" in (kind := ast.unparse(call.args[1])) or "View" in kind)
    ]
    assert asking == []
