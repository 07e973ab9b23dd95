"""The pages: one for analysts, one for the public, one for the custodian, and what hangs on them."""

from __future__ import annotations

import json
from typing import Annotated, Any

from fastapi import APIRouter, Path, Query, Request
from fastapi.responses import HTMLResponse, Response

from noiseledger.errors import RequestRefused
from noiseledger.web import charts, views
from noiseledger.web.api_shapes import ADDRESS, HASH
from noiseledger.web.form import read_form
from noiseledger.web.refusals import is_part
from noiseledger.web.rendering import render
from noiseledger.web.site import Site
from noiseledger.web.words import meaning

#: What a page is made anew for; what has not changed is not sent again.
_UNCHANGED = Response(status_code=204)


def router(site: Site) -> APIRouter:
    """Return the pages of one ledger."""
    pages = APIRouter(include_in_schema=False, default_response_class=HTMLResponse)

    def page(name: str, **values: Any) -> HTMLResponse:
        shared = {"site": site, "snapshot": site.snapshot, "watcher": site.watcher}
        return HTMLResponse(render(name, **shared, **values), headers={"Cache-Control": "no-store"})

    @pages.get("/")
    def ask(request: Request) -> HTMLResponse:
        return page("ask.html", **_ask(site, request))

    @pages.get("/quote")
    def quote(request: Request) -> HTMLResponse:
        return page("_quote.html", **_ask(site, request))

    @pages.get("/accuracy")
    def accuracy(request: Request) -> HTMLResponse:
        """Give the rest of the form after another query or another way was chosen."""
        return page("_accuracy.html", **_ask(site, request))

    @pages.get("/queries/{name}")
    def query(name: Annotated[str, Path(max_length=400)]) -> HTMLResponse:
        offer = views.find_offer(site, name)
        words = meaning(offer.query, site.snapshot.population)
        best, newest = views.best_view(site, offer), views.newest(site, offer)
        return page("query.html", offer=offer, meaning=words, best=best, newest=newest)

    @pages.get("/transactions/{transaction}")
    def transaction(
        request: Request,
        transaction: Annotated[str, Path(pattern=HASH)],
        sent: float | None = None,
        seen: Annotated[str, Query(max_length=100)] = "",
    ) -> Response:
        progress = site.follower.follow(site.snapshot, transaction.lower(), sent)
        state = f"{progress.state}-{progress.is_final}-{progress.block}-{site.watcher.health.ok}"
        if seen == state:
            return _UNCHANGED
        answers = views.answers_of(site, progress) if progress.state.value == "answered" else []
        name = "_progress.html" if is_part(request) else "transaction.html"
        return page(name, progress=progress, sent=sent, state=state, answers=answers)

    @pages.get("/accounts/{address}")
    def account(request: Request, address: Annotated[str, Path(pattern=ADDRESS)]) -> HTMLResponse:
        places = [
            place
            for analyst, places in site.snapshot.story.analysts.items()
            if analyst.lower() == address.lower()
            for place in places[-views.RECORDS_A_PAGE :]
        ]
        newest = views.listed(site, reversed(places))
        return page("_account.html" if is_part(request) else "account.html", address=address, newest=newest)

    @pages.get("/budget")
    def budget(number: Annotated[int, Query(alias="page", ge=1, le=10**9)] = 1) -> HTMLResponse:
        return page("budget.html", **_budget(site, number))

    @pages.get("/budget/live")
    def live_budget(
        number: Annotated[int, Query(alias="page", ge=1, le=10**9)] = 1,
        seen: Annotated[str, Query(max_length=100)] = "",
    ) -> Response:
        if seen == site.watcher.version:
            return _UNCHANGED
        return page("_budget.html", **_budget(site, number))

    @pages.get("/custodian")
    def custodian() -> HTMLResponse:
        return page("custodian.html", **_custodian(site))

    @pages.get("/custodian/live")
    def live_custodian(seen: Annotated[str, Query(max_length=100)] = "") -> Response:
        values = _custodian(site)
        return _UNCHANGED if seen == values["state"] else page("_custodian.html", **values)

    @pages.get("/api")
    def api(request: Request) -> HTMLResponse:
        return page("api.html", paths=request.app.openapi()["paths"])

    return pages


def _ask(site: Site, request: Request) -> dict[str, Any]:
    given = request.query_params
    offer = views.find_offer(site, given.get("query"))
    form = read_form(site.snapshot, offer, given)
    words = {offer.name: meaning(offer.query, site.snapshot.population) for offer in site.offers()}
    body = json.dumps(form.request)
    return {"form": form, "meanings": words, "view": views.quote_view(site, form), "body": body}


def _budget(site: Site, number: int) -> dict[str, Any]:
    """Gather the budget page; what everybody sees alike is worked out once."""
    snapshot = site.snapshot
    count = len(snapshot.story.entries)
    pages = max(-(-count // views.RECORDS_A_PAGE), 1)
    if number > pages:
        raise RequestRefused(f"There are {pages} pages of records.", 404)
    last = count - (number - 1) * views.RECORDS_A_PAGE
    places = range(last - 1, max(last - views.RECORDS_A_PAGE, 0) - 1, -1)
    return {
        "version": site.watcher.version,
        "budget": snapshot.budget(),
        "naive": snapshot.story.naive,
        "spending": site.cached(("spending",), lambda: views.spending_chart(site)),
        "bars": site.cached(("bars",), lambda: views.bars(site)),
        "queries_chart": site.cached(("queries",), lambda: charts.queries_chart("by-query", views.bars(site))),
        "records": site.cached(("records", number), lambda: views.listed(site, places)),
        "count": count,
        "page": number,
        "pages": pages,
    }


def _custodian(site: Site) -> dict[str, Any]:
    snapshot, health = site.snapshot, site.watcher.health
    waiting = [(asked, snapshot.asked_at(asked)) for asked in snapshot.waiting]
    state = f"{site.watcher.version}-{health.ok}-{snapshot.facts.worker}-{snapshot.facts.custodian}"
    names = {offer.query.identifier: offer.name for offer in site.offers()}
    return {"state": state[:100], "health": health, "waiting": waiting, "names": names, "reaches": views.reaches(site)}
