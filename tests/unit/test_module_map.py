"""CONTRIBUTING has one line for each module and script, which is its own first line, and the layers of pyproject.toml."""

from __future__ import annotations

import re

import module_map


def test_the_map_is_what_the_modules_say() -> None:
    assert module_map.fresh_page() == module_map.PAGE.read_text(encoding="utf-8"), "run make map"


def test_every_module_says_in_one_line_what_it_is() -> None:
    files = [*module_map.PACKAGE.rglob("*.py"), *(module_map.ROOT / "scripts").glob("*.py")]
    modules = [file for file in files if file.read_text(encoding="utf-8").strip()]
    summaries = {file: module_map._summary(file) for file in modules}
    assert [file for file, summary in summaries.items() if not 10 <= len(summary) <= 128] == []


def test_the_table_of_usual_changes_names_files_that_exist() -> None:
    page = module_map.PAGE.read_text(encoding="utf-8")
    table = page.partition("## Where to start")[2].partition("## Where things are")[0]
    named = {name for name in re.findall(r"`([\w./*-]+/[\w./*-]*)`", table) if "NAME" not in name}
    assert len(named) > 40
    folders = (module_map.PACKAGE, module_map.ROOT)
    assert {name for name in named if not any(any(folder.glob(name)) for folder in folders)} == set()
