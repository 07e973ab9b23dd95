"""People before the web pages, in a process of their own: some watch the budget, some ask. They do what the page does.

Prints "ready" once everybody is at it, goes on until its input ends, and then prints what came of it.
"""

from __future__ import annotations

import asyncio
import html
import json
import re
import sys
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import count
from random import Random
from secrets import token_hex
from typing import Any

import httpx2

from noiseledger.chain import Key
from noiseledger.chain.fees import GWEI
from noiseledger.core.accuracy import half_width

_STATIC = ("icon.svg", "page.css", "charts.css", "htmx-2.0.11.min.js", "page.js", "wallet.js")
#: As often as the page does.
_LOOK_SECONDS, _FOLLOW_SECONDS = 2.0, 1.0
#: So little that thousands of requests fit into the budget; each goes a step further than all before it.
_STEP = Fraction(1, 10_000)
_CONFIDENCE = "0.95"
_MONEY = 10**18
_FEES = {"maxFeePerGas": 100 * GWEI, "maxPriorityFeePerGas": GWEI}
_TIMEOUT_SECONDS = 30.0
_SHOWN_ERRORS = 5


@dataclass
class Tally:
    """What came of it."""

    requests: int = 0
    answers: int = 0
    #: Requests that were made again because the connection was closed.
    reconnects: int = 0
    statuses: Counter[int] = field(default_factory=Counter)
    errors: list[str] = field(default_factory=list)

    def begin(self) -> None:
        """Count from now on; what went wrong before counts as well."""
        self.requests = self.answers = self.reconnects = 0
        self.statuses.clear()
        self._since = time.monotonic()

    def report(self) -> dict[str, Any]:
        """Return it in plain values."""
        seconds = time.monotonic() - self._since
        facts = {"requests": self.requests, "seconds": seconds, "answers": self.answers, "reconnects": self.reconnects}
        statuses = {str(status): number for status, number in sorted(self.statuses.items())}
        return facts | {"statuses": statuses, "errors": len(self.errors), "first": self.errors[:_SHOWN_ERRORS]}


