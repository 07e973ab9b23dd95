"""The README stays one screen: what it is, two pictures, two commands, ten statements of Python, where to go next."""

from __future__ import annotations

import doctest
import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")


def test_it_is_one_screen() -> None:
    assert len(README.splitlines()) <= 70


def test_it_has_the_pictures_the_commands_and_a_short_example() -> None:
    assert re.findall(r"!\[[^]]+\]\((.+?)\)", README) == ["docs/images/ask.png", "docs/images/budget.png"]
    assert re.findall(r"^(make \w+)", README, re.MULTILINE) == ["make demo", "make test"]
    assert 5 <= len(doctest.DocTestParser().get_examples(README)) <= 10


def test_it_leads_to_every_page() -> None:
    pages = {str(page.relative_to(ROOT)) for page in (ROOT / "docs").rglob("*.md")}
    assert pages - {link.partition("#")[0] for link in re.findall(r"\]\((.+?)\)", README)} == set()
