"""Build the web application."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from importlib.metadata import version

from fastapi import Depends, FastAPI
from fastapi.staticfiles import StaticFiles

from noiseledger.web import api, downloads, pages, play
from noiseledger.web.guard import Guard, only_json
from noiseledger.web.refusals import handle_errors
from noiseledger.web.rendering import STATIC
from noiseledger.web.settings import LOOPBACK_NAMES
from noiseledger.web.site import Site


def create_app(site: Site) -> FastAPI:
    """Return the application of one ledger; it follows the chain while it runs."""

    @asynccontextmanager
    async def keeping_up(_: FastAPI) -> AsyncIterator[None]:
        with site:
            yield

    app = FastAPI(
        title="noiseledger",
        version=version("noiseledger"),
        description="A privacy budget that anyone can check. Read-only; transactions are prepared, never sent.",
        openapi_url="/api/v1/openapi.json",
        docs_url=None,  # it would load scripts from other sites; /api is our own page
        redoc_url=None,
        dependencies=[Depends(only_json)],
        lifespan=keeping_up,
    )
    app.include_router(api.router(site))
    app.include_router(pages.router(site))
    app.include_router(downloads.router(site))
    if site.play is not None:
        app.include_router(play.router(site.play))
    app.mount("/static", StaticFiles(directory=STATIC), name="static")
    handle_errors(app)
    app.add_middleware(Guard, hosts=(*LOOPBACK_NAMES, *site.settings.hosts), rate=site.settings.rate)
    return app
