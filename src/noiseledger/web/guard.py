"""What stands before every page: who may ask, how much, how often; and the headers that keep a browser safe.

Why no other site can act here: whatever changes or prepares something is taken from our own pages only, by the headers that
a browser sets and a page cannot forge; and only under the names that we know to be ours, so no other name points here.
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
#: Wallets come with a picture of their own, as data.
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
#: What a request takes from a visitor's allowance; what is not listed takes 1.
_COSTS = {"/static/": 0.0, "/budget/live": 0.1, "/custodian/live": 0.1, "/fresh": 0.1}
_REMEMBERED = 10_000
#: The methods that change nothing.
_SAFE = ("GET", "HEAD", "OPTIONS")


class Allowance:
    """So many requests a second for each visitor, and twice as many in a burst."""

    def __init__(self, rate: float) -> None:
        """Begin with full allowances."""
        self._rate = rate
        self._left: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def take(self, visitor: str, cost: float, now: float | None = None) -> bool:
        """Say whether a visitor may go on."""
        moment = time.monotonic() if now is None else now
        left, since = self._left.pop(visitor, (2 * self._rate, moment))
        left = min(left + (moment - since) * self._rate, 2 * self._rate)
        allowed = left >= cost
        self._left[visitor] = (left - cost if allowed else left, moment)
        while len(self._left) > _REMEMBERED:
            self._left.popitem(last=False)
        return allowed


class Guard:
    """Refuses what should not come in, and adds the headers to what goes out."""

    def __init__(self, app: ASGIApp, hosts: Iterable[str], rate: float) -> None:
        """Stand before an application."""
        self._app = app
        self._hosts = frozenset(hosts)
        self._allowance = Allowance(rate)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let a request in, or refuse it."""
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
            body = await _body(scope, receive)
            # Whatever can be got can be asked about: the same answer, without its body.
            await self._app({**scope, "method": "GET"} if is_head else scope, _replay(body, receive), send_safely)
        except RequestRefused as refusal:
            await _told(scope, refusal)(scope, receive, send_safely)
        except Exception as error:
            # Told here, since what is told further outside has no headers of ours; raised again for the log.
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
            raise RequestRefused(f"The address is too long: at most {MAX_PATH} and {MAX_QUERY} characters.", 414)
        if sum(len(name) + len(value) for name, value in scope["headers"]) > MAX_HEADERS:
            raise RequestRefused(f"The headers are too long: {MAX_HEADERS:,} bytes at most.", 431)
        if scope["method"] not in _SAFE:
            _check_origin(headers)
        cost = next((cost for path, cost in _COSTS.items() if scope["path"].startswith(path)), 1.0)
        if not self._allowance.take(_visitor((scope.get("client") or ("", 0))[0]), cost):
            raise RequestRefused("Too many requests from your address: wait a second, then go on.", 429)


def _told(scope: Scope, refusal: RequestRefused) -> Response:
    return respond(scope["path"], refusal, is_part=is_part(Request(scope)))


def _visitor(address: str) -> str:
    """Return whom an address counts for: in IPv6 one visitor has a whole network of them.

    >>> _visitor("2001:db8:1:2:3:4:5:6"), _visitor("127.0.0.1")
    ('2001:db8:1:2::/64', '127.0.0.1')
    """
    return str(ip_network(f"{address.partition('%')[0]}/64", strict=False)) if ":" in address else address


def _host_name(host: str) -> str:
    name, _, port = host.rpartition(":")
    return (name if name and port.isdigit() else host).lower()


def _check_origin(headers: Mapping[str, str]) -> None:
    """Refuse what another site's page sends; programs that are no browser send neither header."""
    origin, site = headers.get("origin"), headers.get("sec-fetch-site")
    foreign = site not in (None, "same-origin", "none") or (
        origin is not None and origin.partition("://")[2].lower() != headers.get("host", "").lower()
    )
    if foreign:
        raise RequestRefused("This comes from another site, and is not taken: use our own pages.", 403)


async def only_json(request: Request) -> None:
    """Refuse what a form of another site could send, wherever there is something to send to; a dependency of all routes."""
    if request.method in _SAFE:
        return
    if request.headers.get("content-type", "").partition(";")[0].strip().lower() != "application/json":
        raise RequestRefused("Expected JSON: set Content-Type to application/json.", 415)


async def _body(scope: Scope, receive: Receive) -> bytes:
    """Return the whole body, which is small or refused; what is too long is not even read to its end."""
    if scope["method"] in _SAFE:
        return b""
    body = b""
    while True:
        message = await receive()
        body += bytes(message.get("body", b""))
        if len(body) > MAX_BODY:
            raise RequestRefused(f"The request is too large: {MAX_BODY:,} bytes at most.", 413)
        if message["type"] == "http.disconnect" or not message.get("more_body"):
            return body


def _replay(body: bytes, receive: Receive) -> Receive:
    """Return a way to receive a body that was read already."""
    told = False

    async def again() -> Message:
        nonlocal told
        if told:
            return await receive()
        told = True
        return {"type": "http.request", "body": body, "more_body": False}

    return again
