"""One endpoint of a chain: its address, its name in messages, and a single exchange with it.

Why no password gets into a log: an address may contain one in any of its parts; messages name only scheme, host and port.
"""

from __future__ import annotations

import re
import time
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from noiseledger.chain.replies import answers
from noiseledger.errors import ChainUnreachable
from noiseledger.settings import RPC

if TYPE_CHECKING:
    import httpx2

#: A machine that is switched off does not refuse a connection; it does not reply at all.
CONNECT_SECONDS = 5.0
#: A new connection may reach a different node than the last one, unless the last reply is more recent than this.
TRUSTED_SECONDS = 1.0


class Unusable(Exception):
    """An endpoint gave no reply, or an unusable one; never raised outside this package."""


class Reconnected(Unusable):
    """Nothing was sent yet: the connection is new, so the endpoint must identify itself again."""


class Endpoint:
    """One address."""

    def __init__(self, url: str, http: httpx2.Client) -> None:
        """Use an HTTP client that others may share."""
        self.url = url
        self.name = _shown(url)
        #: Whether its last reply timed out.
        self.hangs = False
        #: Whether it is known to serve another chain.
        self.is_left_out = False
        self._http = http
        self._answered_at = -TRUSTED_SECONDS

    def post(self, content: bytes, body: Any, timeout: float | None = None, *, is_known: bool = False) -> Any:
        """Send the bytes of a request and return the reply; refuse an incomplete reply.

        With ``is_known`` nothing is sent over a new connection, unless the last reply is recent.
        """
        import httpx2  # noqa: PLC0415 - see http.py

        read = self._http.timeout.read if timeout is None else timeout
        limits = httpx2.Timeout(read, connect=min(CONNECT_SECONDS, read or CONNECT_SECONDS))
        try:
            reply = self._http.post(
                self.url,
                content=content,
                headers={"Content-Type": "application/json"},
                timeout=limits,
                extensions={"trace": self._notice} if is_known else {},
            )
            reply.raise_for_status()
            replies = reply.json()
        except (httpx2.TransportError, httpx2.HTTPStatusError, ValueError, RecursionError) as error:
            self.hangs = isinstance(error, httpx2.TimeoutException)
            raise Unusable(f"No answer from the chain at {self.name} ({_kind(error)}).") from None
        self.hangs, self._answered_at = False, time.monotonic()
        if not answers(as_list(body), as_list(replies)):
            methods = ", ".join(dict.fromkeys(call["method"] for call in as_list(body)))
            raise Unusable(f"{self.name} gave no valid reply to {methods}: try again, or use another endpoint.")
        return replies

    def _notice(self, step: str, _: dict[str, Any]) -> None:
        """Observe each step of an exchange, and abort it before a new connection is made to an unknown node."""
        if step == "connection.connect_tcp.started" and time.monotonic() - self._answered_at >= TRUSTED_SECONDS:
            raise Reconnected(f"{self.name} was disconnected.")


def addresses(text: str) -> list[str]:
    """Return the addresses in a text, each once; a comma inside an address is written %2C."""
    urls = list(dict.fromkeys(part.strip() for part in text.split(",") if part.strip()))
    for url in urls or [text]:
        if not _is_address(url):
            # Many endpoints have a key in their path, so no more than scheme and host is shown.
            scheme, mark, rest = url.rpartition("@")[2].partition("://") if "@" in url else url.partition("://")
            shown = f"{scheme}{mark}{re.split('[/?#]', rest)[0]}"
            raise ChainUnreachable(
                f"{shown!r} is not an address such as {RPC.default} (several are separated by commas)."
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


def _shown(url: str) -> str:
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}"


def _kind(error: Exception) -> str:
    import httpx2  # noqa: PLC0415 - see http.py

    return f"status {error.response.status_code}" if isinstance(error, httpx2.HTTPStatusError) else type(error).__name__
