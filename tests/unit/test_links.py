"""Links between documents lead somewhere: to a file, and to a heading in it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
DOCUMENTS = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])
CODE = re.compile(r"^```.*?^```$", re.DOTALL | re.MULTILINE)


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda file: str(file.relative_to(ROOT)))
def test_links_lead_somewhere(document: Path) -> None:
    broken = [link for link in _links(document.read_text()) if not _exists(document, link)]
    assert broken == []


def test_a_broken_link_is_seen() -> None:
    readme = ROOT / "README.md"
    assert _exists(readme, "docs/reference/glossary.md#paths-and-noise")
    assert not _exists(readme, "docs/reference/glossary.md#paths")
    assert not _exists(readme, "docs/reference/glossaries.md")
    assert _links("[a](b.md#c) ```\n") == ["b.md#c"]


def _links(text: str) -> list[str]:
    links = re.findall(r"\]\(([^)\s]+)\)", CODE.sub("", text))
    return [link for link in links if "://" not in link]


def _exists(document: Path, link: str) -> bool:
    path, _, anchor = link.partition("#")
    target = (document.parent / path).resolve() if path else document
    return target.exists() and (not anchor or anchor in _anchors(target.read_text()))


def _anchors(text: str) -> set[str]:
    """Return the headings' anchors, as GitHub forms them."""
    headings = re.findall(r"^#+ (.+)$", CODE.sub("", text), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).strip().replace(" ", "-") for heading in headings}
