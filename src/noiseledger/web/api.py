"""The JSON API: the client's names over HTTP. It reads the ledger and prepares transactions that are signed elsewhere."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any

from fastapi import APIRouter, Path, Query

from noiseledger.chain.contract import checksummed
from noiseledger.chain.signed_ask import SignedAsk
from noiseledger.client.client import Offer
from noiseledger.core.answer import Answer
from noiseledger.errors import AnswerOverdue
from noiseledger.ledger import governance
from noiseledger.ledger.governance import Change
from noiseledger.ledger.interface import Quote, Record
from noiseledger.ledger.shapes import (
    AnswerShape,
    by_zone,
    cells,
    describe_analyst,
    describe_answer,
    describe_budget,
    describe_error,
    describe_price,
    describe_query,
    describe_record,
    describe_zone,
    groups,
    labels,
)
from noiseledger.ledger.snapshot import LedgerSnapshot
from noiseledger.ledger.unanswered import moment
from noiseledger.web.api_shapes import (
    HASH,
    IDENTIFIER,
    MOST_NUMBERS,
    MOST_RECORDS,
    AcceptCustodyBody,
    AccuracyBody,
    AllowBody,
    AnalystsShape,
    AskBody,
    AskShape,
    ChangeShape,
    CloseBody,
    ErrorBody,
    ErrorShape,
    HandedShape,
    HandOverBody,
    HealthShape,
    HistoryShape,
    LedgerShape,
    LeftShape,
    OfferShape,
    PauseBody,
    ProgressShape,
    QuoteShape,
    RotateWorkerBody,
    SignBody,
    SignedBody,
    SignShape,
    TransactionShape,
    UnsignedBody,
    WithdrawBody,
    ZonedBudgetShape,
)
from noiseledger.web.change import propose_pause
from noiseledger.web.handed import HandedRequest
from noiseledger.web.prepare import Prepared, prepare_ask, prepare_change
from noiseledger.web.site import Look, Site
from noiseledger.web.transactions import TransactionState, TransactionStatus

_WHICH = "Name, text or identifier of a query."


def _errors(*statuses: int) -> dict[int | str, dict[str, Any]]:
    return {status: {"model": ErrorShape} for status in (*statuses, 400, 413, 414, 415, 421, 429, 431, 500, 503)}


def router(site: Site) -> APIRouter:
    """Return the API of one ledger."""
    api = APIRouter(prefix="/api/v1")

    @api.get("/ledger", responses=_errors())
    def ledger() -> LedgerShape:
        """The ledger's address and its fixed terms."""
        look = site.look()
        snapshot = look.snapshot
        facts, terms = snapshot.facts, snapshot.terms
        return {
            "address": site.contract.address,
            "chain_id": site.rpc.chain_id,
            "block": facts.block,
            "final_block": facts.final,
            "paused": facts.paused,
            "closed": facts.closed,
            "paused_queries": sorted(snapshot.state.paused),
            "smallest_purchase": str(terms.smallest),
            "custodian": facts.custodian,
            "heir": facts.heir,
            "worker": facts.worker,
            "contact": look.ledger.contact,
            "relay": look.ledger.relay,
            "commitment": "0x" + terms.commitment.hex(),
            "rows": terms.population.rows,
            "neighbours": terms.population.neighbours.value,
            "reuses": terms.reuses,
            "requires_allowance": terms.requires_allowance,
            "zones": look.client.zones() if terms.zones > 1 else [],
            "catalogue_sha256": look.ledger.catalogue_sha256 or None,
            "unreadable": snapshot.unreadable,
        }

    @api.get("/queries", responses=_errors())
    def queries() -> list[OfferShape]:
        """The queries of the ledger, each with the best free answer."""
        look = site.look()
        return look.cached(("api", "queries"), lambda: [_offer(look, offer) for offer in look.offers])

    @api.get("/budget", responses=_errors())
    def budget() -> ZonedBudgetShape:
        """The budget: total, spent and left, in all and by zone. In all is what the zone has spent that has spent most."""
        look = site.look()
        return look.cached(("api", "budget"), lambda: _budget(look))

    @api.get("/quote", responses=_errors(404, 422))
    def quote(wanted: Annotated[AccuracyBody, Query()]) -> QuoteShape:
        """The price and the accuracy of a request; nothing is spent."""
        look = site.look()
        return _quote(look, look.client.quote(wanted.query, **wanted.accuracy))

    @api.get("/best", responses=_errors(404, 422))
    def best(query: Annotated[str, Query(min_length=1, max_length=2000, description=_WHICH)]) -> AnswerShape | None:
        """The most accurate public answer; null if nobody has asked yet."""
        return _best(site.look(), query)

    @api.get("/history", responses=_errors(404, 422))
    def history(
        query: Annotated[str | None, Query(min_length=1, max_length=2000, description=_WHICH)] = None,
        after: Annotated[int, Query(ge=0, le=2**63, description="Return only requests with a higher number.")] = 0,
        limit: Annotated[
            int, Query(ge=1, le=MOST_RECORDS, description="The maximum number of requests to return.")
        ] = 100,
    ) -> HistoryShape:
        """The requests above a number, in order: who asked what, the privacy that it used, and the answer."""
        look = site.look()
        wanted = None if query is None else look.client.find(query)
        found, more = _page(look.snapshot, look.snapshot.places(after, wanted), limit)
        shown = [describe_record(look.name(record.query), record, look.client.codebook) for record in found]
        return {"records": shown, "next": found[-1].number if more else None}

    @api.post("/ask", responses=_errors(403, 404, 409, 422))
    def ask(wanted: AskBody) -> AskShape:
        """Return the answer if it is free; otherwise prepare the transaction that buys it. Nothing is sent."""
        return _ask(site, site.look(), wanted)

    @api.post("/sign", responses=_errors(403, 404, 409, 422))
    def sign(wanted: SignBody) -> SignShape:
        """Return the answer if it is free; otherwise prepare what buys it once it is signed. This needs no coins."""
        return _sign(site, site.look(), wanted)

    @api.post("/requests", status_code=202, responses=_errors(404, 409, 422, 502))
    def take(body: SignedBody) -> HandedShape:
        """Hand a signed request to the relay that the ledger file names. It brings the request to the chain."""
        signed = SignedAsk.read(body.model_dump_json())
        return _handed(site.handing.hand_over(signed, site.look().ledger.relay))

    @api.get("/requests/{identifier}", responses=_errors(404, 422))
    def handed(identifier: Annotated[str, Path(pattern=IDENTIFIER)]) -> HandedShape:
        """What became of a request that was handed to the relay here: read from the chain."""
        return _handed(site.handing.follow(identifier))

    @api.get("/analysts", responses=_errors())
    def analysts() -> AnalystsShape:
        """The analysts, each with the remaining allowance and the amount bought."""
        look = site.look()
        return look.cached(("api", "analysts"), lambda: _analysts(look.snapshot))

    @api.post("/pause", responses=_errors(403, 404, 409, 422))
    def pause(body: PauseBody) -> ChangeShape:
        """Prepare the transaction that pauses or resumes sales, of everything or of one query. Nothing is sent."""
        look = site.look()
        return _change(site, propose_pause(look, body.query, paused=body.paused), body.custodian)

    @api.post("/close", responses=_errors(403, 409, 422))
    def close(body: CloseBody) -> ChangeShape:
        """Prepare the transaction that stops sales for good. Nothing is sent."""
        look = site.look()
        return _change(site, governance.close(look.snapshot, look.health.reasons), body.custodian)

    @api.post("/allow", responses=_errors(403, 409, 422))
    def allow(body: AllowBody) -> ChangeShape:
        """Prepare the transaction that increases an analyst's allowance. Nothing is sent."""
        amount = governance.read_allowance(body.epsilon, body.delta, body.precision)
        return _change(site, governance.allow(site.look().snapshot, body.analyst, amount), body.custodian)

    @api.post("/withdraw", responses=_errors(403, 409, 422))
    def withdraw(body: WithdrawBody) -> ChangeShape:
        """Prepare the transaction that lets an analyst buy less than now; without an amount, nothing. Nothing is sent."""
        given = body.epsilon, body.delta, body.precision
        amount = None if given == (None, None, None) else governance.read_allowance(*given)
        return _change(site, governance.withdraw(site.look().snapshot, body.analyst, amount), body.custodian)

    @api.post("/rotate-worker", responses=_errors(403, 409, 422))
    def rotate_worker(body: RotateWorkerBody) -> ChangeShape:
        """Prepare the transaction that replaces the worker's key. Nothing is sent."""
        balance = int(site.rpc.call("eth_getBalance", body.worker, "latest"), 16)
        return _change(site, governance.rotate_worker(site.look().snapshot, body.worker, balance), body.custodian)

    @api.post("/hand-over", responses=_errors(403, 409, 422))
    def hand_over(body: HandOverBody) -> ChangeShape:
        """Prepare the transaction that offers custody to another key, or withdraws the offer. Nothing is sent."""
        return _change(site, governance.hand_over(site.look().snapshot, body.heir), body.custodian)

    @api.post("/accept-custody", responses=_errors(403, 409, 422))
    def accept_custody(body: AcceptCustodyBody) -> ChangeShape:
        """Prepare the transaction with which the new custodian accepts custody. Nothing is sent."""
        return _change(site, governance.accept_custody(site.look().snapshot), body.heir)

    @api.get("/transactions/{transaction}", responses=_errors(404, 422))
    def transaction(
        transaction: Annotated[str, Path(pattern=HASH, description="The transaction's hash.")],
        sent: Annotated[float | None, Query(description="When it was sent, in seconds since 1970.")] = None,
    ) -> ProgressShape:
        """The state of a transaction to this ledger."""
        look = site.look()
        return _progress(look, site.follower.follow(look.snapshot, transaction.lower(), sent))

    @api.get("/health", responses=_errors())
    def health() -> HealthShape:
        """The health of the worker and of this site."""
        look = site.look()
        return {
            "worker_ok": look.health.ok,
            "worker": look.health.sentence,
            "waiting": len(look.snapshot.waiting),
            "unanswered": [
                {
                    "name": look.label(late.query),
                    "identifier": late.query,
                    "block": late.block,
                    "since": late.since.isoformat(),
                    "reason": late.reason,
                }
                for late in look.overdue
            ],
            "chain_ok": look.trouble is None,
            "block": look.snapshot.facts.block,
        }

    return api


