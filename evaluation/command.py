"""``python -m evaluation NAME --out DIR``: run an experiment of the paper, or one of ours, on the real system."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated

import typer
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from evaluation import suite
from evaluation.context import LedgerKind, ProgressListener, Settings
from evaluation.outcome import Outcome
from evaluation.report import write_report
from noiseledger.chain.heads import read_head
from noiseledger.cli.app import main as run
from noiseledger.cli.exits import Interrupted
from noiseledger.cli.options import JsonOption
from noiseledger.cli.output import console, notes, print_json, print_table
from noiseledger.cli.payer import HeadOption, OwnChainRpcOption, PayerOption, open_payer
from noiseledger.data.hints import did_you_mean
from noiseledger.errors import InvalidInput

COMMAND = "python -m evaluation"
ALL = "all"

app = typer.Typer(add_completion=False, pretty_exceptions_enable=False)


def main() -> None:
    """Run the command; errors and exit codes are those of ``noiseledger``."""
    run(app)


@app.command()
def evaluation(
    name: Annotated[
        str | None,
        typer.Argument(
            help=f"{', '.join(suite.EXPERIMENTS)}, or all of them. Without a name, the experiments are listed.",
            metavar="NAME",
        ),
    ] = None,
    out: Annotated[
        Path | None, typer.Option(help="Folder for figures, data and the report; overlap needs none.", metavar="DIR")
    ] = None,
    ledger: Annotated[str, typer.Option(help="Which ledgers to measure: chain or local.")] = "chain",
    rpc: OwnChainRpcOption = None,
    key: PayerOption = None,
    head: HeadOption = "latest",
    requests: Annotated[int | None, typer.Option(help="Number of requests; default: as in the paper.", min=1)] = None,
    repetitions: Annotated[
        int | None, typer.Option(help="Number of repetitions; default: depends on the experiment.", min=1)
    ] = None,
    seed: Annotated[int, typer.Option(help="Seed for the choice of requests. Noise has no seed.", min=0)] = 1,
    quick: Annotated[bool, typer.Option("--quick", help="Run a small version, as a check that it works.")] = False,
    process: Annotated[
        list[int] | None, typer.Option(help="With --rpc, for cpu: the id of a process of that chain; may be repeated.")
    ] = None,
    json: JsonOption = False,
) -> None:
    """Run an experiment of the paper, or one of ours. After Ctrl-C, the same command continues where it stopped."""
    if name is None:
        _list(as_json=json)
        return
    if out is None and (name not in suite.EXPERIMENTS or suite.EXPERIMENTS[name].folder_needed):
        raise typer.BadParameter("pass --out DIR, the folder for figures, data and the report.")
    _check("experiment", name, [*suite.EXPERIMENTS, ALL])
    _check("ledger", ledger, [kind.value for kind in LedgerKind])
    settings = Settings(
        ledger=LedgerKind(ledger),
        rpc=rpc,
        payer=open_payer(rpc, key),
        head=read_head(head),
        seed=seed,
        requests=requests,
        repetitions=repetitions,
        quick=quick,
        processes=tuple(process or ()),
    )
    outcomes = []
    with _interruptible(out), _folder(out) as folder:
        for each in suite.EXPERIMENTS if name == ALL else (name,):
            with _progress(each) as on_progress:
                command = _command(each, out, settings)
                outcomes.append(suite.run_experiment(each, folder, settings, command, on_progress))
            if not json:
                _show(outcomes[-1])
        report = write_report(outcomes, folder)
    if json:
        described = [outcome.describe() for outcome in outcomes]
        print_json(described[0] if name != ALL else {facts["experiment"]: facts for facts in described})
    elif out is not None:
        console.print(f"Figures, data and report: {report}", soft_wrap=True)


def _list(*, as_json: bool) -> None:
    questions = {name: experiment.question for name, experiment in suite.EXPERIMENTS.items()}
    if as_json:
        print_json({"experiments": [{"name": name, "question": question} for name, question in questions.items()]})
        return
    print_table("Experiments", ("name", "question"), questions.items())
    console.print(f"Run one of them, or all: {COMMAND} NAME --out DIR")


def _check(what: str, given: str, known: list[str]) -> None:
    if given not in known:
        hint = did_you_mean(given, known) or f": expected {', '.join(known)}"
        raise InvalidInput(f"There is no {what} {given!r}{hint}.")


def _command(name: str, out: Path | None, settings: Settings) -> str:
    """Return the command that repeats the experiment."""
    words = [COMMAND, name, *(() if out is None else ("--out", str(out)))]
    plain = type(settings)()
    for option in ("ledger", "rpc", "head", "requests", "repetitions", "seed"):
        value = getattr(settings, option)
        words += [] if value == getattr(plain, option) else [f"--{option}", str(value)]
    return " ".join(words + (["--quick"] if settings.quick else []))


def _show(outcome: Outcome) -> None:
    console.print(f"\n{outcome.title}", style="bold")
    console.print(outcome.method)
    for sentence in outcome.sentences:
        console.print(f"- {sentence}")
    for table in outcome.tables:
        print_table(table.title, table.columns, table.rows)


@contextmanager
def _progress(name: str) -> Iterator[ProgressListener]:
    """Show the progress: a bar on a terminal, otherwise one line per step."""
    if not sys.stderr.isatty():
        yield lambda what, done, total: notes.print(f"{name}: {what}, {done} of {total}", soft_wrap=True)
        return
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=notes, transient=True) as progress:
        tasks = {}

        def on_progress(what: str, done: int, total: int) -> None:
            if what not in tasks:
                tasks[what] = progress.add_task(what, total=total)
            progress.update(tasks[what], completed=done, total=total)

        yield on_progress


@contextmanager
def _folder(out: Path | None) -> Iterator[Path]:
    """Return the folder of the results; without one, nothing is kept."""
    if out is not None:
        yield out
        return
    with TemporaryDirectory() as folder:
        yield Path(folder)


@contextmanager
def _interruptible(out: Path | None) -> Iterator[None]:
    try:
        yield
    except KeyboardInterrupt:
        kept = f"Finished results are kept in {out}: the same command continues from there."
        raise Interrupted(f"Stopped. {'Nothing is kept without --out DIR.' if out is None else kept}") from None
