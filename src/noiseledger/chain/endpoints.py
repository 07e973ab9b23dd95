"""Several endpoints of one chain: one is used as long as it replies, then the next.

Why two chains are never mixed: the next endpoint must first show the same chain id and the same first block. Chains that
also share their first block (a fork, a restored copy) are distinguished when they are read, by the hashes of blocks.
Why a block that was seen does not disappear: the next endpoint must have reached the newest block that another one has shown.
Why the promise holds: after a switch the same bytes are sent again, so nothing new is revealed.
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, TypeVar

from noiseledger.chain.endpoint import Endpoint, Reconnected, TooLarge, Unusable, addresses, as_list, shown
from noiseledger.chain.http import new_client
from noiseledger.chain.seen import Seen
from noiseledger.errors import ChainMismatch, ChainUnreachable
from noiseledger.progress import EndpointLeftOut, EndpointSwitched, Listener

#: At the start all endpoints are asked to identify themselves; one that takes longer is asked again when it is needed.
PROBE_SECONDS = 3.0
FIRST_PAUSE_SECONDS, LAST_PAUSE_SECONDS = 0.25, 2.0

_IDENTITY: tuple[tuple[str, list[Any]], ...] = (
    ("eth_chainId", []),
    ("eth_getBlockByNumber", ["0x0", False]),
    ("eth_blockNumber", []),
)
#: No chain has this many blocks or this large an id; much larger numbers could not even be printed.
_MOST = 2**256

_T = TypeVar("_T")


class _Differs(Unusable):
    """The endpoint serves another chain."""


class _Behind(Unusable):
    """The endpoint lacks blocks that another one has shown."""


class EveryReplyTooLarge(ChainUnreachable):
    """No endpoint gives a reply that is small enough; the same request would get the same reply again."""


@dataclass(frozen=True)
class _Identity:
    chain_id: int
    #: The hash of the first block; None if the only endpoint does not show it.
    genesis: str | None
    newest: int


class Endpoints:
    """The endpoints of one chain; threads may share them."""

    def __init__(self, text: str, chain_id: int | None, timeout: float, attempts: int, listener: Listener) -> None:
        """Connect to the endpoints in the text; refuse them if they are not all of the same chain."""
        self.listener = listener
        self._expected = chain_id
        self._timeout = timeout
        self._attempts = attempts
        urls = addresses(text)
        self.name = ", ".join(map(shown, urls))
        self._http = new_client(urls, timeout)
        self._lock = threading.Lock()
        self._order = [Endpoint(url, self._http) for url in urls]
        self._in_use: Endpoint | None = None
        self._identity: _Identity | None = None
        self._seen = Seen()
        try:
            if len(self._order) > 1:
                self._probe()
            if self._in_use is None:
                self._try_all(lambda _: None)
        except _Differs as error:
            self.close()
            raise ChainMismatch(str(error)) from None
        except BaseException:
            self.close()
            raise

    @property
    def chain_id(self) -> int:
        """The chain's id."""
        assert self._identity is not None  # noqa: S101 - the constructor has asked
        return self._identity.chain_id

    def close(self) -> None:
        """Close all connections."""
        self._http.close()

    def post(self, body: Any) -> Any:
        """Return the reply to a request, from the first endpoint that gives one."""
        content = json.dumps(body).encode()

        def ask(endpoint: Endpoint) -> Any:
            replies = endpoint.post(content, body, is_known=True)
            if len(self._order) > 1:
                self._seen.take(endpoint.url, as_list(body), {r["id"]: r.get("result") for r in as_list(replies)})
            return replies

        return self._try_all(ask)

    def _try_all(self, use: Callable[[Endpoint], _T]) -> _T:
        """Use the first usable endpoint; repeat until there is one, or until all attempts are used up."""
        pause, attempt, give_up = FIRST_PAUSE_SECONDS, 0, time.monotonic() + self._timeout
        while True:
            attempt += 1
            trouble: list[Unusable] = []
            for endpoint in self._candidates():
                try:
                    if endpoint is self._in_use:
                        with suppress(Reconnected):
                            return use(endpoint)
                    self._check(endpoint, self._identify(endpoint))
                    result = use(endpoint)
                except Unusable as error:
                    self._put_last(endpoint, error)
                    trouble.append(error)
                else:
                    self._settle_on(endpoint, trouble)
                    return result
            if all(isinstance(error, _Differs) for error in trouble):
                raise ChainMismatch(str(trouble[0]))
            if all(isinstance(error, TooLarge) for error in trouble):
                raise EveryReplyTooLarge(str(trouble[0]))
            # An endpoint that is only behind gets as much time as one that does not reply.
            is_catching_up = any(isinstance(error, _Behind) for error in trouble) and time.monotonic() < give_up
            if attempt >= self._attempts and not is_catching_up:
                raise ChainUnreachable(_no_answer(trouble))
            time.sleep(pause)
            pause = min(2 * pause, LAST_PAUSE_SECONDS)

    def _candidates(self) -> list[Endpoint]:
        """Return the endpoints in the order of use: one that timed out comes after all others."""
        with self._lock:
            return sorted(self._order, key=lambda endpoint: endpoint.hangs)

    def _put_last(self, endpoint: Endpoint, error: Unusable) -> None:
        """Stop using an endpoint; before it is used again, it must identify itself again."""
        with self._lock:
            self._order.remove(endpoint)
            self._order.append(endpoint)
            if self._in_use is endpoint:
                self._in_use = None
            is_news = isinstance(error, _Differs) and not endpoint.is_left_out
            endpoint.is_left_out = isinstance(error, _Differs)
        # A single endpoint cannot be left out: the caller gets the error instead, as at the start.
        if is_news and len(self._order) > 1:
            self.listener(EndpointLeftOut(endpoint.name, str(error)))

    def _settle_on(self, endpoint: Endpoint, trouble: Sequence[Unusable]) -> None:
        with self._lock:
            is_news = self._in_use is not endpoint and bool(trouble)
            self._in_use, endpoint.is_left_out = endpoint, False
        if is_news and len(self._order) > 1:
            self.listener(EndpointSwitched(endpoint.name, " ".join(map(str, trouble))))

    def _probe(self) -> None:
        """Identify all endpoints at once, so that another chain is found before anything is read or sent."""
        with ThreadPoolExecutor(len(self._order)) as pool:
            found = list(pool.map(self._first_look, self._order))
        known = [(endpoint, identity) for endpoint, identity in zip(list(self._order), found, strict=True) if identity]
        for endpoint, identity in known:
            self._compare(endpoint, identity)
            self._seen.note(endpoint.url, identity.newest, newest=True)
        for endpoint, identity in known:
            if not self._seen.lacks(endpoint.url, identity.newest):
                self._order.remove(endpoint)
                self._order.insert(0, endpoint)
                self._in_use = endpoint
                return

    def _first_look(self, endpoint: Endpoint) -> _Identity | None:
        try:
            return self._identify(endpoint, min(self._timeout, PROBE_SECONDS))
        except Unusable:
            return None

    def _identify(self, endpoint: Endpoint, timeout: float | None = None) -> _Identity:
        body = [
            {"jsonrpc": "2.0", "id": number, "method": method, "params": params}
            for number, (method, params) in enumerate(_IDENTITY, 1)
        ]
        replies = endpoint.post(json.dumps(body).encode(), body, timeout)
        chain, first, newest = (reply.get("result") for reply in sorted(replies, key=lambda reply: reply["id"]))
        try:
            genesis = None if first is None else str(first["hash"])
            identity = _Identity(int(chain, 16), genesis, 0 if newest is None else int(newest, 16))
        except (TypeError, ValueError, KeyError):
            raise Unusable(f"{endpoint.name} does not say which chain it is.") from None
        if not 0 <= max(identity.chain_id, identity.newest) < _MOST:
            raise Unusable(f"{endpoint.name} reports an impossible chain id or block.")
        if genesis is None and len(self._order) > 1:
            raise Unusable(f"{endpoint.name} does not show its first block, so it may be another chain.")
        return identity

    def _check(self, endpoint: Endpoint, found: _Identity) -> None:
        self._compare(endpoint, found)
        if self._seen.lacks(endpoint.url, found.newest):
            raise _Behind(f"{endpoint.name} does not yet have all blocks that another endpoint has shown.")
        self._seen.note(endpoint.url, found.newest, newest=True)

    def _compare(self, endpoint: Endpoint, found: _Identity) -> None:
        """Refuse another chain; the first one that was seen counts."""
        if self._expected not in (None, found.chain_id):
            raise _Differs(f"{endpoint.name} is chain {found.chain_id}, but this ledger is on chain {self._expected}.")
        with self._lock:
            known = self._identity = self._identity or found
        if known.chain_id != found.chain_id:
            raise _Differs(f"{endpoint.name} is chain {found.chain_id}, but the others are chain {known.chain_id}.")
        # A single endpoint cannot be mixed with another, and a development node that restarts from its state has a new first
        # block each time. The code that draws or reads checks whether the ledger is still there.
        if len(self._order) > 1 and known.genesis != found.genesis:
            raise _Differs(
                f"{endpoint.name} is a different chain {found.chain_id} from the one seen before: its first block is "
                f"{found.genesis}, not {known.genesis}. It is not used."
            )


def _no_answer(trouble: Sequence[Unusable]) -> str:
    text = " ".join(map(str, trouble))
    return f"{text.removesuffix('.')}: is the node running?" if len(trouble) == 1 and text.endswith(").") else text
