"""Accessibility: what axe-core finds wrong in a page, against WCAG 2.2 AA and good practice."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any, Literal, TypeAlias

from playwright.sync_api import Page

from noiseledger.chain import npm

Impact: TypeAlias = Literal["minor", "moderate", "serious", "critical"]

IMPACTS: tuple[Impact, ...] = ("minor", "moderate", "serious", "critical")
TAGS = ("wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice")

_RUN = "tags => axe.run(document, {runOnly: {type: 'tag', values: tags}, resultTypes: ['violations']})"


def violations(page: Page, minimum: Impact = "serious") -> list[str]:
    """Return one line for each rule that the page breaks with at least this impact: rule, what it asks for, and where."""
    # Evaluated by the browser's debugger, and so in spite of the page's content security policy.
    page.evaluate(_script())
    found = page.evaluate(_RUN, list(TAGS))["violations"]
    # Rules for which axe knows no impact are kept: what is uncertain counts.
    bad = [broken for broken in found if broken["impact"] not in IMPACTS[: IMPACTS.index(minimum)]]
    return [_line(broken) for broken in bad]


def _line(broken: dict[str, Any]) -> str:
    where = ", ".join(" ".join(map(str, place["target"])) for place in broken["nodes"])
    return f"{broken['id']} ({broken['impact']}): {broken['help']}: {where}"


@cache
def _script() -> str:
    folder = Path(__file__).with_name("axe")
    home = npm.fetch("axe", {name: (folder / name).read_bytes() for name in ("package.json", "package-lock.json")})
    return (home / "node_modules" / "axe-core" / "axe.min.js").read_text(encoding="utf-8")
