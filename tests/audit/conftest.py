"""A real anvil for every test module, and a cage for every test."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from audit.cage import Cage
from noiseledger.chain import Rpc, node


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    with node.running() as chain:
        yield chain.url


@pytest.fixture(scope="module")
def rpc(url: str) -> Iterator[Rpc]:
    with Rpc(url) as rpc:
        yield rpc


@pytest.fixture
def cage(rpc: Rpc, tmp_path: Path) -> Cage:
    return Cage(rpc, tmp_path)