def _budget(look: Look) -> ZonedBudgetShape:
    found = by_zone(look.client.zones(), look.snapshot.zone_budget())
    return {**describe_budget(look.snapshot.budget()), "zones": [describe_zone(*zone) for zone in found]}


def _offer(look: Look, offer: Offer) -> OfferShape:
    state, best = look.snapshot.query_state(offer.query), look.client.best(offer.query)
    return {
        **describe_query(offer.name, offer.query),
        "meaning": look.meaning(offer.query),
        "definition": offer.query.canonical,
        "groups": groups(offer.query),
        "cells": cells(offer.query),
        "labels": labels(offer.query, look.client.codebook),
        "dimension": offer.query.dimension,
        "reaches": look.reach(offer.query),
        "sensitivity": float(offer.sensitivity),
        "sensitivity_exact": str(offer.sensitivity),
        "spent": float(state.bought),
        "spent_exact": str(state.bought),
        "public": float(state.revealed),
        "public_exact": str(state.revealed),
        "best": None if best is None else describe_answer(offer.name, best),
    }


def _best(look: Look, query: str, known: Answer | None = None) -> AnswerShape | None:
    """Describe the best public answer to a query; ``known`` is that answer, if it was read before."""
    best = look.client.best(query) if known is None else known
    return None if best is None else describe_answer(look.name(best.query), best)


