"""Servers for the tests of one process."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack

import pytest

from engines import servers
from machine import Missing


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark the tests that a class inherits and names as deep."""
    for item in items:
        named = getattr(getattr(item, "cls", None), "deep", ())
        if getattr(item, "originalname", item.name) in named:
            item.add_marker("deep")


@pytest.fixture(scope="session")
def postgres() -> Iterator[str]:
    """The url of a PostgreSQL server."""
    yield from _or_skip(servers.postgres)


@pytest.fixture(scope="session")
def ferretdb() -> Iterator[str]:
    """The url of a server that speaks MongoDB's protocol."""
    yield from _or_skip(servers.ferretdb)


def _or_skip(server: Callable[[], AbstractContextManager[str]]) -> Iterator[str]:
    with ExitStack() as stack:
        try:
            url = stack.enter_context(server())
        except Missing as missing:
            pytest.skip(str(missing))
        yield url
