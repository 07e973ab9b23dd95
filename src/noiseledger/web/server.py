"""Serve the application over HTTP until it is stopped."""

from __future__ import annotations

import os
import socket
from collections.abc import Callable, Mapping

import uvicorn
from fastapi import FastAPI

from noiseledger.errors import InvalidInput
from noiseledger.settings import SECRET_VARIABLES
from noiseledger.web.app import create_app
from noiseledger.web.guard import MAX_HEADERS
from noiseledger.web.site import Site

#: Beyond this many concurrent requests, clients are told to try again, so that the others get their responses.
_MOST_AT_ONCE = 2_000


def serve(site: Site, host: str, port: int, *, behind_proxy: bool = False, on_listening: Callable[[str], None]) -> None:
    """Serve a site; ``on_listening`` is called with its address as soon as it listens."""
    _check_no_secrets(os.environ)
    serve_app(create_app(site), host, port, behind_proxy=behind_proxy, on_listening=on_listening)


def serve_app(
    app: FastAPI, host: str, port: int, *, behind_proxy: bool = False, on_listening: Callable[[str], None]
) -> None:
    """Serve an application; ``on_listening`` is called with its address as soon as it listens."""
    with _listening(host, port) as listener:
        config = uvicorn.Config(
            app,
            log_level="warning",
            access_log=False,  # do not record who looks at what
            server_header=False,
            proxy_headers=behind_proxy,
            limit_concurrency=_MOST_AT_ONCE,
            http="h11",  # uvicorn's only parser that limits the headers
            h11_max_incomplete_event_size=MAX_HEADERS,
            timeout_keep_alive=15,  # pages poll every two seconds
            timeout_graceful_shutdown=3,
        )
        shown = f"[{host}]" if ":" in host else host
        on_listening(f"http://{shown}:{listener.getsockname()[1]}/")
        uvicorn.Server(config).run(sockets=[listener])


def _check_no_secrets(environment: Mapping[str, str]) -> None:
    for name in SECRET_VARIABLES:
        if environment.get(name):
            raise InvalidInput(f"{name} is set, but the web pages must not have a key: start them with env -u {name}.")


def _listening(host: str, port: int) -> socket.socket:
    try:
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        listener = socket.create_server((host, port), family=family, backlog=1024)
    except (OSError, OverflowError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise InvalidInput(f"The pages cannot be served at {host}:{port} ({reason}): choose another --port.") from None
    # Inherited by every connection. Otherwise the second part of a page waits 40 ms for the first to be acknowledged.
    listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return listener
