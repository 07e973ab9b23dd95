"""One endpoint of a chain: its address, its name in messages, and a single exchange with it.

Why no password gets into a log: an address may contain one in any of its parts; messages name only scheme, host and port.
Why no endpoint can stop or flood us: a reply is limited in size and in time, however slowly its bytes arrive.
"""

from __future__ import annotations

import json
import time
import zlib
from functools import partial
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from noiseledger.chain.connections import Connections
from noiseledger.chain.http import ACCEPTED, ReplyTooLarge, content_of
from noiseledger.chain.replies import answers
from noiseledger.errors import ChainUnreachable
from noiseledger.settings import RPC

if TYPE_CHECKING:
    import httpx2

#: A machine that is switched off does not refuse a connection; it does not reply at all.
CONNECT_SECONDS = 5.0
#: A new connection may reach a different node than the last one, unless the last reply is more recent than this.
TRUSTED_SECONDS = 1.0
#: The largest reply, unpacked: more than go-ethereum, which stops at 25 MB, gives to one batch.
MOST_REPLY_BYTES = 32_000_000
#: The largest single receipt: a transaction cannot be read in portions. Free requests for 400 million gas have this length.
MOST_RECEIPT_BYTES = 4 * MOST_REPLY_BYTES
#: A timeout limits how long nothing arrives; a whole exchange may take this many timeouts.
MOST_TIMEOUTS = 3


class Unusable(Exception):
    """An endpoint gave no reply, or an unusable one; never raised outside this package."""


class TooLarge(Unusable):
    """The reply is larger than we accept: whoever asks for less may get it."""


class Reconnected(Unusable):
    """Nothing was sent yet: the connection is new, so the endpoint must identify itself again."""


class Endpoint:
    """One address."""

    def __init__(self, url: str, http: httpx2.Client) -> None:
        """Use an HTTP client that others may share."""
        self.url = url
        self.name = shown(url)
        #: Whether its last reply timed out.
        self.hangs = False
        #: Whether it is known to serve another chain.
        self.is_left_out = False
        self._http = http
        self._answered_at = -TRUSTED_SECONDS
        self._connections = Connections()

    def post(self, content: bytes, body: Any, timeout: float | None = None, *, is_known: bool = False) -> Any:
        """Send the bytes of a request and return the reply; refuse an incomplete reply.

        With ``is_known`` nothing is sent over a new connection, unless the last reply is recent.
        """
        import httpx2  # noqa: PLC0415 - see http.py

        read = self._http.timeout.read if timeout is None else timeout
        limits = httpx2.Timeout(read, connect=min(CONNECT_SECONDS, read or CONNECT_SECONDS))
        give_up = time.monotonic() + MOST_TIMEOUTS * (read or CONNECT_SECONDS)
        request = self._http.stream(
            "POST",
            self.url,
            content=content,
            headers={"Content-Type": "application/json", **ACCEPTED},
            timeout=limits,
            extensions={"trace": partial(self._notice, is_known)},
        )
        try:
            with self._connections.closed_at(give_up), request as reply:
                reply.raise_for_status()
                received = content_of(reply, most_bytes(body))
            replies = json.loads(received)
        except ReplyTooLarge:
            raise TooLarge(
                f"{self.name} gave a reply of more than {most_bytes(body) / 1e6:.0f} MB: use another endpoint."
            ) from None
        except (httpx2.TransportError, httpx2.HTTPStatusError, ValueError, RecursionError, zlib.error) as error:
            is_late = time.monotonic() >= give_up
            self.hangs = is_late or isinstance(error, httpx2.TimeoutException)
            kind = "the reply took too long" if is_late else _kind(error)
            raise Unusable(f"No answer from the chain at {self.name} ({kind}).") from None
        self.hangs, self._answered_at = False, time.monotonic()
        if not answers(as_list(body), as_list(replies)):
            methods = ", ".join(dict.fromkeys(call["method"] for call in as_list(body)))
            raise Unusable(f"{self.name} gave no valid reply to {methods}: try again, or use another endpoint.")
        return replies

    def _notice(self, is_known: bool, step: str, info: dict[str, Any]) -> None:
        """Observe each step of an exchange, and abort it before a new connection is made to an unknown node."""
        if step == "connection.connect_tcp.started" and is_known:
            if time.monotonic() - self._answered_at >= TRUSTED_SECONDS:
                raise Reconnected(f"{self.name} was disconnected.")
        else:
            self._connections.notice(step, info)


def most_bytes(body: Any) -> int:
    """Return how long the reply to a request may be."""
    is_receipt = isinstance(body, dict) and body["method"] == "eth_getTransactionReceipt"
    return MOST_RECEIPT_BYTES if is_receipt else MOST_REPLY_BYTES


def addresses(text: str) -> list[str]:
    """Return the addresses in a text, each once; a comma inside an address is written %2C."""
    urls = list(dict.fromkeys(part.strip() for part in text.split(",") if part.strip()))
    for place, url in enumerate(urls or [text], start=1):
        if not _is_address(url):
            # What is mistyped has no parts to tell apart, and any of it may be a key: none of it is shown.
            which = "The endpoint" if len(urls) <= 1 else f"Endpoint {place} of {len(urls)}"
            raise ChainUnreachable(
                f"{which} is not an address such as {RPC.default}: write http:// or https://, and a host (several are "
                "separated by commas). It is not shown here, since it may contain a key."
            )
    return urls


def as_list(body: Any) -> list[Any]:
    """Return a batch, or a single call as a batch of one."""
    return body if isinstance(body, list) else [body]


def _is_address(url: str) -> bool:
    import httpx2  # noqa: PLC0415 - see http.py

    try:
        parts = urlsplit(url)
        httpx2.URL(url)
        return parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except (ValueError, httpx2.InvalidURL):
        return False


def shown(url: str) -> str:
    """Return the part of an address that messages may contain."""
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}"


def _kind(error: Exception) -> str:
    import httpx2  # noqa: PLC0415 - see http.py

    return f"status {error.response.status_code}" if isinstance(error, httpx2.HTTPStatusError) else type(error).__name__
