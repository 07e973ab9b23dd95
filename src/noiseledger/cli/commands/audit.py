"""``noiseledger audit LEDGER ...``: check everything the chain records about a ledger, and say what it does not show."""

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
from noiseledger.cli.options import BLOCKS, JsonOption, RpcOption
from noiseledger.cli.output import console, notes, plain, print_json, print_table
from noiseledger.core.numbers import percent
from noiseledger.errors import InvalidInput
from noiseledger.extras import require
from noiseledger.settings import LEDGER

if TYPE_CHECKING:
    from noiseledger.auditing import Report
    from noiseledger.auditing.chain import OnProgress
    from noiseledger.auditing.compose import Composition

SHOWN_FINDINGS = 20
#: How many rows the table of editions and zones has; the rest is in the JSON.
SHOWN_ZONES = 20


def audit(
    ledgers: Annotated[
        list[str] | None,
        typer.Argument(
            help="Ledger files or contract addresses. For several, also their combined privacy guarantee. Default: the one in "
            f"{LEDGER.variable} or in the configuration file.",
            metavar="LEDGER",
        ),
    ] = None,
    rpc: RpcOption = None,
    from_genesis: Annotated[
        bool,
        typer.Option("--from-genesis", help="Read from the first block of the chain, whatever the ledger file says."),
    ] = False,
    block: Annotated[
        str,
        typer.Option(help=f"Audit the ledger as of this block: {BLOCKS}."),
    ] = "latest",
    catalogue: Annotated[
        Path | None,
        typer.Option(help="The custodian's catalogue: also check its data against the commitment, and test the noise."),
    ] = None,
    secret: Annotated[
        Path | None,
        typer.Option(help="File with the commitment's secret. Default: the one in the catalogue's custody folder."),
    ] = None,
    data: Annotated[Path | None, typer.Option(help="Data file. Default: the source that the catalogue names.")] = None,
    html: Annotated[
        Path | None, typer.Option(help="Also write the report to this file, as an HTML page.", metavar="FILE")
    ] = None,
    json: JsonOption = False,
) -> None:
    """Check a ledger's complete history on the chain, and say what was not checked. Exits with 1 if there is a problem."""
    from noiseledger.auditing.compose import compose  # noqa: PLC0415 - takes a second
    from noiseledger.auditing.render import describe_composition, describe_report, html_report  # noqa: PLC0415 - likewise

    targets = ledgers or [find_ledger(None)]
    _check_options(targets, block, catalogue, secret, data)
    reports = []
    for target in targets:
        with _progress(target) as on_progress:
            options = {"rpc": find_rpc(rpc), "from_genesis": from_genesis, "block": block, "on_progress": on_progress}
            reports.append(_audit(target, catalogue, secret, data, options))
    composition = compose(reports) if len(reports) > 1 else None
    if html is not None:
        _write(html, html_report(reports, composition))
    if json:
        together = None if composition is None else describe_composition(composition)
        print_json({"ledgers": [describe_report(report) for report in reports], "together": together})
    else:
        _show(reports, composition)
    if not all(report.passed for report in reports):
        raise typer.Exit(DECLINED)


def _check_options(
    targets: list[str], block: str, catalogue: Path | None, secret: Path | None, data: Path | None
) -> None:
    from noiseledger.chain.heads import read_head  # noqa: PLC0415 - takes a second

    read_head(block, "--block")
    if catalogue is None and (secret or data):
        raise InvalidInput(
            "--secret and --data work only together with --catalogue: give it as well, or leave them out."
        )
    if catalogue is not None and len(targets) > 1:
        raise InvalidInput("--catalogue belongs to one ledger, but several were given: audit that ledger on its own.")


def _audit(
    target: str, catalogue: Path | None, secret: Path | None, data: Path | None, options: dict[str, Any]
) -> Report:
    from noiseledger.auditing import audit as audit_ledger  # noqa: PLC0415 - takes a second

    if catalogue is None:
        return audit_ledger(target, **options)
    require("custodian", "For an audit with the data,")
    from noiseledger.auditing.with_data import audit_with_data  # noqa: PLC0415 - likewise

    return audit_with_data(target, catalogue=catalogue, secret=secret, data=data, **options)


