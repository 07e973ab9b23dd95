"""Checks before every page (host, origin, size, rate) and the security headers of every response.

Why no other site can act here: requests that change or prepare something are accepted from our own pages only, according to
headers that a browser sets and a page cannot forge; and only under our own host names, so that no other name can point here.
"""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Iterable, Mapping
from ipaddress import ip_network

from fastapi import Request, Response
from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from noiseledger.errors import RequestRefused
from noiseledger.web.refusals import is_part, respond, unforeseen

MAX_BODY, MAX_QUERY, MAX_PATH, MAX_HEADERS = 16_384, 4_096, 512, 16_384
#: Wallets provide their icons as data URLs.
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
HEADERS = {
    "Content-Security-Policy": POLICY,
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
}
#: How much of a visitor's rate limit a request uses; requests that are not listed use 1.
_COSTS = {"/static/": 0.0, "/budget/live": 0.1, "/custodian/live": 0.1, "/fresh": 0.1}
_REMEMBERED = 10_000
#: The methods that change nothing.
_SAFE = ("GET", "HEAD", "OPTIONS")


class Allowance:
    """A rate limit: a number of requests per second for each visitor, and, unless said otherwise, twice as many in a burst."""

    def __init__(self, rate: float, burst: float | None = None) -> None:
        """Start with unused limits."""
        self._rate = rate
        self._burst = 2 * rate if burst is None else burst
        self._left: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def take(self, visitor: str, cost: float, now: float | None = None) -> bool:
        """Return whether a visitor is within the limit."""
        moment = time.monotonic() if now is None else now
        left, since = self._left.pop(visitor, (self._burst, moment))
        left = min(left + (moment - since) * self._rate, self._burst)
        allowed = left >= cost
        self._left[visitor] = (left - cost if allowed else left, moment)
        while len(self._left) > _REMEMBERED:
            self._left.popitem(last=False)
        return allowed


class Guard:
    """Refuse unacceptable requests, and add the security headers to responses."""

    def __init__(self, app: ASGIApp, hosts: Iterable[str], rate: float, max_body: int = MAX_BODY) -> None:
        """Wrap an application."""
        self._max_body = max_body
        self._app = app
        self._hosts = frozenset(hosts)
        self._allowance = Allowance(rate)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, or refuse it."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return

        is_head, is_begun = scope["method"] == "HEAD", False

        async def send_safely(message: Message) -> None:
            nonlocal is_begun
            is_begun = True
            if message["type"] == "http.response.start":
                MutableHeaders(scope=message).update(HEADERS)
            await send({**message, "body": b""} if is_head and message["type"] == "http.response.body" else message)

        try:
            self._check(scope)
            body = await _body(scope, receive, self._max_body)
            # HEAD is allowed wherever GET is: the same response, without its body.
            await self._app({**scope, "method": "GET"} if is_head else scope, _replay(body, receive), send_safely)
        except RequestRefused as refusal:
            await _told(scope, refusal)(scope, receive, send_safely)
        except Exception as error:
            # Handled here because responses made further outside lack our headers; raised again for the log.
            if not is_begun:
                await _told(scope, unforeseen(error))(scope, receive, send_safely)
            raise

    def _check(self, scope: Scope) -> None:
        headers = Headers(scope=scope)
        if _host_name(headers.get("host", "")) not in self._hosts:
            raise RequestRefused(
                "This site is not served under that name: use the address that it was started with.", 421
            )
        if len(scope["path"]) > MAX_PATH or len(scope["query_string"]) > MAX_QUERY:
            raise RequestRefused(f"The URL is too long: expected at most {MAX_PATH} and {MAX_QUERY} characters.", 414)
        if sum(len(name) + len(value) for name, value in scope["headers"]) > MAX_HEADERS:
            raise RequestRefused(f"The headers are too long: expected at most {MAX_HEADERS:,} bytes.", 431)
        if scope["method"] not in _SAFE:
            _check_origin(headers)
        cost = next((cost for path, cost in _COSTS.items() if scope["path"].startswith(path)), 1.0)
        if not self._allowance.take(_visitor((scope.get("client") or ("", 0))[0]), cost):
            raise RequestRefused("Too many requests from your address: wait a second, then try again.", 429)


def _told(scope: Scope, refusal: RequestRefused) -> Response:
    return respond(scope["path"], refusal, is_part=is_part(Request(scope)))


def _visitor(address: str) -> str:
    """Return the visitor that an address belongs to: in IPv6, one visitor has a whole network of addresses.

    >>> _visitor("2001:db8:1:2:3:4:5:6"), _visitor("127.0.0.1")
    ('2001:db8:1:2::/64', '127.0.0.1')
    """
    return str(ip_network(f"{address.partition('%')[0]}/64", strict=False)) if ":" in address else address


def _host_name(host: str) -> str:
    name, _, port = host.rpartition(":")
    return (name if name and port.isdigit() else host).lower()


def _check_origin(headers: Mapping[str, str]) -> None:
    """Refuse requests from another site's page; programs other than browsers send neither header."""
    origin, site = headers.get("origin"), headers.get("sec-fetch-site")
    foreign = site not in (None, "same-origin", "none") or (
        origin is not None and origin.partition("://")[2].lower() != headers.get("host", "").lower()
    )
    if foreign:
        raise RequestRefused("This request comes from another site and is not accepted: use our own pages.", 403)


async def only_json(request: Request) -> None:
    """Refuse bodies that a form on another site could send; a dependency of all routes."""
    if request.method in _SAFE:
        return
    if request.headers.get("content-type", "").partition(";")[0].strip().lower() != "application/json":
        raise RequestRefused("Expected JSON: set Content-Type to application/json.", 415)


async def _body(scope: Scope, receive: Receive, most: int) -> bytes:
    """Return the whole body; refuse one that is too long without reading it to its end."""
    if scope["method"] in _SAFE:
        return b""
    body = b""
    while True:
        message = await receive()
        body += bytes(message.get("body", b""))
        if len(body) > most:
            raise RequestRefused(f"The request is too large: expected at most {most:,} bytes.", 413)
        if message["type"] == "http.disconnect" or not message.get("more_body"):
            return body


def _replay(body: bytes, receive: Receive) -> Receive:
    """Return a ``receive`` that yields a body that was already read."""
    told = False

    async def again() -> Message:
        nonlocal told
        if told:
            return await receive()
        told = True
        return {"type": "http.request", "body": body, "more_body": False}

    return again
