"""The results of an experiment: sentences, numbers, tables and figures, and how they are written to files."""

from __future__ import annotations

import json
import os
import platform
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from importlib.metadata import version
from pathlib import Path
from typing import Any

from evaluation.figures import Figure


@dataclass(frozen=True)
class Table:
    """A table; the names of columns with numbers begin with '>'."""

    title: str
    columns: Sequence[str]
    rows: Sequence[Sequence[str]]


@dataclass(frozen=True)
class Outcome:
    """The results of one experiment."""

    #: The name of the experiment and of its files.
    name: str
    title: str
    #: What was done, in a sentence or two.
    method: str
    #: The results in words.
    sentences: Sequence[str]
    #: The results in numbers.
    numbers: Mapping[str, Any]
    figures: Sequence[Figure] = ()
    tables: Sequence[Table] = ()
    #: The command that repeats the experiment.
    command: str = field(default="", kw_only=True)

    def describe(self) -> dict[str, Any]:
        """Return everything for JSON, except the curves, which are in the CSV files of the figures."""
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
    """Return the versions and the machine, which the numbers may depend on."""
    return {
        "noiseledger": version("noiseledger"),
        "python": platform.python_version(),
        "system": f"{platform.system()} {platform.machine()}",
        "processors": os.cpu_count() or 0,
    }
