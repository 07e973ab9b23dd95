"""Render an audit's report as JSON and as a self-contained HTML page."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

from noiseledger.auditing.compose import Composition, across_editions, protects
from noiseledger.auditing.report import Report, Rule, by_chance
from noiseledger.core.numbers import percent


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
        "protects": protects(report),
        "editions": [
            {
                "edition": edition.number,
                "open": edition.is_open,
                "spent": float(edition.most),
                "zones": [
                    {"zone": zone, "spent": float(spent), "spent_exact": str(spent)}
                    for zone, spent in zip(report.zones, edition.spent, strict=True)
                ],
            }
            for edition in report.editions
        ],
        "people_in_several_editions": [
            {"editions": each.editions, "epsilon": each.epsilon, "epsilon_spent": each.epsilon_spent}
            for each in across_editions(report)
        ],
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
        "in_every_edition": composition.in_editions,
    }


def rules(report: Report) -> list[tuple[Rule, int, int]]:
    """Return each rule that was checked, with the number of checks and of violations."""
    return [(rule, report.checked[rule], report.broken[rule]) for rule in Rule if report.checked[rule]]


def spending(report: Report) -> list[tuple[int, str, Fraction]]:
    """Return each edition and zone with what it has spent, the largest first; empty if there is only one of each."""
    found = [
        (edition.number, zone, spent)
        for edition in report.editions
        for zone, spent in zip(report.zones, edition.spent, strict=True)
    ]
    return sorted(found, key=lambda each: -each[2]) if report.is_divided else []


def html_report(reports: Sequence[Report], composition: Composition | None) -> str:
    """Return an HTML page to keep or print."""
    from jinja2 import Environment, FileSystemLoader, StrictUndefined  # noqa: PLC0415 - only for this

    folder = Path(__file__).parent / "templates"
    pages = Environment(loader=FileSystemLoader(folder), autoescape=True, undefined=StrictUndefined, trim_blocks=True)
    tools = {
        "rules": rules,
        "by_chance": by_chance,
        "spending": spending,
        "across_editions": across_editions,
        "protects": protects,
        "percent": percent,
    }
    return pages.get_template("report.html").render(reports=reports, composition=composition, **tools)
