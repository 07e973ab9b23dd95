"""HTTP client, loaded on the first call to a chain: it takes a tenth of a second, and a local ledger does not need it."""

from __future__ import annotations

import logging
import ssl
from collections.abc import Sequence
from typing import TYPE_CHECKING
from urllib.request import getproxies

if TYPE_CHECKING:
    import httpx2


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
