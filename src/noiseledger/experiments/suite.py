"""All experiments by name, and how one is run: on a desk of its own, its outcome written down."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import TypeAlias

from noiseledger.experiments.desk import Desk, Settings, Tell
from noiseledger.experiments.outcome import Outcome

#: In the order of the report. Each is a module of this package with a function ``run``.
EXPERIMENTS = ("cost", "error", "latency", "utility", "noise", "cpu", "peers", "ablations")

_Run: TypeAlias = Callable[[Desk], Outcome]


def run_experiment(name: str, folder: Path, settings: Settings, command: str, tell: Tell) -> Outcome:
    """Run one experiment, or go on with it, and write what comes out."""
    run: _Run = import_module(f"noiseledger.experiments.{name}").run
    with Desk(folder, settings, tell) as desk:
        outcome = replace(run(desk), command=command)
    outcome.save(folder)
    return outcome
