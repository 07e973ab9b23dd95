"""``noiseledger experiment NAME --out DIR``: the paper's experiments and ours, on the real system."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from noiseledger.cli.exits import Interrupted
from noiseledger.cli.options import JsonOption
from noiseledger.cli.output import console, notes, print_json, print_table
from noiseledger.cli.payer import HeadOption, PayerOption, RpcOption, open_payer
from noiseledger.data.hints import did_you_mean
from noiseledger.errors import InvalidInput

if TYPE_CHECKING:
    from noiseledger.experiments.desk import Settings, Tell
    from noiseledger.experiments.outcome import Outcome

ALL = "all"


def experiment(
    name: Annotated[
        str,
        typer.Argument(
            help="One of cost, error, latency, utility, noise, cpu, peers, ablations, or all of them.", metavar="NAME"
        ),
    ],
    out: Annotated[Path, typer.Option(help="The folder for figures, data and report.", metavar="DIR")],
    ledger: Annotated[str, typer.Option(help="Where the ledgers live that are asked: chain or local.")] = "chain",
    rpc: RpcOption = None,
    key: PayerOption = None,
    head: HeadOption = "latest",
    requests: Annotated[int | None, typer.Option(help="How many requests; default: as in the paper.", min=1)] = None,
    repetitions: Annotated[int | None, typer.Option(help="How often; default: each experiment's own.", min=1)] = None,
    seed: Annotated[int, typer.Option(help="Draws who asks what; noise has no seed.", min=0)] = 1,
    quick: Annotated[bool, typer.Option("--quick", help="A small size, to see that it works.")] = False,
    process: Annotated[
        list[int] | None, typer.Option(help="With --rpc, for cpu: the id of a process of that chain; may be repeated.")
    ] = None,
    json: JsonOption = False,
) -> None:
    """Repeat an experiment of the paper, or one of ours; stopped with Ctrl-C, the same command goes on."""
    from noiseledger.chain.heads import read_head  # noqa: PLC0415 - takes a second
    from noiseledger.experiments.desk import Settings, Where  # noqa: PLC0415 - likewise
    from noiseledger.experiments.report import write_report  # noqa: PLC0415 - likewise
    from noiseledger.experiments.suite import EXPERIMENTS, run_experiment  # noqa: PLC0415 - likewise

    _check("experiment", name, [*EXPERIMENTS, ALL])
    _check("ledger", ledger, [where.value for where in Where])
    settings = Settings(
        ledger=Where(ledger),
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
    with _interruptible(out):
        for each in EXPERIMENTS if name == ALL else (name,):
            with _progress(each) as tell:
                outcomes.append(run_experiment(each, out, settings, _command(each, out, settings), tell))
            if not json:
                _show(outcomes[-1])
    report = write_report(outcomes, out)
    if json:
        described = [outcome.describe() for outcome in outcomes]
        print_json(described[0] if name != ALL else {facts["experiment"]: facts for facts in described})
    else:
        console.print(f"Figures, data and report: {report}", soft_wrap=True)


def _check(what: str, given: str, known: list[str]) -> None:
    if given not in known:
        hint = did_you_mean(given, known) or f": expected {', '.join(known)}"
        raise InvalidInput(f"There is no {what} {given!r}{hint}.")


def _command(name: str, out: Path, settings: Settings) -> str:
    """Return the command that does it again."""
    words = ["noiseledger experiment", name, "--out", str(out)]
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
def _progress(name: str) -> Iterator[Tell]:
    """Show how far it is: a bar for somebody who watches, and a line now and then in a log."""
    if not sys.stderr.isatty():
        yield lambda what, done, total: notes.print(f"{name}: {what}, {done} of {total}", soft_wrap=True)
        return
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=notes, transient=True) as progress:
        tasks = {}

        def tell(what: str, done: int, total: int) -> None:
            if what not in tasks:
                tasks[what] = progress.add_task(what, total=total)
            progress.update(tasks[what], completed=done, total=total)

        yield tell


@contextmanager
def _interruptible(out: Path) -> Iterator[None]:
    try:
        yield
    except KeyboardInterrupt:
        raise Interrupted(f"Stopped. What is finished is kept in {out}: the same command goes on from there.") from None
