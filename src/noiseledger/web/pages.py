"""The pages: one for analysts, one for the public, one for the custodian, and the parts that they load."""

from __future__ import annotations

import json
from typing import Annotated, Any

from fastapi import APIRouter, Path, Query, Request
from fastapi.responses import HTMLResponse, RedirectResponse, Response
from markupsafe import Markup

from noiseledger.chain.contract import checksummed
from noiseledger.errors import RequestRefused
from noiseledger.web import charts, views
from noiseledger.web.api_page import operations
from noiseledger.web.api_shapes import ADDRESS, HASH, IDENTIFIER
from noiseledger.web.change import change_view
from noiseledger.web.form import read_form
from noiseledger.web.overdue import mark
from noiseledger.web.refusals import is_part
from noiseledger.web.rendering import render
from noiseledger.web.site import Look, Site, epsilon_of
from noiseledger.web.transactions import TransactionState

_PageNumber = Annotated[int, Query(alias="page", ge=1, le=10**9)]
#: The state that a page already shows: if it is the latest, nothing is sent again.
_Seen = Annotated[str, Query(max_length=200)]


def router(site: Site) -> APIRouter:
    """Return the pages of one ledger."""
    pages = APIRouter(include_in_schema=False, default_response_class=HTMLResponse)

    def page(name: str, look: Look, **values: Any) -> HTMLResponse:
        shown = {"site": site, "look": look, "admission": look.admission()} | values
        return HTMLResponse(render(name, **shown), headers={"Cache-Control": "no-store"})

    @pages.get("/")
    def ask(request: Request) -> HTMLResponse:
        look = site.look()
        return page("ask.html", look, **_ask(look, request))

    @pages.get("/quote")
    def quote(request: Request) -> HTMLResponse:
        look = site.look()
        return page("_quote.html", look, **_ask(look, request))

    @pages.get("/accuracy")
    def accuracy(request: Request) -> HTMLResponse:
        """Return the rest of the form after the query or the kind of accuracy was changed."""
        look = site.look()
        return page("_accuracy.html", look, **_ask(look, request))

    @pages.get("/fresh")
    def fresh(seen: _Seen = "") -> Response:
        """Tell a page that the ledger has changed, so that it requests its price again."""
        look = site.look()
        if seen == look.version:
            return _unchanged()
        reply = page("_fresh.html", look)
        reply.headers["HX-Trigger"] = "ledger-changed"
        return reply

    @pages.get("/queries/{name}")
    def query(name: Annotated[str, Path(max_length=400)]) -> HTMLResponse:
        look = site.look()
        offer = views.find_offer(look, name)
        words = look.meaning(offer.query)
        best, newest = views.best_view(look, offer), views.newest(look, offer)
        return page("query.html", look, offer=offer, meaning=words, best=best, newest=newest)

    @pages.get("/transactions/{transaction}")
    def transaction(
        request: Request, transaction: Annotated[str, Path(pattern=HASH)], sent: float | None = None, seen: _Seen = ""
    ) -> Response:
        look = site.look()
        progress = site.follower.follow(look.snapshot, transaction.lower(), sent)
        asked = {request.query for request in progress.asked}
        late = tuple(late for late in look.overdue if late.query in asked)
        state = f"{progress.state}-{progress.is_final}-{progress.block}-{look.health.ok}{mark(late)}"
        if seen == state:
            return _unchanged()
        answers = views.answers_of(look, progress) if progress.state is TransactionState.ANSWERED else []
        name = "_progress.html" if is_part(request) else "transaction.html"
        return page(
            name, look, progress=progress, sent=sent, state=state, answers=answers, late=late[0] if late else None
        )

    @pages.get("/requests/{identifier}")
    def handed(request: Request, identifier: Annotated[str, Path(pattern=IDENTIFIER)], seen: _Seen = "") -> Response:
        look = site.look()
        found = site.handing.follow(identifier)
        if found.transaction is not None:
            return _moved(request, f"/transactions/{found.transaction}")
        state = f"{found.state}-{found.refusal is None}"
        if seen == state:
            return _unchanged()
        return page("_handed.html" if is_part(request) else "handed.html", look, handed=found, state=state)

    @pages.get("/accounts/{address}")
    def account(request: Request, address: Annotated[str, Path(pattern=ADDRESS)]) -> HTMLResponse:
        look = site.look()
        name = "_account.html" if is_part(request) else "account.html"
        admission = look.admission(checksummed(address))
        return page(name, look, address=address, newest=views.newest_of(look, address), admission=admission)

    @pages.get("/budget")
    def budget(number: _PageNumber = 1) -> HTMLResponse:
        look = site.look()
        return page("budget.html", look, live=_live_budget(site, look, number))

    @pages.get("/budget/live")
    def live_budget(number: _PageNumber = 1, seen: _Seen = "") -> Response:
        look = site.look()
        return _unchanged() if seen == look.version else HTMLResponse(_live_budget(site, look, number))

    @pages.get("/custodian")
    def custodian() -> HTMLResponse:
        look = site.look()
        return page("custodian.html", look, **_custodian(look))

    @pages.get("/custodian/live")
    def live_custodian(seen: _Seen = "") -> Response:
        look = site.look()
        values = _custodian(look)
        return _unchanged() if seen == values["state"] else page("_custodian.html", look, **values)

    @pages.get("/custodian/change")
    def change(request: Request) -> HTMLResponse:
        """Describe the effect of a change before anybody signs it."""
        look = site.look()
        name = "_change.html" if is_part(request) else "change.html"
        return page(name, look, view=change_view(look, request.query_params))

    @pages.get("/api")
    def api(request: Request) -> HTMLResponse:
        return page("api.html", site.look(), operations=operations(request.app.openapi()))

    return pages


