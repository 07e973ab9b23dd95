"""Render an audit's report as JSON and as a self-contained HTML page."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from noiseledger.auditing.compose import Composition
from noiseledger.auditing.report import Report, Rule, by_chance


def describe_report(report: Report) -> dict[str, Any]:
    """Return a report as JSON values."""
    return {
        "verdict": report.verdict,
        "well": report.passed,
        "checked": report.covered,
        "not_checked": [gap.what for gap in report.gaps],
        "needed": [gap.needed for gap in report.gaps],
        "address": report.address,
        "chain_id": report.chain_id,
        "first_block": report.first_block,
        "block": report.block,
        "block_hash": report.block_hash,
        "epsilon": float(report.epsilon),
        "delta": float(report.delta),
        "budget": float(report.budget),
        "budget_exact": str(report.budget),
        "spent": float(report.spent),
        "spent_exact": str(report.spent),
        "epsilon_spent": report.epsilon_spent,
        "queries": report.queries,
        "requests": report.requests,
        "reveals": report.reveals,
        "rules": [
            {"rule": rule.value, "says": rule.sentence, "checked": checked, "broken": broken}
            for rule, checked, broken in rules(report)
        ],
        "findings": [
            {"rule": f.rule.value, "message": f.sentence, "block": f.block, "transaction": f.transaction}
            for f in report.findings
        ],
        "notes": list(report.notes),
        "p_values": dict(report.p_values),
    }


def describe_composition(composition: Composition) -> dict[str, Any]:
    """Return the guarantee of several ledgers together as JSON values."""
    return {
        "neighbours": composition.neighbours,
        "delta": float(composition.delta),
        "budget": float(composition.budget),
        "epsilon": composition.epsilon,
        "spent": float(composition.spent),
        "epsilon_spent": composition.epsilon_spent,
    }


def rules(report: Report) -> list[tuple[Rule, int, int]]:
    """Return each rule that was checked, with the number of checks and of violations."""
    return [(rule, report.checked[rule], report.broken[rule]) for rule in Rule if report.checked[rule]]


def html_report(reports: Sequence[Report], composition: Composition | None) -> str:
    """Return an HTML page to keep or print."""
    from jinja2 import Environment, FileSystemLoader, StrictUndefined  # noqa: PLC0415 - only for this

    folder = Path(__file__).parent / "templates"
    pages = Environment(loader=FileSystemLoader(folder), autoescape=True, undefined=StrictUndefined, trim_blocks=True)
    tools = {"rules": rules, "by_chance": by_chance}
    return pages.get_template("report.html").render(reports=reports, composition=composition, **tools)