def _show(reports: list[Report], composition: Composition | None) -> None:
    for report in reports:
        _show_one(report)
    if composition is not None:
        what = "one record replaced" if composition.neighbours == "replace" else "one record added or removed"
        what += " in every edition of each" if composition.in_editions else ""
        console.print(
            f"\nFor people in the data of all {len(reports)} ledgers, they promise epsilon {composition.epsilon:.4g} at delta "
            f"{float(composition.delta):g} together ({what}). The answers so far use epsilon "
            f"{composition.epsilon_spent:.4g}."
        )


def _show_one(report: Report) -> None:
    from noiseledger.auditing.compose import protects  # noqa: PLC0415 - takes a second
    from noiseledger.auditing.render import rules  # noqa: PLC0415 - likewise
    from noiseledger.auditing.report import by_chance  # noqa: PLC0415 - likewise

    console.print(plain(report.verdict), style="bold", soft_wrap=True)
    rows = [(rule.value, rule.sentence, f"{checked:,}", f"{broken:,}") for rule, checked, broken in rules(report)]
    title = f"{report.address} on chain {report.chain_id}, blocks {report.first_block} to {report.block}"
    print_table(title, ("rule", "condition", ">checked", ">broken"), rows)
    if report.p_values:
        print_table(
            "Statistical tests of the noise",
            ("test", "would happen by chance"),
            [(name, by_chance(p)) for name, p in report.p_values.items()],
        )
    console.print(
        f"Privacy budget: epsilon {float(report.epsilon):g} at delta {float(report.delta):g}, which is precision "
        f"{float(report.budget):.6g}. Used: {report.used}{plain(report.used_where)}. The answers so far use epsilon "
        f"{report.epsilon_spent:.4g}. This protects {protects(report)}."
    )
    _show_editions(report)
    for finding in report.findings[:SHOWN_FINDINGS]:
        console.print(f"Problem: {plain(finding)}", soft_wrap=True)
    hidden = sum(report.broken.values()) - min(len(report.findings), SHOWN_FINDINGS)
    if hidden > 0:
        console.print(f"{hidden:,} more problem{'s' * (hidden > 1)} not shown.")
    for note in report.notes:
        console.print(f"Note: {plain(note)}")


def _show_editions(report: Report) -> None:
    from noiseledger.auditing.compose import across_editions  # noqa: PLC0415 - takes a second
    from noiseledger.auditing.render import spending  # noqa: PLC0415 - likewise

    found = spending(report)
    if found and report.budget:
        rows = [
            (str(edition), plain(zone), percent(spent / report.budget)) for edition, zone, spent in found[:SHOWN_ZONES]
        ]
        more = f"; {len(found) - SHOWN_ZONES:,} more in --json" if len(found) > SHOWN_ZONES else ""
        print_table(f"Used by each edition and zone, the most first{more}", ("edition", "zone", ">used"), rows)
    people = across_editions(report)
    if people:
        print_table(
            "Somebody with a record in each of several editions is protected by these together",
            (">editions", ">epsilon promised", ">epsilon of the answers so far"),
            [(f"{each.editions:,}", f"{each.epsilon:.4g}", f"{each.epsilon_spent:.4g}") for each in people],
        )


@contextmanager
def _progress(target: str) -> Iterator[OnProgress]:
    """Show a progress bar on a terminal."""
    if not sys.stderr.isatty():
        yield lambda *_: None
        return
    columns = (TextColumn("Reading blocks"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=notes, transient=True) as progress:
        task = progress.add_task(target, total=None)
        yield lambda done, total: progress.update(task, completed=done, total=total)


def _write(file: Path, text: str) -> None:
    try:
        file.write_text(text, encoding="utf-8")
    except OSError as error:
        raise InvalidInput(f"The report cannot be written to {file}: {error.strerror}.") from None