def _moved(request: Request, path: str) -> Response:
    """Go on at another address; a part of a page is fetched from there, and the browser shows the new address."""
    if is_part(request):
        return Response(headers={"HX-Location": json.dumps({"path": path, "target": "#progress", "swap": "innerHTML"})})
    return RedirectResponse(path, 303)


def _unchanged() -> Response:
    return Response(status_code=204)


def _ask(look: Look, request: Request) -> dict[str, Any]:
    given = request.query_params
    form = read_form(look.snapshot, views.find_offer(look, given.get("query")), given)
    words = {offer.name: look.meaning(offer.query) for offer in look.offers}
    return {"form": form, "meanings": words, "view": views.quote_view(look, form), "body": json.dumps(form.request)}


def _live_budget(site: Site, look: Look, number: int) -> Markup:
    """Return the part that many people watch; it is rendered once for all of them."""
    return look.cached(
        ("budget", number), lambda: render("_budget.html", site=site, look=look, **_budget(look, number))
    )


def _budget(look: Look, number: int) -> dict[str, Any]:
    snapshot = look.snapshot
    count = len(snapshot.state.record)
    pages = max(-(-count // views.RECORDS_A_PAGE), 1)
    if number > pages:
        raise RequestRefused(f"This page does not exist: there are {pages} pages of records.", 404)
    last = count - (number - 1) * views.RECORDS_A_PAGE
    places = range(last - 1, max(last - views.RECORDS_A_PAGE, 0) - 1, -1)
    bars = look.cached(("bars",), lambda: views.bars(look))
    return {
        "budget": snapshot.budget(),
        "naive": snapshot.state.naive,
        "zones": look.cached(("zones",), lambda: views.zones(look)),
        "spending": look.cached(("spending",), lambda: views.spending_chart(look)),
        "bars": bars,
        "queries_chart": look.cached(
            ("queries",), lambda: charts.queries_chart("by-query", bars, float(snapshot.terms.budget))
        ),
        "records": views.listed(look, places),
        "count": count,
        "page": number,
        "pages": pages,
    }


def _custodian(look: Look) -> dict[str, Any]:
    snapshot = look.snapshot
    waiting = [(asked, snapshot.asked_at(asked)) for asked in snapshot.waiting[: views.RECORDS_A_PAGE]]
    names = {offer.query.identifier: offer.name for offer in look.offers}
    keys = f"{snapshot.facts.worker}-{snapshot.facts.custodian}-{snapshot.facts.heir}"
    analysts = look.cached(("analysts",), snapshot.analysts)
    return {
        "state": f"{look.version}-{look.health.ok}-{keys}",
        "waiting": waiting,
        "hidden": len(snapshot.waiting) - len(waiting),
        "names": names,
        "analysts": analysts[: views.RECORDS_A_PAGE],
        "more_analysts": max(len(analysts) - views.RECORDS_A_PAGE, 0),
        "epsilon": lambda precision: epsilon_of(precision, snapshot.terms.delta),
        "reaches": look.cached(("reaches",), lambda: views.reaches(look)),
    }
