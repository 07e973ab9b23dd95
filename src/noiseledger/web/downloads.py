"""The numbers behind every chart and table, as CSV and JSON, and the ledger file."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Annotated, Any

from fastapi import APIRouter, Path
from fastapi.responses import JSONResponse, Response, StreamingResponse

from noiseledger.core.query import Query
from noiseledger.ledger.shapes import describe_record
from noiseledger.web import charts, views
from noiseledger.web.site import Look, Site, epsilon_of

_FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n")


def router(site: Site) -> APIRouter:
    """Return the downloads of one ledger."""
    files = APIRouter(include_in_schema=False)

    @files.get("/ledger.json")
    def ledger() -> JSONResponse:
        # Where it is and who may ask, as the chain has it; the file may lack both.
        look = site.look()
        access = look.snapshot.access.value
        place = replace(look.ledger, address=site.contract.address, chain_id=site.rpc.chain_id, access=access)
        return _json(place.content, "ledger.json")

    @files.get("/budget/spending.csv")
    def spending_csv() -> Response:
        return _csv(_spending(site.look()), "spending.csv")

    @files.get("/budget/spending.json")
    def spending_json() -> JSONResponse:
        return _json({"spending": _spending(site.look())}, "spending.json")

    @files.get("/budget/queries.csv")
    def queries_csv() -> Response:
        return _csv(_by_query(site.look()), "queries.csv")

    @files.get("/budget/queries.json")
    def queries_json() -> JSONResponse:
        return _json({"queries": _by_query(site.look())}, "queries.json")

    @files.get("/budget/records.csv")
    def records_csv() -> Response:
        return _csv(_records(site.look()), "records.csv")

    @files.get("/queries/{name}/answer.csv")
    def answer_csv(name: Annotated[str, Path(max_length=400)]) -> Response:
        look = site.look()
        return _csv(_answer(look, views.find_offer(look, name).query), "answer.csv")

    return files


def _answer(look: Look, query: Query) -> Iterator[dict[str, Any]]:
    """Yield each number of the best public answer, if there is one, after its group in each column."""
    best = look.client.best(query)
    if best is None:
        return
    # A column of the data may be called like a column of this file.
    prefix = "by " if {"label", "answer", "half_width_95"} & set(query.grouped_by) else ""
    names = [prefix + name for name in query.grouped_by]
    for cell, label, value in zip(query.cells, best.labels, best.values, strict=True):
        numbers = {"answer": value, "half_width_95": best.half_width(), "label": label}
        yield dict(zip(names, cell, strict=True)) | numbers


def _spending(look: Look) -> list[dict[str, Any]]:
    return look.cached(("spending-rows",), lambda: _spending_rows(look))


def _spending_rows(look: Look) -> list[dict[str, Any]]:
    delta = look.snapshot.terms.delta
    return [
        {
            "time": step.when.isoformat(),
            "spent": step.spent,
            "epsilon_spent": epsilon_of(step.spent, delta),
            "naive_spent": step.naive,
        }
        for step in charts.thinned(views.steps(look.snapshot))
    ]


def _by_query(look: Look) -> list[dict[str, Any]]:
    return [
        {"name": bar.name, "spent": bar.spent, "epsilon_spent": bar.epsilon, "naive_spent": bar.naive}
        for bar in views.bars(look)
    ]


def _records(look: Look) -> Iterator[dict[str, Any]]:
    for record in look.snapshot.records():
        shape = describe_record(look.name(record.query), record, look.client.codebook)
        # A list is one cell of JSON, which can be parsed again: the name of a group may contain any character.
        yield shape | {name: json.dumps(cell) for name, cell in shape.items() if isinstance(cell, list)}


def _csv(rows: Iterable[Mapping[str, Any]], name: str) -> StreamingResponse:
    headers = {"Content-Disposition": f'attachment; filename="{name}"'}
    return StreamingResponse(_lines(rows), media_type="text/csv; charset=utf-8", headers=headers)


def _lines(rows: Iterable[Mapping[str, Any]]) -> Iterator[str]:
    text = io.StringIO()
    writer = csv.writer(text)
    for place, row in enumerate(rows):
        if place == 0:
            writer.writerow([_harmless(name) for name in row])
        writer.writerow([_harmless(value) for value in row.values()])
        yield text.getvalue()
        text.seek(0)
        text.truncate()


def _harmless(value: Any) -> Any:
    """Prevent a spreadsheet from interpreting a text as a formula."""
    return f"'{value}" if isinstance(value, str) and value.startswith(_FORMULA) else value


def _json(content: Mapping[str, Any], name: str) -> JSONResponse:
    return JSONResponse(content, headers={"Content-Disposition": f'attachment; filename="{name}"'})
