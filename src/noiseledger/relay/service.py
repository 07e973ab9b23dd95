"""The relay over HTTP: requests come by POST, and what became of them is read by GET.

Why no other site can use it, and no visitor can fill the memory: the guard of the web pages stands before it.
"""

from __future__ import annotations

import re
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from importlib.metadata import version
from typing import Any

from fastapi import Depends, FastAPI, Request
from fastapi.concurrency import run_in_threadpool
from fastapi.responses import JSONResponse

from noiseledger.chain.signed_ask import MAX_JSON, SignedAsk
from noiseledger.errors import NoiseledgerError, RequestRefused
from noiseledger.ledger.relay_client import REQUESTS
from noiseledger.relay.relay import Relay
from noiseledger.relay.store import RelayedRequest
from noiseledger.web.guard import Guard, only_json
from noiseledger.web.refusals import handle_errors
from noiseledger.web.settings import LOOPBACK_NAMES

_IDENTIFIER = re.compile(r"[0-9a-f]{64}")


def create_app(
    relay: Relay,
    *,
    hosts: tuple[str, ...] = (),
    rate: float = 5.0,
    seconds: float = 1.0,
    on_error: Callable[[NoiseledgerError], None] = lambda _: None,
) -> FastAPI:
    """Return the application; a thread of it brings requests to the chain while it runs."""
    bringing = _Bringing(relay, seconds, on_error)

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        with bringing.running():
            yield

    app = FastAPI(
        title="noiseledger relay",
        version=version("noiseledger"),
        openapi_url=None,
        docs_url=None,
        redoc_url=None,
        dependencies=[Depends(only_json)],
        lifespan=lifespan,
    )

    @app.post(REQUESTS)
    async def accept(request: Request) -> JSONResponse:
        signed = SignedAsk.read(await request.body())
        entry = await run_in_threadpool(relay.accept, signed)
        bringing.wake.set()
        return JSONResponse(describe_entry(entry), 202)

    @app.get(REQUESTS + "/{identifier}")
    def find(identifier: str) -> dict[str, Any]:
        entry = relay.find(identifier) if _IDENTIFIER.fullmatch(identifier) else None
        if entry is None:
            raise RequestRefused("This relay has not accepted such a request.", 404)
        return describe_entry(entry)

    @app.get("/api/v1/relay")
    def about() -> dict[str, Any]:
        return describe_relay(relay)

    handle_errors(app)
    app.add_middleware(Guard, hosts=(*LOOPBACK_NAMES, *hosts), rate=rate, max_body=MAX_JSON)
    return app


def describe_entry(entry: RelayedRequest) -> dict[str, Any]:
    """Describe a request, and what became of it, as JSON."""
    data = entry.signed.data
    return {
        "identifier": entry.identifier,
        "state": entry.state.value,
        "reason": entry.reason,
        "analyst": entry.signed.analyst,
        "nonce": data.nonce,
        "deadline": data.deadline,
        "transaction": entry.transaction,
        "block": entry.block,
    }


def describe_relay(relay: Relay) -> dict[str, Any]:
    """Describe what a relay does, and for whom."""
    contract, limits = relay.contract, relay.limits
    return {
        "relay": relay.address,
        "chain_id": contract.rpc.chain_id,
        "ledger": contract.address,
        "gas_per_request": limits.gas_per_request,
        "gas_per_day": limits.gas_per_day,
        "pending_per_analyst": limits.pending,
        "requests_per_hour": limits.per_hour,
        "waits": relay.waits,
    }


class _Bringing:
    """The thread that brings requests to the chain."""

    def __init__(self, relay: Relay, seconds: float, on_error: Callable[[NoiseledgerError], None]) -> None:
        self._relay, self._seconds, self._on_error = relay, seconds, on_error
        self._stop = threading.Event()
        self.wake = threading.Event()

    @contextmanager
    def running(self) -> Iterator[None]:
        """Bring requests, as a context manager."""
        thread = threading.Thread(target=self._run, name="relay", daemon=True)
        thread.start()
        try:
            yield
        finally:
            self._stop.set()
            self.wake.set()
            thread.join()

    def _trouble(self, error: NoiseledgerError) -> None:
        """Tell everyone that something is wrong, and the operator what."""
        self._relay.waits = f"Something keeps the relay from sending ({type(error).__name__})."
        self._on_error(error)

    def _run(self) -> None:
        while not self._stop.is_set():
            self.wake.clear()
            try:
                self._relay.step()
            except NoiseledgerError as error:
                # The chain, the disk, or the coins: nothing is lost, and the next step goes on.
                self._trouble(error)
            except Exception as error:  # the thread must not end while requests are accepted
                kind = type(error).__name__
                self._trouble(
                    NoiseledgerError(f"An unexpected error occurred ({kind}). This is a bug: please report it.")
                )
            self.wake.wait(self._seconds)
