"""``noiseledger history [LEDGER]``: who asked what, how much privacy it used, and the answers."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from typing import Annotated

import typer

from noiseledger.cli.accuracy import complete_query
from noiseledger.cli.connect import open_client
from noiseledger.cli.options import JsonOption, LedgerArgument, RpcOption
from noiseledger.cli.output import console, plain, print_json, print_table, short_address
from noiseledger.core.accuracy import half_width
from noiseledger.core.budget import Budget
from noiseledger.core.display import show
from noiseledger.core.filters.cells import Mask
from noiseledger.core.numbers import readable
from noiseledger.core.query import Query
from noiseledger.core.sensitivity import Population, sensitivity
from noiseledger.core.zone_budget import most_charged
from noiseledger.ledger import Record
from noiseledger.ledger.shapes import describe_record


def history(
    ledger: LedgerArgument = None,
    query: Annotated[
        str | None, typer.Option(help="Show only requests for this query.", autocompletion=complete_query)
    ] = None,
    last: Annotated[int | None, typer.Option(help="Show only this many of the newest requests.", min=1)] = None,
    raw: Annotated[bool, typer.Option("--raw", help="Show the numbers as published: not rounded.")] = False,
    rpc: RpcOption = None,
    json: JsonOption = False,
) -> None:
    """Show who asked what, how much privacy it used and would have used without reuse, and the answers."""
    from noiseledger.client.reader import unnamed_note  # noqa: PLC0415 - takes a second

    with open_client(ledger, rpc) as client:
        names = {offer.query: offer.name for offer in client.queries()}
        records = client.history(query)[-(last or 0) :]
        now, population = client.budget(), client.ledger.population
        reaches = client.ledger.reaches() if now.where else {}
        unnamed = unnamed_note(client.unnamed(dict.fromkeys(record.query for record in records)))
    if json:
        described = [describe_record(names[record.query], record, client.codebook) for record in records]
        print_json({"records": described})
        return
    answers = [_answer(record, population, raw=raw) for record in records]
    _show(records, [names[record.query] for record in records], answers, now, reaches)
    if unnamed is not None:
        console.print(plain(unnamed), soft_wrap=True)


def _show(
    records: Sequence[Record],
    names: Sequence[str],
    answers: Sequence[str],
    budget: Budget,
    reaches: Mapping[Query, Mask],
) -> None:
    columns = ("when", "who", "what", "case", ">privacy", ">naive", ">answer ± (95%)", ">block")
    rows = [_cells(*line, budget) for line in zip(records, names, answers, strict=True)]
    print_table(f"{len(records)} request{'' if len(records) == 1 else 's'}", columns, rows)
    cost = _most(records, reaches, lambda record: record.cost)
    naive = _most(records, reaches, lambda record: record.precision)
    if naive:
        of_one = ", of the zone that pays most" if budget.where else ""
        console.print(
            f"These requests used {budget.percent(cost)} of the privacy budget{of_one}; without reuse (naive) they would have "
            f"used {budget.percent(naive)}."
        )


def _most(records: Sequence[Record], reaches: Mapping[Query, Mask], cost: Callable[[Record], Fraction]) -> Fraction:
    """Return what the zone of an edition pays that pays most; without ``reaches``, there is one zone."""
    editions = {record.edition for record in records}
    return max(
        (
            most_charged((cost(r), reaches.get(r.query, 1)) for r in records if r.edition == edition)
            for edition in editions
        ),
        default=Fraction(0),
    )


def _cells(record: Record, name: str, answer: str, budget: Budget) -> tuple[str, ...]:
    uses = budget.percent(record.cost) if record.cost else "free"
    block = "" if record.block is None else str(record.block)
    when = f"{record.asked_at:%Y-%m-%d %H:%M}"
    naive = budget.percent(record.precision)
    return (when, short_address(record.analyst), name, record.case.value, uses, naive, answer, block)


def _answer(record: Record, population: Population, *, raw: bool) -> str:
    if len(record.values) != 1:
        return f"{len(record.values)} numbers" if record.values else "not yet"
    (value,) = record.values
    width = half_width(record.precision, sensitivity(record.query, population))
    return f"{value!r} ± {readable(width, 3)}" if raw else str(show(record.query, value, width))
