"""``noiseledger check CATALOGUE``: everything that is wrong with it, or what it promises and affords."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from typing import Annotated, Any

import typer

from noiseledger.cli.output import JsonOption, console, print_json, print_table
from noiseledger.core.accuracy import half_width
from noiseledger.core.numbers import readable
from noiseledger.core.privacy import precision_for
from noiseledger.core.sensitivity import sensitivity
from noiseledger.data.catalogue import Catalogue, CatalogueProblems, Problem, read_catalogue
from noiseledger.data.source import check_query
from noiseledger.errors import NoiseledgerError

#: The paper's requests have an epsilon from 0.1 to 1.1 and a delta from 1e-5 to 1e-4.
TYPICAL = (("0.1", "1e-5"), ("0.5", "1e-5"), ("1", "1e-5"))


def check(
    catalogue: Annotated[Path, typer.Argument(help="The catalogue, a TOML file.", metavar="CATALOGUE")],
    json: JsonOption = False,
) -> None:
    """Find every problem of a catalogue, with line and hint; without any, show what it promises and affords."""
    read = read_catalogue(catalogue)
    rows_of_data = _check_data(read)
    facts = _describe(read, rows_of_data)
    if json:
        print_json(facts)
        return
    rows = [
        (q["name"], q["query"], q["dimension"], readable(q["sensitivity"], 4), _errors(q)) for q in facts["queries"]
    ]
    columns = ("name", "query", ">dimension", ">sensitivity", ">± 95% at epsilon 0.1, 0.5, 1")
    print_table(f"{catalogue}: {rows_of_data} rows, no problems", columns, rows)
    console.print(str(read.budget))
    afforded = ", ".join(f"{item['requests']} at epsilon {item['epsilon']:g}" for item in facts["affords"])
    console.print(f"Without any reuse it affords this many requests (delta 1e-5): {afforded}.")


def _check_data(catalogue: Catalogue) -> int:
    """See whether the data can answer every query, and count its rows; problems name columns, never values."""
    try:
        source = catalogue.source.open()
    except NoiseledgerError as error:
        raise CatalogueProblems(catalogue.file, [Problem(catalogue.source_line, str(error))]) from None
    from noiseledger.chain.contract import MAX_COORDINATES  # noqa: PLC0415 - takes a second
    from noiseledger.custodian.publish import too_many_groups  # noqa: PLC0415 - likewise

    problems = []
    with closing(source):
        for entry in catalogue.entries:
            try:
                check_query(entry.query, source.columns)
            except NoiseledgerError as error:
                problems.append(Problem(entry.line, f"Query {entry.name}: {error}"))
            if entry.query.dimension > MAX_COORDINATES:
                problems.append(Problem(entry.line, f"Query {entry.name}: {too_many_groups(entry.query)}"))
        if problems:
            raise CatalogueProblems(catalogue.file, problems)
        return source.rows


def _describe(catalogue: Catalogue, rows: int) -> dict[str, Any]:
    population = catalogue.population(rows)
    queries = []
    for entry in catalogue.entries:
        unit = sensitivity(entry.query, population)
        widths = [half_width(precision_for(*promise), unit) for promise in TYPICAL]
        facts = {"name": entry.name, "query": str(entry.query), "identifier": entry.query.identifier}
        queries.append(
            {**facts, "dimension": entry.query.dimension, "sensitivity": float(unit), "half_widths_95": widths}
        )
    budget = catalogue.budget
    affords = [
        {
            "epsilon": float(epsilon),
            "delta": float(delta),
            "requests": int(budget.total / precision_for(epsilon, delta)),
        }
        for epsilon, delta in TYPICAL
    ]
    promise = {"epsilon": float(budget.epsilon), "delta": float(budget.delta), "precision": float(budget.total)}
    return {"rows": rows, "budget": promise, "queries": queries, "affords": affords}


def _errors(query: dict[str, Any]) -> str:
    return ", ".join(readable(width, 3) for width in query["half_widths_95"])
