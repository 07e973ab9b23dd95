"""All experiments by name, and how one is run: on a desk of its own, its outcome written down."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import TypeAlias

from noiseledger.experiments.desk import Desk, Settings, Tell
from noiseledger.experiments.outcome import Outcome

#: In the order of the report, each with the module of this package whose function ``run`` does it.
EXPERIMENTS = {
    "cost": "cost",
    "error": "error",
    "latency": "latency.experiment",
    "noise": "noise.experiment",
    "utility": "noise.utility",
    "cpu": "cpu.experiment",
    "peers": "peers.comparison",
    "ablations": "ablations.experiment",
}

_Run: TypeAlias = Callable[[Desk], Outcome]


def run_experiment(name: str, folder: Path, settings: Settings, command: str, tell: Tell) -> Outcome:
    """Run one experiment, or go on with it, and write what comes out."""
    run: _Run = import_module(f"noiseledger.experiments.{EXPERIMENTS[name]}").run
    with Desk(folder, settings, tell) as desk:
        outcome = replace(run(desk), command=command)
    outcome.save(folder)
    return outcome
