"""Serve the application over HTTP, until told to stop."""

from __future__ import annotations

import socket
from collections.abc import Callable

import uvicorn

from noiseledger.errors import InvalidInput
from noiseledger.web.app import create_app
from noiseledger.web.site import Site

#: More at once are told to come again, so that those who are here get their answers.
_MOST_AT_ONCE = 500
_MAX_HEADER_BYTES = 16_384


def serve(site: Site, host: str, port: int, *, behind_proxy: bool = False, told: Callable[[str], None]) -> None:
    """Serve a site; ``told`` hears its address as soon as it listens."""
    with _listening(host, port) as listener:
        config = uvicorn.Config(
            create_app(site),
            log_level="warning",
            access_log=False,  # who looks at what is nobody's business
            server_header=False,
            proxy_headers=behind_proxy,
            limit_concurrency=_MOST_AT_ONCE,
            h11_max_incomplete_event_size=_MAX_HEADER_BYTES,
            timeout_graceful_shutdown=3,
        )
        shown = f"[{host}]" if ":" in host else host
        told(f"http://{shown}:{listener.getsockname()[1]}/")
        uvicorn.Server(config).run(sockets=[listener])


def _listening(host: str, port: int) -> socket.socket:
    try:
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        return socket.create_server((host, port), family=family, backlog=1024)
    except (OSError, OverflowError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise InvalidInput(f"The pages cannot be served at {host}:{port} ({reason}): choose another --port.") from None
