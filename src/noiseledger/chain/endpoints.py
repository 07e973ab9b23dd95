"""Several endpoints of one chain: one is asked as long as it answers, then the next.

Why two chains are never mixed: whoever is asked next must first show the same chain id and the same first block. Chains that
share their first block too (a fork, a restored copy) are told apart by what is read: by the hashes of blocks.
Why nothing that was seen is denied: whoever is asked next must have reached the newest block that another one has shown.
Why the promise holds: a switch repeats the same bytes, so that it can say nothing new.
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

from noiseledger.chain.endpoint import Endpoint, Reconnected, Unusable, addresses, as_list
from noiseledger.chain.http import new_client
from noiseledger.chain.seen import Seen
from noiseledger.chain.watch import Watch
from noiseledger.errors import ChainMismatch, ChainUnreachable

#: At the beginning all are asked who they are; one that takes longer is asked again when it is needed.
PROBE_SECONDS = 3.0
FIRST_PAUSE_SECONDS, LAST_PAUSE_SECONDS = 0.25, 2.0

_IDENTITY: tuple[tuple[str, list[Any]], ...] = (
    ("eth_chainId", []),
    ("eth_getBlockByNumber", ["0x0", False]),
    ("eth_blockNumber", []),
)
#: No chain has so many blocks, or such a number; much longer ones could not even be printed.
_MOST = 2**256

_T = TypeVar("_T")


class _Differs(Unusable):
    """It is another chain."""


class _Behind(Unusable):
    """It lacks blocks that another endpoint has shown."""


@dataclass(frozen=True)
class _Identity:
    chain_id: int
    #: The hash of the first block; None if an endpoint that is the only one does not show it.
    genesis: str | None
    newest: int


class Endpoints:
    """The ways to one chain; threads may share them."""

    def __init__(self, text: str, chain_id: int | None, timeout: float, attempts: int, watch: Watch) -> None:
        """Connect to what the text names; refuse what is not one and the same chain."""
        self.watch = watch
        self._expected = chain_id
        self._timeout = timeout
        self._attempts = attempts
        urls = addresses(text)
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
        """Which chain it is."""
        assert self._identity is not None  # noqa: S101 - the constructor has asked
        return self._identity.chain_id

    def close(self) -> None:
        """Let go of all connections."""
        self._http.close()

    def post(self, body: Any) -> Any:
        """Return the reply to a question, from whichever endpoint gives one."""
        content = json.dumps(body).encode()

        def ask(endpoint: Endpoint) -> Any:
            replies = endpoint.post(content, body, is_known=True)
            if len(self._order) > 1:
                self._seen.take(endpoint.url, as_list(body), {r["id"]: r.get("result") for r in as_list(replies)})
            return replies

        return self._try_all(ask)

    def _try_all(self, use: Callable[[Endpoint], _T]) -> _T:
        """Use the first endpoint that can be used; go round until there is one, or until patience ends."""
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
            # One that is only behind is given as much time as one that hangs.
            is_catching_up = any(isinstance(error, _Behind) for error in trouble) and time.monotonic() < give_up
            if attempt >= self._attempts and not is_catching_up:
                raise ChainUnreachable(_no_answer(trouble))
            time.sleep(pause)
            pause = min(2 * pause, LAST_PAUSE_SECONDS)

    def _candidates(self) -> list[Endpoint]:
        """Return whom to ask, in order: a time-out is paid once, and not again before all others were asked."""
        with self._lock:
            return sorted(self._order, key=lambda endpoint: endpoint.hangs)

    def _put_last(self, endpoint: Endpoint, error: Unusable) -> None:
        """Go on without an endpoint; before it is used again, it must show again who it is."""
        with self._lock:
            self._order.remove(endpoint)
            self._order.append(endpoint)
            if self._in_use is endpoint:
                self._in_use = None
            is_news = isinstance(error, _Differs) and not endpoint.is_left_out
            endpoint.is_left_out = isinstance(error, _Differs)
        # A single one cannot be left out: whoever asks is told instead, as at the beginning.
        if is_news and len(self._order) > 1:
            self.watch("left_out", endpoint=endpoint.name, reason=str(error))

    def _settle_on(self, endpoint: Endpoint, trouble: Sequence[Unusable]) -> None:
        with self._lock:
            is_news = self._in_use is not endpoint and bool(trouble)
            self._in_use, endpoint.is_left_out = endpoint, False
        if is_news and len(self._order) > 1:
            self.watch("switched", endpoint=endpoint.name, reason=" ".join(map(str, trouble)))

    def _probe(self) -> None:
        """Ask all at once who they are, so that another chain is found before anything is read or sent."""
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
            raise Unusable(f"{endpoint.name} names a chain or a block that cannot be.")
        if genesis is None and len(self._order) > 1:
            raise Unusable(f"{endpoint.name} does not show its first block, so it may be another chain.")
        return identity

    def _check(self, endpoint: Endpoint, found: _Identity) -> None:
        self._compare(endpoint, found)
        if self._seen.lacks(endpoint.url, found.newest):
            raise _Behind(f"{endpoint.name} has not got all blocks yet that another endpoint has shown.")
        self._seen.note(endpoint.url, found.newest, newest=True)

    def _compare(self, endpoint: Endpoint, found: _Identity) -> None:
        """Refuse another chain; the first that is seen is the one to stay with."""
        if self._expected not in (None, found.chain_id):
            raise _Differs(f"{endpoint.name} is chain {found.chain_id}, but this ledger is on chain {self._expected}.")
        with self._lock:
            known = self._identity = self._identity or found
        if known.chain_id != found.chain_id:
            raise _Differs(f"{endpoint.name} is chain {found.chain_id}, but the others are chain {known.chain_id}.")
        # A single endpoint is mixed with no other, and a development node that is started again from its state has a new first
        # block each time. Whether the ledger is still there is looked at by whoever draws or reads.
        if len(self._order) > 1 and known.genesis != found.genesis:
            raise _Differs(
                f"{endpoint.name} is another chain {found.chain_id} than was seen before: its first block is "
                f"{found.genesis}, not {known.genesis}. It is not used."
            )


def _no_answer(trouble: Sequence[Unusable]) -> str:
    text = " ".join(map(str, trouble))
    return f"{text.removesuffix('.')}: is the node running?" if len(trouble) == 1 and text.endswith(").") else text
