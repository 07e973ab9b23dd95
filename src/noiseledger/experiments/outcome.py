"""What comes out of an experiment: sentences, numbers, tables and figures, written beside each other."""

from __future__ import annotations

import json
import os
import platform
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from importlib.metadata import version
from pathlib import Path
from typing import Any

from noiseledger.experiments.figures import Figure


@dataclass(frozen=True)
class Table:
    """Numbers for people; the name of a column of numbers begins with '>'."""

    title: str
    columns: Sequence[str]
    rows: Sequence[Sequence[str]]


@dataclass(frozen=True)
class Outcome:
    """One experiment's result."""

    #: The name of the command, and of the files.
    name: str
    title: str
    #: What was done, in a sentence or two.
    method: str
    #: What came out.
    sentences: Sequence[str]
    #: The same for machines.
    numbers: Mapping[str, Any]
    figures: Sequence[Figure] = ()
    tables: Sequence[Table] = ()
    #: The command that does it again.
    command: str = field(default="", kw_only=True)

    def describe(self) -> dict[str, Any]:
        """Return everything but the curves, which lie beside the figures."""
        return {
            "experiment": self.name,
            "command": self.command,
            "environment": environment(),
            "method": self.method,
            "sentences": list(self.sentences),
            "figures": {figure.name: figure.caption for figure in self.figures},
            "tables": [asdict(table) for table in self.tables],
            **self.numbers,
        }

    def save(self, folder: Path) -> None:
        """Write the numbers as JSON, and each figure with its data."""
        for figure in self.figures:
            figure.save(folder)
        text = json.dumps(self.describe(), indent=1) + "\n"
        (folder / f"{self.name}.json").write_text(text, encoding="utf-8")


def environment() -> dict[str, Any]:
    """Return what the numbers may depend on."""
    return {
        "noiseledger": version("noiseledger"),
        "python": platform.python_version(),
        "system": f"{platform.system()} {platform.machine()}",
        "processors": os.cpu_count() or 0,
    }