def _quote(look: Look, quote: Quote) -> QuoteShape:
    after = quote.budget.charge(quote.price.cost) if quote.affordable else None
    left: LeftShape | None = None
    if after is not None:
        exact = str(after.remaining)
        left = {"precision": float(after.remaining), "precision_exact": exact, "epsilon": after.epsilon_remaining}
    return {
        **describe_price(look.name(quote.query), quote),
        "affordable": quote.affordable,
        "left": left,
        "budget": describe_budget(quote.budget),
        "best": _best(look, quote.query.identifier, quote.known),
    }


def _ask(site: Site, look: Look, wanted: AskBody) -> AskShape:
    quote = look.client.quote(wanted.query, **wanted.accuracy)
    shape = _quote(look, quote)
    if quote.known is not None:
        return {"quote": shape, "answer": shape["best"], "transaction": None}
    if not quote.price.cost:
        # Somebody has already bought it, and the worker is about to answer: there is nothing to buy.
        return {"quote": shape, "answer": None, "transaction": None}
    _check_not_late(look, quote)
    prepared = prepare_ask(site.contract, look.snapshot, quote, wanted.analyst, look.ledger.contact)
    return {"quote": shape, "answer": None, "transaction": _transaction(prepared)}


def _sign(site: Site, look: Look, wanted: SignBody) -> SignShape:
    quote = look.client.quote(wanted.query, **wanted.accuracy)
    shape = _quote(look, quote)
    if quote.known is not None or not quote.price.cost:
        return {"quote": shape, "answer": shape["best"] if quote.known else None, "to_sign": None}
    _check_not_late(look, quote)
    analyst = checksummed(wanted.analyst)
    prepare_ask(site.contract, look.snapshot, quote, analyst, look.ledger.contact, pays_fee=False)
    data = site.handing.prepare(quote, analyst)
    unsigned = SignedAsk(data, analyst, b"").content
    del unsigned["signature"]
    return {
        "quote": shape,
        "answer": None,
        "to_sign": {"typed_data": data.typed_data, "request": UnsignedBody(**unsigned)},
    }


