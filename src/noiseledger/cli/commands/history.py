"""``noiseledger history [LEDGER]``: who asked what, what it cost, and the answers."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Annotated

import typer

from noiseledger.cli.accuracy import complete_query
from noiseledger.cli.connect import open_client
from noiseledger.cli.options import JsonOption, LedgerArgument, RpcOption
from noiseledger.cli.output import console, plain, print_json, print_table, short_address
from noiseledger.core.numbers import readable
from noiseledger.core.query import Query
from noiseledger.ledger import Record
from noiseledger.ledger.shapes import describe_record


def history(
    ledger: LedgerArgument = None,
    query: Annotated[
        str | None, typer.Option(help="Show only requests for this query.", autocompletion=complete_query)
    ] = None,
    last: Annotated[int | None, typer.Option(help="Show only this many of the newest requests.", min=1)] = None,
    rpc: RpcOption = None,
    json: JsonOption = False,
) -> None:
    """Show who asked what, what it cost, what it would have cost without reuse, and the answers."""
    from noiseledger.client.reader import unnamed_note  # noqa: PLC0415 - takes a second

    with open_client(ledger, rpc) as client:
        names = {offer.query: offer.name for offer in client.queries()}
        records = client.history(query)[-(last or 0) :]
        unnamed = unnamed_note(client.unnamed(dict.fromkeys(record.query for record in records)))
    if json:
        described = [describe_record(names[record.query], record, client.codebook) for record in records]
        print_json({"records": described})
    else:
        _show(records, names)
        if unnamed is not None:
            console.print(plain(unnamed), soft_wrap=True)


def _show(records: Sequence[Record], names: dict[Query, str]) -> None:
    columns = ("when", "who", "what", "case", ">cost", ">naive", ">answer", ">block")
    print_table(f"{len(records)} requests", columns, [_cells(record, names[record.query]) for record in records])
    cost = float(sum((record.cost for record in records), Fraction(0)))
    naive = float(sum((record.precision for record in records), Fraction(0)))
    if naive:
        console.print(f"Total cost: {cost:.4g}. Without reuse it would have been {naive:.4g}.")


def _cells(record: Record, name: str) -> tuple[str, ...]:
    cost = f"{float(record.cost):.4g}" if record.cost else "free"
    block = "" if record.block is None else str(record.block)
    when = f"{record.asked_at:%Y-%m-%d %H:%M}"
    naive = f"{float(record.precision):.4g}"
    return (when, short_address(record.analyst), name, record.case.value, cost, naive, _answer(record.values), block)


def _answer(values: tuple[float, ...]) -> str:
    if len(values) == 1:
        return readable(values[0], 5)
    return f"{len(values)} numbers" if values else "not yet"
