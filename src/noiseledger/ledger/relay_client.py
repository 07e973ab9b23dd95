"""Hand signed requests to a relay over HTTP.

Why a relay that lies does no harm: it learns only what will be public, and nothing that it says counts as a purchase; what was
bought is read from the chain (``ledger/bringing.py``). At worst its word ends the waiting.
Why it cannot stop or flood us: no redirect is followed, and a reply is limited in size and in time, however slowly it arrives.
"""

from __future__ import annotations

import json
import time
import zlib
from functools import cached_property
from typing import TYPE_CHECKING, Any

from noiseledger.chain.connections import Connections
from noiseledger.chain.http import ACCEPTED, ReplyTooLarge, content_of, new_client
from noiseledger.core.codebook import shown
from noiseledger.errors import RelayFailed

if TYPE_CHECKING:
    import httpx2

    from noiseledger.chain.signed_ask import SignedAsk

#: Where requests are sent, below a relay's address.
REQUESTS = "/api/v1/requests"

#: How long one exchange may take.
_SECONDS = 10.0
#: A relay describes a request in a few hundred bytes.
_MOST_BYTES = 16_384
_LONGEST_REASON = 400
_ACCEPTED = 202


class RelayClient:
    """One relay, as an analyst's program sees it."""

    def __init__(self, address: str) -> None:
        """Use a relay at an address that was checked (``core/relay_address.py``)."""
        self.address = address
        self._connections = Connections()

    def hand_over(self, signed: SignedAsk) -> None:
        """Give a signed request to the relay; raise the reason if it does not take it."""
        status, content = self._exchange("POST", REQUESTS, signed.dump())
        if status != _ACCEPTED:
            raise RelayFailed(f"The relay at {self.address} did not take the signed request ({_why(status, content)})")

    def refusal(self, signed: SignedAsk) -> str | None:
        """Return why the relay says that it will not bring a request; None if it says anything else, or nothing."""
        try:
            _, content = self._exchange("GET", f"{REQUESTS}/{signed.identifier}")
        except RelayFailed:
            return None
        return _said(content.get("reason")) if content.get("state") == "refused" else None

    def close(self) -> None:
        """Close the connection."""
        if "_http" in vars(self):
            self._http.close()

    @cached_property
    def _http(self) -> httpx2.Client:
        return new_client([self.address], _SECONDS)

    def _exchange(self, method: str, path: str, content: str | None = None) -> tuple[int, dict[str, Any]]:
        """Return the status of a reply, and the object in it; an empty one if it contains anything else."""
        import httpx2  # noqa: PLC0415 - see chain/http.py

        give_up = time.monotonic() + _SECONDS
        try:
            with (
                self._connections.closed_at(give_up),
                self._http.stream(
                    method,
                    self.address + path,
                    content=content,
                    headers={"Content-Type": "application/json", **ACCEPTED},
                    extensions={"trace": self._connections.notice},
                ) as reply,
            ):
                status, received = reply.status_code, content_of(reply, _MOST_BYTES, give_up)
        except (httpx2.TransportError, httpx2.InvalidURL, ReplyTooLarge, ValueError, TimeoutError, zlib.error) as error:
            raise RelayFailed(f"The relay at {self.address} gave no usable reply ({type(error).__name__})") from None
        return status, _object(received)


def _object(received: bytes) -> dict[str, Any]:
    try:
        found = json.loads(received)
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def _why(status: int, content: dict[str, Any]) -> str:
    """Return what a relay says about its refusal, in a form that is safe to show."""
    error = content.get("error")
    return _said(error.get("message")) if isinstance(error, dict) else f"status {status}"


def _said(text: object) -> str:
    return f"it says: {shown(text, _LONGEST_REASON)}" if isinstance(text, str) and text else "it does not say why"