def _handed(handed: HandedRequest) -> HandedShape:
    data = handed.signed.data
    return {
        "identifier": handed.signed.identifier,
        "state": handed.state.value,
        "analyst": handed.signed.analyst,
        "nonce": data.nonce,
        "deadline": data.deadline,
        "transaction": handed.transaction,
        "refusal": handed.refusal,
    }


def _check_not_late(look: Look, quote: Quote) -> None:
    if (late := look.late(quote.query)) is not None:
        raise AnswerOverdue(
            f"Nothing was prepared: this query was bought and not answered since {moment(late.since)}"
            f"{'' if late.reason is None else ', because ' + late.reason}. Ask {look.admission().whom}."
        )


def _change(site: Site, change: Change, signer: str | None) -> ChangeShape:
    prepared = prepare_change(site.contract, change, signer)
    return {
        "action": change.action,
        "says": list(change.says),
        "warnings": list(change.warnings),
        "transaction": _transaction(prepared) if change.is_needed else None,
    }


def _analysts(snapshot: LedgerSnapshot) -> AnalystsShape:
    described = [describe_analyst(analyst, snapshot.terms.delta) for analyst in snapshot.analysts()]
    return {"access": snapshot.access.value, "analysts": described}


def _transaction(prepared: Prepared) -> TransactionShape:
    gas = None if prepared.gas is None else hex(prepared.gas)
    return {"chain_id": prepared.chain_id, "to": prepared.to, "data": prepared.data, "value": "0x0", "gas": gas}


def _page(snapshot: LedgerSnapshot, places: Sequence[int], limit: int) -> tuple[list[Record], bool]:
    """Return the first of these requests, and whether there are more: each number of an answer may take a millisecond."""
    found: list[Record] = []
    numbers = 0
    for place in places:
        if len(found) == limit or numbers >= MOST_NUMBERS:
            return found, True
        for record in snapshot.picked([place]):
            found.append(record)
            numbers += len(record.values)
    return found, False


def _progress(look: Look, progress: TransactionStatus) -> ProgressShape:
    answers = []
    if progress.state is TransactionState.ANSWERED:
        queries = {query.identifier: query for query in look.snapshot.queries()}
        asked = dict.fromkeys(request.query for request in progress.asked if request.query in queries)
        found = [look.client.best(queries[identifier]) for identifier in asked]
        answers = [describe_answer(look.name(answer.query), answer) for answer in found if answer is not None]
    reason = progress.reason
    return {
        "transaction": progress.transaction,
        "state": progress.state.value,
        "final": progress.is_final,
        "block": progress.block,
        "analyst": progress.sender,
        "answers": answers,
        "error": None if reason is None else ErrorBody(**describe_error(reason)["error"]),
    }
