"""HTTP client, loaded on the first call to a chain: it takes a tenth of a second, and a local ledger does not need it.

Why no server can fill the memory: a reply is unpacked piece by piece, and is given up as soon as it is too long.
"""

from __future__ import annotations

import logging
import math
import ssl
import time
import zlib
from collections.abc import Sequence
from typing import TYPE_CHECKING
from urllib.request import getproxies

if TYPE_CHECKING:
    import httpx2

#: The only compression that is accepted, so that its result can be limited.
ACCEPTED = {"Accept-Encoding": "gzip"}
_GZIP = 16 + zlib.MAX_WBITS


class ReplyTooLarge(Exception):
    """A reply has more bytes than were allowed; never raised outside this package."""


def new_client(urls: Sequence[str], timeout: float) -> httpx2.Client:
    """Return a client for these endpoints.

    If no endpoint uses TLS, no certificates are loaded, which saves a twentieth of a second. The client then trusts no
    certificate: if TLS is used anyway, the connection fails.
    """
    import httpx2  # noqa: PLC0415 - see above

    # Its messages contain whole addresses, with the keys that many endpoints have in theirs.
    logging.getLogger("httpx2").setLevel(logging.WARNING)
    is_plain = all(url.startswith("http://") for url in urls) and not getproxies()
    return httpx2.Client(timeout=timeout, verify=ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT) if is_plain else True)


def content_of(reply: httpx2.Response, most_bytes: int, give_up: float = math.inf) -> bytes:
    """Return the content of a reply, unpacked; raise ``ReplyTooLarge`` if it is too long, and an error if it is late."""
    encoding = reply.headers.get("Content-Encoding", "").strip().lower() or "identity"
    if encoding not in ("identity", "gzip"):
        raise ValueError("an encoding that was not asked for")
    unpacker = zlib.decompressobj(_GZIP) if encoding == "gzip" else None
    content = bytearray()
    for part in reply.iter_raw():
        if time.monotonic() > give_up:
            raise TimeoutError
        if unpacker is not None and unpacker.eof:
            raise ValueError("more after the end of the compressed content")
        content += part if unpacker is None else unpacker.decompress(part, most_bytes + 1 - len(content))
        if len(content) > most_bytes:
            raise ReplyTooLarge
    if unpacker is not None and (unpacker.unused_data or not unpacker.eof):
        raise ValueError("incomplete compressed content")
    return bytes(content)
