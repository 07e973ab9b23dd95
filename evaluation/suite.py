"""The list of all experiments, and how to run one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from importlib import import_module
from pathlib import Path
from typing import TypeAlias

from evaluation.context import ExperimentContext, ProgressListener, Settings
from evaluation.outcome import Outcome


@dataclass(frozen=True)
class Experiment:
    """A module of this package, whose function ``run`` is the experiment, and the question that it answers."""

    module: str
    question: str
    #: Whether its numbers say everything, so that it can also be run without a folder for figures.
    folder_needed: bool = True


#: In the order of the report.
EXPERIMENTS = {
    "cost": Experiment("cost", "How much privacy do many requests cost under four schemes?"),
    "error": Experiment("error", "How large are the errors of the answers?"),
    "latency": Experiment("latency.experiment", "How long do analysts wait if they ask at the same time?"),
    "noise": Experiment("noise.experiment", "How much noise does an answer contain, for epsilon 1 to 8?"),
    "utility": Experiment("noise.utility", "How far is an answer from the truth, for epsilon 1 to 8?"),
    "cpu": Experiment("cpu.experiment", "How much processor time does a request take, with and without a chain?"),
    "peers": Experiment("peers.comparison", "How do other libraries answer the same requests?"),
    "ablations": Experiment(
        "ablations.experiment", "What is each part of the system worth, and when does reuse not pay?"
    ),
    "overlap": Experiment("overlap.experiment", "What does reuse across different queries save?", folder_needed=False),
}

_Run: TypeAlias = Callable[[ExperimentContext], Outcome]


def run_experiment(name: str, folder: Path, settings: Settings, command: str, on_progress: ProgressListener) -> Outcome:
    """Run one experiment, or continue it, and write its results into a folder."""
    run: _Run = import_module(f"evaluation.{EXPERIMENTS[name].module}").run
    with ExperimentContext(folder, settings, on_progress) as context:
        outcome = replace(run(context), command=command)
    outcome.save(folder)
    return outcome
