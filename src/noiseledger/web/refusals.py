"""Error responses: one format for programs, one page for people, without details of the chain's endpoint."""

from __future__ import annotations

from http import HTTPStatus

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import HTMLResponse, JSONResponse, Response
from starlette.exceptions import HTTPException

from noiseledger.errors import (
    AnswerPending,
    BudgetExceeded,
    ChainError,
    ChainMismatch,
    ChainUnreachable,
    InvalidInput,
    LedgerError,
    NoFunds,
    NoiseledgerError,
    NotAllowed,
    RelayFailed,
    RequestRefused,
    RpcFailed,
    UnknownQuery,
)
from noiseledger.ledger.shapes import describe_error
from noiseledger.web.rendering import render

API = "/api/"

# The first match counts.
_STATUS: tuple[tuple[type[NoiseledgerError], HTTPStatus], ...] = (
    (UnknownQuery, HTTPStatus.NOT_FOUND),
    (InvalidInput, HTTPStatus.UNPROCESSABLE_ENTITY),
    (BudgetExceeded, HTTPStatus.CONFLICT),
    (AnswerPending, HTTPStatus.CONFLICT),
    (NotAllowed, HTTPStatus.FORBIDDEN),
    (LedgerError, HTTPStatus.CONFLICT),
    (NoFunds, HTTPStatus.CONFLICT),
    (ChainError, HTTPStatus.SERVICE_UNAVAILABLE),
    (RelayFailed, HTTPStatus.BAD_GATEWAY),
)
_PHRASES = {
    HTTPStatus.NOT_FOUND: "This page does not exist. Go to the start page.",
    HTTPStatus.METHOD_NOT_ALLOWED: "This address does not support that HTTP method.",
}


def status_of(error: NoiseledgerError) -> int:
    """Return the HTTP status of an error."""
    if isinstance(error, RequestRefused):
        return error.status
    return next((status for kind, status in _STATUS if isinstance(error, kind)), HTTPStatus.INTERNAL_SERVER_ERROR)


def respond(path: str, error: NoiseledgerError, *, is_part: bool = False) -> Response:
    """Return the error response for a path; ``is_part`` if only a part of a page was requested."""
    status, shown = status_of(error), _public(error)
    headers = {"Retry-After": "1"} if status in (HTTPStatus.TOO_MANY_REQUESTS, HTTPStatus.SERVICE_UNAVAILABLE) else None
    if path.startswith(API) or path.startswith("/play/"):
        return JSONResponse(describe_error(shown), status, headers)
    page = render("_error.html" if is_part else "error.html", error=shown, status=int(status))
    return HTMLResponse(page, status, headers)


def _public(error: NoiseledgerError) -> NoiseledgerError:
    """Return an error that everyone may read: some messages name the endpoint, which may contain a password."""
    if isinstance(error, ChainUnreachable | ChainMismatch):
        return type(error)("The chain does not reply, or does not contain this ledger; try again in a moment.")
    if isinstance(error, RpcFailed):
        # The node writes this text, which may identify its account with a provider.
        return RpcFailed("the call", "the reason is not shown here; try again in a moment", None)
    return error


def handle_errors(app: FastAPI) -> None:
    """Make an application report all of its errors in this way."""

    @app.exception_handler(NoiseledgerError)
    def _ours(request: Request, error: NoiseledgerError) -> Response:
        return respond(request.url.path, error, is_part=is_part(request))

    @app.exception_handler(RequestValidationError)
    def _invalid(request: Request, error: RequestValidationError) -> Response:
        return respond(request.url.path, InvalidInput(_sentence(error)), is_part=is_part(request))

    @app.exception_handler(HTTPException)
    def _http(request: Request, error: HTTPException) -> Response:
        phrase = _PHRASES.get(HTTPStatus(error.status_code), HTTPStatus(error.status_code).phrase)
        reply = respond(request.url.path, RequestRefused(phrase, error.status_code), is_part=is_part(request))
        reply.headers.update(error.headers or {})
        return reply


def unforeseen(error: Exception) -> RequestRefused:
    """Return the response to an unexpected error: its text could contain anything, so only its type is shown."""
    kind = type(error).__name__
    return RequestRefused(f"An unexpected error occurred ({kind}). This is a bug: please report it.", 500)


def is_part(request: Request) -> bool:
    """Return whether htmx requests a part of a page; when it restores history it needs the whole page."""
    return "hx-request" in request.headers and "hx-history-restore-request" not in request.headers


def _sentence(error: RequestValidationError) -> str:
    parts = [
        f"{'.'.join(str(word) for word in found['loc'][1:]) or 'body'}: {found['msg'].removeprefix('Value error, ')}"
        for found in error.errors()
    ]
    return f"The request is invalid ({'; '.join(parts[:5])})."