class Site:
    """The web pages, and the chain that a wallet talks to."""

    def __init__(self, url: str, rpc: str) -> None:
        """Connect as many browsers would, each of which keeps its connection."""
        limits = httpx2.Limits(max_connections=None, max_keepalive_connections=None, keepalive_expiry=4.0)
        self._http = httpx2.AsyncClient(base_url=url, limits=limits, timeout=_TIMEOUT_SECONDS)
        self._chain = httpx2.AsyncClient(base_url=rpc, limits=limits, timeout=_TIMEOUT_SECONDS)
        self.tally = Tally()
        self.random = Random(0)
        self._steps = count(1)

    async def get(self, path: str, *, part: bool = False) -> str:
        """Return a page, or a part of one; nothing if it has not changed."""
        return await self._ask("GET", path, headers={"HX-Request": "true"} if part else {})

    async def post(self, path: str, body: dict[str, Any]) -> Any:
        """Return what the API says."""
        return json.loads(await self._ask("POST", path, json=body))

    async def _ask(self, method: str, path: str, **more: Any) -> str:
        try:
            reply = await self._http.request(method, path, **more)
        except (httpx2.RemoteProtocolError, httpx2.ReadError, httpx2.WriteError):
            # The site closes what is idle for long, maybe just when it was to be used again: browsers connect anew then.
            self.tally.reconnects += 1
            reply = await self._http.request(method, path, **more)
        self.tally.requests += 1
        self.tally.statuses[reply.status_code] += 1
        if reply.status_code not in (httpx2.codes.OK, httpx2.codes.NO_CONTENT):
            raise RuntimeError(f"{method} {path}: {reply.status_code} {reply.text[:200]}")
        return reply.text

    async def call(self, method: str, *params: Any) -> Any:
        """Return what the chain says."""
        reply = await self._chain.post("/", json={"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
        result = reply.json()
        if "error" in result:
            raise RuntimeError(f"{method}: {result['error']}")
        return result["result"]

    def next_precision(self) -> Fraction:
        """Return a little more than anybody has asked for."""
        return next(self._steps) * _STEP

    async def catch_up(self) -> None:
        """Go on from where others have left off."""
        known = max(Fraction(offer["spent_exact"]) for offer in json.loads(await self.get("/api/v1/queries")))
        self._steps = count(int(known / _STEP) + 1)


class Watcher:
    """Opens the page of the budget, and lets it bring itself up to date."""

    def __init__(self, site: Site) -> None:
        """Come some time, not all at once."""
        self._site = site

    async def live(self, arrive: Callable[[], None]) -> None:
        """Watch without end."""
        await asyncio.sleep(self._site.random.random() * _LOOK_SECONDS)
        page = await self._site.get("/budget")
        for name in _STATIC:
            await self._site.get(f"/static/{name}")
        arrive()
        await keep_up(self._site, _next(page, "/budget/live"))


class Asker:
    """Asks again and again, with an account of its own, and waits for each answer."""

    def __init__(self, site: Site) -> None:
        """Make an account."""
        self._site = site
        self._key = Key.from_hex(token_hex(32))
        self._nonces = count()
        self._quote = "/quote"

    async def live(self, arrive: Callable[[], None]) -> None:
        """Ask without end; meanwhile, the page looks for news by itself."""
        await self._site.call("anvil_setBalance", self._key.address, hex(_MONEY))
        page = await self._site.get("/")
        offers = json.loads(await self._site.get("/api/v1/queries"))
        arrive()
        async with asyncio.TaskGroup() as together:
            together.create_task(keep_up(self._site, _next(page, "/fresh"), self._look_at_the_price))
            together.create_task(self._ask_for_ever(offers))

    async def _ask_for_ever(self, offers: Sequence[dict[str, Any]]) -> None:
        while True:
            self._choose(self._site.random.choice(offers))
            body = await self._look_at_the_price()
            if body is None:
                continue  # somebody was quicker, and it is free
            asked = await self._site.post("/api/v1/ask", {**body, "analyst": self._key.address})
            if asked["transaction"] is not None:
                await self._follow(await self._send(asked["transaction"]))
                self._site.tally.answers += 1

    def _choose(self, offer: dict[str, Any]) -> None:
        """Fill in the form, with a little more than anybody has asked for."""
        unit = Fraction(offer["sensitivity_exact"])
        within = half_width(self._site.next_precision(), unit, Fraction(_CONFIDENCE))
        fields = {"query": offer["name"], "way": "accuracy", "within": f"{within:.12g}", "confidence": _CONFIDENCE}
        self._quote = f"/quote?{httpx2.QueryParams(fields)}"

    async def _look_at_the_price(self) -> dict[str, Any] | None:
        """Return what the button would send, if there is one."""
        found = re.search(r'data-body="([^"]*)"', await self._site.get(self._quote, part=True))
        return None if found is None else json.loads(html.unescape(found[1]))

    async def _send(self, prepared: dict[str, Any]) -> str:
        """Sign and send, as a wallet does: not through the site."""
        transaction = {"type": 2, "chainId": prepared["chain_id"], "nonce": next(self._nonces), "value": 0, **_FEES}
        transaction |= {"to": prepared["to"], "data": prepared["data"], "gas": int(prepared["gas"], 16)}
        raw, name = self._key.sign(transaction)
        await self._site.call("eth_sendRawTransaction", raw)
        return name

    async def _follow(self, transaction: str) -> None:
        """Look how far it is, until it is answered."""
        path = f"/transactions/{transaction}?sent={time.time()}"
        while True:
            part = await self._site.get(path, part=True)
            if part:
                # Whenever that changes, the page also shows the account's requests and the price anew.
                await self._site.get(f"/accounts/{self._key.address}", part=True)
                await self._look_at_the_price()
            if 'class="done" data-step="answered"' in part:
                return
            path = _next(part, "/transactions/") if part else path
            await asyncio.sleep(_FOLLOW_SECONDS)


async def keep_up(site: Site, path: str, told: Callable[[], Awaitable[object]] | None = None) -> None:
    """Look for news without end, as a part of a page does; ``told`` is called when there are any."""
    while True:
        await asyncio.sleep(_LOOK_SECONDS)
        part = await site.get(path, part=True)
        if part:
            path = _next(part, path.partition("?")[0])
            if told is not None:
                await told()


def _next(part: str, beginning: str) -> str:
    """Return where a part of a page looks for its next version."""
    found = re.search(rf'hx-get="({re.escape(beginning)}[^"]*)"', part)
    if found is None:
        raise RuntimeError(f"No {beginning} to look at next in: {part[:300]}")
    return html.unescape(found[1])


async def _live(site: Site, kind: type[Watcher] | type[Asker], arrive: Callable[[], None]) -> None:
    """Go on to the end; what goes wrong is written down, and somebody else comes."""
    while True:
        try:
            await kind(site).live(arrive)
        except* (httpx2.HTTPError, RuntimeError, ValueError, KeyError) as errors:
            site.tally.errors += [f"{type(error).__name__}: {error}" for error in errors.exceptions]
        await asyncio.sleep(1)


async def _run(url: str, rpc: str, watchers: int, askers: int) -> None:
    site, arrivals = Site(url, rpc), count(1)
    await site.catch_up()
    everybody = asyncio.Event()

    def arrive() -> None:
        if next(arrivals) == watchers + askers:
            everybody.set()

    kinds = [Watcher] * watchers + [Asker] * askers
    people = [asyncio.ensure_future(_live(site, kind, arrive)) for kind in kinds]
    await everybody.wait()
    site.tally.begin()
    print("ready", flush=True)
    await asyncio.to_thread(sys.stdin.read)
    print(json.dumps(site.tally.report()), flush=True)
    for person in people:
        person.cancel()
    await asyncio.gather(*people, return_exceptions=True)


if __name__ == "__main__":
    asyncio.run(_run(sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])))
