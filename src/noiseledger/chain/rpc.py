"""JSON-RPC over HTTP: single calls and batches.

A retry, at the same endpoint or at another, sends the same bytes again. That is safe for every method we use: reads have no
effect, and a signed transaction can enter a chain only once.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Sequence
from typing import Any, Self, TypeAlias

from noiseledger.chain.endpoint import most_bytes
from noiseledger.chain.endpoints import Endpoints, EveryReplyTooLarge
from noiseledger.errors import RpcFailed
from noiseledger.progress import Listener, warn

Call: TypeAlias = tuple[str, Sequence[Any]]

#: The largest exchange with a node, in calls and in bytes; larger batches of calls are split.
MAX_CALLS = 100
MAX_BATCH_BYTES = 1_000_000
TIMEOUT_SECONDS = 20.0
ATTEMPTS = 4


class Rpc:
    """The connection to one chain, over one endpoint or several.

    With ``chain_id`` given, an endpoint of another chain is refused: a ledger's address means nothing elsewhere.
    """

    def __init__(
        self,
        url: str,
        chain_id: int | None = None,
        timeout: float = TIMEOUT_SECONDS,
        attempts: int = ATTEMPTS,
        listener: Listener = warn,
    ) -> None:
        """Connect to an address, or to several separated by commas, and identify the chain.

        ``listener`` is notified when requests go to another endpoint, and when an endpoint belongs to another chain.
        """
        self.url = url
        self._numbers = itertools.count(1)
        self._endpoints = Endpoints(url, chain_id, timeout, attempts, listener)
        self.chain_id = self._endpoints.chain_id

    @property
    def name(self) -> str:
        """The endpoints as messages name them: without anything that may be a password."""
        return self._endpoints.name

    @property
    def listener(self) -> Listener:
        """Who is notified of endpoints that come and go."""
        return self._endpoints.listener

    @listener.setter
    def listener(self, listener: Listener) -> None:
        self._endpoints.listener = listener

    def close(self) -> None:
        """Close all connections."""
        self._endpoints.close()

    def __enter__(self) -> Self:
        """Use the connection as a context manager."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close all connections."""
        self.close()

    def call(self, method: str, *params: Any) -> Any:
        """Return the result of one call."""
        (result,) = self.batch([(method, params)])
        if isinstance(result, RpcFailed):
            raise result
        return result

    def batch(self, calls: Sequence[Call]) -> list[Any]:
        """Return the results of many calls in order; a call that failed has its ``RpcFailed`` as result.

        Up to ``MAX_CALLS`` short calls go to the same endpoint in one exchange; the next exchange may go to another one.
        """
        results: list[Any] = []
        for part in _parts([self._body(method, params) for method, params in calls]):
            results += self._exchange(part)
        return results

    def _body(self, method: str, params: Sequence[Any]) -> dict[str, Any]:
        return {"jsonrpc": "2.0", "id": next(self._numbers), "method": method, "params": list(params)}

    def _exchange(self, bodies: list[dict[str, Any]]) -> list[Any]:
        body = bodies[0] if len(bodies) == 1 else bodies
        try:
            replies = self._post(body)
        except EveryReplyTooLarge:
            # Like the refusal of a node that limits its replies: the caller may ask for less at once.
            reason = f"the reply has more than {most_bytes(body) / 1e6:.0f} MB"
            return [RpcFailed(each["method"], reason, None) for each in bodies]
        by_number = {reply["id"]: reply for reply in (replies if isinstance(replies, list) else [replies])}
        return [_result(by_number[each["id"]], each["method"]) for each in bodies]

    def _post(self, body: Any) -> Any:
        return self._endpoints.post(body)


def _parts(bodies: Sequence[dict[str, Any]]) -> Iterator[list[dict[str, Any]]]:
    """Split a batch into parts that a node accepts."""
    part: list[dict[str, Any]] = []
    size = 0
    for body in bodies:
        # Almost all of the size is the data of transactions, which is plain text.
        length = sum(len(param) for param in body["params"] if isinstance(param, str))
        if part and (len(part) == MAX_CALLS or size + length > MAX_BATCH_BYTES):
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
    # A node may repeat the request, which must not get into our logs.
    reason = _LONG_DATA.sub("...", str(error.get("message", "")))[:_REASON_LENGTH]
    return RpcFailed(method, reason, data if isinstance(data, str) else None)


_LONG_DATA = re.compile(r"(0x)?[0-9a-fA-F]{65,}")
_REASON_LENGTH = 300
