"""JSON-RPC over HTTP: single calls, batches, time-outs, retries.

A retry repeats the very same bytes. That is safe for every method we use: reads have no effect, and a signed transaction
can enter a chain only once.
"""

from __future__ import annotations

import itertools
import re
import time
from collections.abc import Iterator, Sequence
from typing import Any, Self, TypeAlias

import httpx2

from noiseledger.errors import ChainMismatch, ChainUnreachable, RpcFailed

Call: TypeAlias = tuple[str, Sequence[Any]]

#: What a node may be asked at once, in calls and in bytes; larger batches are split.
MAX_BATCH = 100
MAX_BATCH_BYTES = 1_000_000
TIMEOUT_SECONDS = 20.0
ATTEMPTS = 4
_FIRST_PAUSE_SECONDS = 0.25


class Rpc:
    """One endpoint of one chain.

    With ``chain_id`` given, an endpoint of another chain is refused: a ledger's address means nothing elsewhere.
    """

    def __init__(
        self, url: str, chain_id: int | None = None, timeout: float = TIMEOUT_SECONDS, attempts: int = ATTEMPTS
    ) -> None:
        """Connect, and find out which chain it is."""
        self.url = url
        self._attempts = attempts
        self._numbers = itertools.count(1)
        self._http = httpx2.Client(timeout=timeout)
        try:
            self.chain_id = self._identify(chain_id)
        except BaseException:
            self.close()
            raise

    def _identify(self, expected: int | None) -> int:
        try:
            found = int(self.call("eth_chainId"), 16)
        except (httpx2.InvalidURL, httpx2.UnsupportedProtocol):
            raise ChainUnreachable(f"{self.url!r} is not an address such as http://127.0.0.1:8545.") from None
        if expected not in (None, found):
            raise ChainMismatch(f"{self.url} is chain {found}, but this ledger is on chain {expected}.")
        return found

    def close(self) -> None:
        """Let go of the connection."""
        self._http.close()

    def __enter__(self) -> Self:
        """Use the connection for the length of a block."""
        return self

    def __exit__(self, *_: object) -> None:
        """Let go of the connection."""
        self.close()

    def call(self, method: str, *params: Any) -> Any:
        """Return the result of one call."""
        (result,) = self.batch([(method, params)])
        if isinstance(result, RpcFailed):
            raise result
        return result

    def batch(self, calls: Sequence[Call]) -> list[Any]:
        """Return the results of many calls in order; a call that failed has its ``RpcFailed`` as result."""
        results: list[Any] = []
        for part in _parts([self._body(method, params) for method, params in calls]):
            results += self._exchange(part)
        return results

    def _body(self, method: str, params: Sequence[Any]) -> dict[str, Any]:
        return {"jsonrpc": "2.0", "id": next(self._numbers), "method": method, "params": list(params)}

    def _exchange(self, bodies: list[dict[str, Any]]) -> list[Any]:
        replies = self._post(bodies[0] if len(bodies) == 1 else bodies)
        by_number = {reply.get("id"): reply for reply in (replies if isinstance(replies, list) else [replies])}
        if set(by_number) != {body["id"] for body in bodies}:
            raise ChainUnreachable(
                f"{self.url} did not answer every call of a batch: try again, or use another endpoint."
            )
        return [_result(by_number[body["id"]], body["method"]) for body in bodies]

    def _post(self, body: Any) -> Any:
        pause = _FIRST_PAUSE_SECONDS
        for attempt in range(1, self._attempts + 1):
            try:
                reply = self._http.post(self.url, json=body)
                reply.raise_for_status()
                return reply.json()
            except (httpx2.TransportError, httpx2.HTTPStatusError, ValueError) as error:
                if isinstance(error, httpx2.UnsupportedProtocol):
                    raise
                if attempt == self._attempts:
                    raise ChainUnreachable(
                        f"No answer from the chain at {self.url} ({type(error).__name__}): is the node running?"
                    ) from None
            time.sleep(pause)
            pause *= 2
        raise AssertionError("unreachable")


def _parts(bodies: Sequence[dict[str, Any]]) -> Iterator[list[dict[str, Any]]]:
    """Cut a batch into parts that a node takes."""
    part: list[dict[str, Any]] = []
    size = 0
    for body in bodies:
        # Almost all of it is the data of transactions, which is plain text.
        length = sum(len(param) for param in body["params"] if isinstance(param, str))
        if part and (len(part) == MAX_BATCH or size + length > MAX_BATCH_BYTES):
            yield part
            part, size = [], 0
        part.append(body)
        size += length
    if part:
        yield part


def _result(reply: dict[str, Any], method: str) -> Any:
    if "error" not in reply:
        return reply.get("result")
    error = reply["error"]
    data = error.get("data")
    # Some nodes put the revert data in an object.
    data = data.get("data") if isinstance(data, dict) else data
    # A node may repeat what it was sent; that is no business of our logs.
    reason = _LONG_DATA.sub("...", str(error.get("message", "")))[:_REASON_LENGTH]
    return RpcFailed(method, reason, data if isinstance(data, str) else None)


_LONG_DATA = re.compile(r"(0x)?[0-9a-fA-F]{65,}")
_REASON_LENGTH = 300
