"""``noiseledger audit LEDGER ...``: check everything that a chain tells, and say what it cannot tell."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from noiseledger.cli.config import find_ledger, find_rpc
from noiseledger.cli.exits import DECLINED
from noiseledger.cli.options import JsonOption, RpcOption
from noiseledger.cli.output import console, notes, plain, print_json, print_table
from noiseledger.errors import InvalidInput

if TYPE_CHECKING:
    from noiseledger.audit import Report
    from noiseledger.audit.chain import Heard
    from noiseledger.audit.compose import Composed

SHOWN_FINDINGS = 20


def audit(
    ledgers: Annotated[
        list[str] | None, typer.Argument(help="Ledger files or addresses; of several, also what they promise together.")
    ] = None,
    rpc: RpcOption = None,
    from_genesis: Annotated[
        bool, typer.Option("--from-genesis", help="Read from the chain's first block, whatever the ledger file says.")
    ] = False,
    block: Annotated[
        str, typer.Option(help="As of which block: latest, safe, finalized, or, say, latest-3.")
    ] = "latest",
    catalogue: Annotated[
        Path | None, typer.Option(help="On the custodian's side: also open the commitment and test the noise.")
    ] = None,
    secret: Annotated[Path | None, typer.Option(help="The commitment's secret; default: the catalogue's own.")] = None,
    data: Annotated[Path | None, typer.Option(help="The data; default: the catalogue's own.")] = None,
    html: Annotated[Path | None, typer.Option(help="Write the report here, as a page.", metavar="FILE")] = None,
    json: JsonOption = False,
) -> None:
    """Check a ledger's whole life from the chain, and say what was not checked; exit code 1 if anything is wrong."""
    from noiseledger.audit.compose import compose  # noqa: PLC0415 - takes a second
    from noiseledger.audit.shapes import describe_composed, describe_report, html_report  # noqa: PLC0415 - likewise

    places = ledgers or [find_ledger(None)]
    _check_options(places, block, catalogue, secret, data)
    reports = []
    for place in places:
        with _progress(place) as heard:
            options = {"rpc": find_rpc(rpc), "from_genesis": from_genesis, "block": block, "heard": heard}
            reports.append(_audit(place, catalogue, secret, data, options))
    composed = compose(reports) if len(reports) > 1 else None
    if html is not None:
        _write(html, html_report(reports, composed))
    if json:
        together = None if composed is None else describe_composed(composed)
        print_json({"ledgers": [describe_report(report) for report in reports], "together": together})
    else:
        _show(reports, composed)
    if not all(report.is_well for report in reports):
        raise typer.Exit(DECLINED)


def _check_options(
    places: list[str], block: str, catalogue: Path | None, secret: Path | None, data: Path | None
) -> None:
    from noiseledger.chain.heads import read_head  # noqa: PLC0415 - takes a second

    read_head(block, "--block")
    if catalogue is None and (secret or data):
        raise InvalidInput("--secret and --data are the custodian's help: give the --catalogue with them.")
    if catalogue is not None and len(places) > 1:
        raise InvalidInput("A catalogue belongs to one ledger: audit that one alone with --catalogue.")


def _audit(
    place: str, catalogue: Path | None, secret: Path | None, data: Path | None, options: dict[str, Any]
) -> Report:
    from noiseledger.audit import audit as audit_ledger  # noqa: PLC0415 - takes a second

    if catalogue is None:
        return audit_ledger(place, **options)
    from noiseledger.audit.inside import audit_inside  # noqa: PLC0415 - likewise

    return audit_inside(place, catalogue=catalogue, secret=secret, data=data, **options)


def _show(reports: list[Report], composed: Composed | None) -> None:
    for report in reports:
        _show_one(report)
    if composed is not None:
        what = "one record replaced" if composed.neighbours == "replace" else "one record added or removed"
        console.print(
            f"\nFor people who are in the data of all {len(reports)}: epsilon {composed.epsilon:.4g} at delta "
            f"{float(composed.delta):g} is promised together ({what}), {composed.epsilon_spent:.4g} is spent."
        )


def _show_one(report: Report) -> None:
    from noiseledger.audit.shapes import rules  # noqa: PLC0415 - takes a second

    console.print(plain(report.verdict), style="bold", soft_wrap=True)
    rows = [(rule.value, rule.sentence, f"{checked:,}", f"{broken:,}") for rule, checked, broken in rules(report)]
    title = f"{report.address} on chain {report.chain_id}, blocks {report.first_block} to {report.block}"
    print_table(title, ("rule", "says that", ">checked", ">broken"), rows)
    if report.p_values:
        print_table(
            "Is the noise what it should be?",
            ("test", ">p at most"),
            [(n, f"{p:g}") for n, p in report.p_values.items()],
        )
    console.print(
        f"Promised: epsilon {float(report.epsilon):g} at delta {float(report.delta):g} = precision "
        f"{float(report.budget):.6g}. Spent: {float(report.spent):.6g}, which is epsilon {report.epsilon_spent:.4g}."
    )
    for finding in report.findings[:SHOWN_FINDINGS]:
        console.print(f"Wrong: {plain(finding)}", soft_wrap=True)
    hidden = sum(report.broken.values()) - min(len(report.findings), SHOWN_FINDINGS)
    if hidden > 0:
        console.print(f"And {hidden:,} more.")
    for note in report.notes:
        console.print(f"Note: {plain(note)}")


@contextmanager
def _progress(place: str) -> Iterator[Heard]:
    """Show how far the reading is, to somebody who watches."""
    if not sys.stderr.isatty():
        yield lambda *_: None
        return
    columns = (TextColumn("Reading blocks"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=notes, transient=True) as progress:
        task = progress.add_task(place, total=None)
        yield lambda done, total: progress.update(task, completed=done, total=total)


def _write(file: Path, text: str) -> None:
    try:
        file.write_text(text, encoding="utf-8")
    except OSError as error:
        raise InvalidInput(f"The report cannot be written to {file}: {error.strerror}.") from None
