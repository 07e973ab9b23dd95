"""The budget page says how to check it: with commands that exist, the audit first of all."""

from __future__ import annotations

import re
from html import unescape

from starlette.testclient import TestClient
from typer.main import get_command

from noiseledger.cli.app import app


def test_the_budget_page_says_how_to_audit_the_ledger(visitor: TestClient) -> None:
    page = unescape(visitor.get("/budget").text)
    section = page[page.index("Check it yourself") : page.index("The catalogue")]
    assert "noiseledger audit ledger.json --rpc URL" in section
    assert "requires the custodian's data" in re.sub(r"\s+", " ", section)
    commands = re.findall(r"<code>noiseledger (\w+) ", section)
    assert {"audit", "included"} <= set(commands) <= set(getattr(get_command(app), "commands", {}))
