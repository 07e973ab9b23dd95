"""How mistakes are told: one shape for programs, one page for people, and no word about how the chain is reached."""

from __future__ import annotations

from http import HTTPStatus

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import HTMLResponse, JSONResponse, Response
from starlette.exceptions import HTTPException

from noiseledger.errors import (
    BudgetExceeded,
    ChainError,
    ChainMismatch,
    ChainUnreachable,
    InvalidInput,
    LedgerError,
    NoFunds,
    NoiseledgerError,
    NotAllowed,
    RequestRefused,
    RpcFailed,
    UnknownQuery,
)
from noiseledger.ledger.shapes import describe_error
from noiseledger.web.rendering import render

API = "/api/"

# The first that fits.
_STATUS: tuple[tuple[type[NoiseledgerError], HTTPStatus], ...] = (
    (UnknownQuery, HTTPStatus.NOT_FOUND),
    (InvalidInput, HTTPStatus.UNPROCESSABLE_ENTITY),
    (BudgetExceeded, HTTPStatus.CONFLICT),
    (NotAllowed, HTTPStatus.FORBIDDEN),
    (LedgerError, HTTPStatus.CONFLICT),
    (NoFunds, HTTPStatus.CONFLICT),
    (ChainError, HTTPStatus.SERVICE_UNAVAILABLE),
)
_PHRASES = {
    HTTPStatus.NOT_FOUND: "There is nothing here. Begin at the first page.",
    HTTPStatus.METHOD_NOT_ALLOWED: "This address does not take that method.",
}


def status_of(error: NoiseledgerError) -> int:
    """Return the HTTP status of an error."""
    if isinstance(error, RequestRefused):
        return error.status
    return next((status for kind, status in _STATUS if isinstance(error, kind)), HTTPStatus.INTERNAL_SERVER_ERROR)


def respond(path: str, error: NoiseledgerError, *, is_part: bool = False) -> Response:
    """Tell a mistake to whoever asked for a path; ``is_part`` where only a part of a page was asked for."""
    status, shown = status_of(error), _public(error)
    headers = {"Retry-After": "1"} if status in (HTTPStatus.TOO_MANY_REQUESTS, HTTPStatus.SERVICE_UNAVAILABLE) else None
    if path.startswith(API) or path.startswith("/play/"):
        return JSONResponse(describe_error(shown), status, headers)
    page = render("_error.html" if is_part else "error.html", error=shown, status=int(status))
    return HTMLResponse(page, status, headers)


def _public(error: NoiseledgerError) -> NoiseledgerError:
    """Return an error that everyone may read: some sentences name the endpoint, which may hold a password."""
    if isinstance(error, ChainUnreachable | ChainMismatch):
        return type(error)("The chain does not answer, or does not show this ledger; try again in a moment.")
    if isinstance(error, RpcFailed):
        # What a node says is its own text, and may name whoever pays for it.
        return RpcFailed("this", "why is not repeated here; try again in a moment", None)
    return error


def handle_errors(app: FastAPI) -> None:
    """Let an application tell all of its mistakes in this way."""

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
    """Return what is told of an error that nobody foresaw: its text could hold anything, so only its kind is shown."""
    kind = type(error).__name__
    return RequestRefused(f"This should not have happened ({kind}), and is a mistake of ours: please report it.", 500)


def is_part(request: Request) -> bool:
    """Say whether htmx asks for a part of a page; going back in time it wants the whole."""
    return "hx-request" in request.headers and "hx-history-restore-request" not in request.headers


def _sentence(error: RequestValidationError) -> str:
    parts = [
        f"{'.'.join(str(word) for word in found['loc'][1:]) or 'body'}: {found['msg'].removeprefix('Value error, ')}"
        for found in error.errors()
    ]
    return f"The request is not as expected ({'; '.join(parts[:5])})."
