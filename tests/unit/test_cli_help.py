"""The help of every command: complete, grouped by who uses it, and true about what LEDGER may be."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer.main

from noiseledger.cli.app import app

ROOT: Any = typer.main.get_command(app)
PAGE = (Path(__file__).parents[2] / "docs" / "reference" / "command-line.md").read_text(encoding="utf-8")
#: The tables of commands; the table of their JSON comes later.
TABLES = PAGE.partition("\n## Settings")[0]
#: Commands that also work on a local file; all others need a chain.
LOCAL = {"queries", "quote", "ask", "budget", "history", "watch", "doctor"}


def commands(group: Any = ROOT, before: str = "") -> Iterator[tuple[str, Any]]:
    for name, command in group.commands.items():
        if hasattr(command, "commands"):
            yield from commands(command, f"{before}{name} ")
        else:
            yield f"{before}{name}", command


ALL = dict(commands())


@pytest.mark.parametrize("name", ALL)
def test_every_command_and_option_has_help(name: str) -> None:
    command = ALL[name]
    assert command.help[0].isupper()
    for parameter in command.params:
        text = parameter.help or ""
        assert text, f"{name} {parameter.name} has no help"
        assert text[0].isupper() or text.startswith("--"), text
        assert text.endswith("."), text


@pytest.mark.parametrize("name", ALL)
def test_a_local_file_is_promised_to_commands_that_take_one(name: str) -> None:
    ledgers = [parameter for parameter in ALL[name].params if parameter.name == "ledger"]
    assert [("local ledger" in parameter.help) for parameter in ledgers] == [name in LOCAL] * len(ledgers)
    assert ledgers or name not in LOCAL


@pytest.mark.parametrize("name", ALL)
def test_every_command_is_in_the_reference(name: str) -> None:
    assert re.search(rf"^\|.*`{name}[ `].* \| .+ \|", TABLES, re.MULTILINE), f"{name} needs a row in command-line.md"


def test_every_command_is_in_a_panel_for_somebody() -> None:
    panels = {name: command.rich_help_panel for name, command in ROOT.commands.items()}
    assert all(isinstance(panel, str) for panel in panels.values()), panels
    assert panels["ask"] == "For analysts"
    assert panels["publish"].startswith("For custodians")
    assert panels["allow"].startswith("For custodians")
    assert panels["audit"].startswith("For auditors")
    assert panels["network"].startswith("For development")
