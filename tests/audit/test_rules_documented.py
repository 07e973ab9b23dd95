"""The guide lists the audit's rules word for word."""

from __future__ import annotations

from pathlib import Path

from noiseledger.auditing import Rule

GUIDE = Path(__file__).parents[2] / "docs" / "how-to" / "audit-a-ledger.md"


def test_every_rule_is_in_the_guide() -> None:
    text = GUIDE.read_text()
    for rule in Rule:
        assert f"| `{rule.value}` | {rule.sentence}" in text
